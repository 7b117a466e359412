"""All numbers of a study's report, computed once: what the page shows and the CSV files hold."""

from dataclasses import asdict, dataclass
from itertools import combinations

import pandas as pd
from statsmodels.stats.multitest import multipletests

from psychophysics.analysis import summaries
from psychophysics.analysis.activation import activation_effect
from psychophysics.analysis.comparisons import Design, design_of, pairwise
from psychophysics.analysis.condition_model import (
    condition_table,
    fit_conditions,
    formula,
    spread_table,
    typical_accuracy,
)
from psychophysics.analysis.consistency import between_people, sequences, with_baselines
from psychophysics.analysis.networks import NetworkQuestion, by_network, understanding_and_hms
from psychophysics.config import CONDITIONS
from psychophysics.errors import NotEstimable
from psychophysics.exclusions import accepted, exclusions, pass_rates
from psychophysics.responses import QUERY, UNIT, Responses
from search.report.people import QUESTION


@dataclass(frozen=True)
class Model:
    """The mixed model's tables, or None each with the `reason` why there are none."""

    formula: str
    pairs: pd.DataFrame | None = None
    typical: pd.DataFrame | None = None
    spreads: pd.DataFrame | None = None
    log_likelihood: float = float("nan")
    singular: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Numbers:
    """Of accepted participants' main trials; see the functions of `psychophysics.analysis` for columns and units."""

    conditions: list[str]
    design: Design
    means: pd.DataFrame
    accuracy: pd.DataFrame
    accuracy_with_catch_failures: pd.DataFrame
    times: pd.DataFrame
    time_means: pd.DataFrame
    confidence: pd.DataFrame
    pairs: pd.DataFrame
    model: Model
    consistency: pd.DataFrame
    baseline_consistency: pd.DataFrame | None
    baseline_accuracy: pd.DataFrame | None
    layers: pd.DataFrame
    units: pd.DataFrame
    sets: pd.DataFrame
    activation: pd.DataFrame | None
    networks: pd.DataFrame | None
    question: NetworkQuestion | None


@dataclass(frozen=True)
class StudyAnalysis:
    """Exclusions, and the numbers of those who remain; None when nobody does."""

    responses: Responses
    excluded: pd.DataFrame
    rates: pd.DataFrame
    accepted: list[str]
    numbers: Numbers | None

    def tables(self) -> dict[str, pd.DataFrame]:
        """The CSV files by name."""
        found = {"exclusions": self.excluded, "pass_rates": self.rates}
        if self.numbers is None:
            return found
        n = self.numbers
        optional = {
            "model_conditions": n.model.pairs,
            "model_accuracy": n.model.typical,
            "model_random_effects": n.model.spreads,
            "consistency_with_baselines": n.baseline_consistency,
            "baselines": n.baseline_accuracy,
            "activation": n.activation,
            "networks": n.networks,
            QUESTION: None if n.question is None else pd.DataFrame([asdict(n.question)]),
        }
        found |= {
            "accuracy": n.accuracy,
            "accuracy_with_catch_failures": n.accuracy_with_catch_failures,
            "participants": n.means,
            "reaction_times": n.times,
            "confidence": n.confidence,
            "comparisons": n.pairs,
            "consistency": n.consistency,
            "layers": n.layers,
            "units": n.units,
            "image_sets": n.sets,
        }
        return found | {name: table for name, table in optional.items() if table is not None}


def analyse(responses: Responses) -> StudyAnalysis:
    """Exclude, then compute everything; a study of five conditions takes some seconds."""
    trials, participants, limits = responses.trials, responses.participants, responses.study.thresholds
    excluded = exclusions(trials, participants, limits)
    kept = accepted(participants, excluded)
    numbers = None
    if len(kept) and len(summaries.main_trials(trials[trials["participant"].isin(kept)])):
        but_catch = accepted(participants, excluded[excluded["rule"] != "catch"])
        numbers = _numbers(responses, kept, but_catch)
    return StudyAnalysis(responses, excluded, pass_rates(participants, excluded), kept, numbers)


def _numbers(responses: Responses, kept: list[str], but_catch: list[str]) -> Numbers:
    everybody, study = responses.trials, responses.study
    trials = everybody[everybody["participant"].isin(kept)]
    main = summaries.main_trials(trials)
    conditions: list[str] = [condition for condition in CONDITIONS if condition in set(main["condition"])]
    main = main.assign(order=main["condition"].map(conditions.index)).sort_values("order", kind="stable")
    rows, means = sequences(main), summaries.participant_means(main)
    baselines, networks = responses.baselines, responses.networks
    network_table = None if networks is None else by_network(main, networks)
    return Numbers(
        conditions=conditions,
        design=design_of(means),
        means=means,
        accuracy=summaries.by_condition(main),
        accuracy_with_catch_failures=summaries.by_condition(everybody[everybody["participant"].isin(but_catch)]),
        times=summaries.by_condition(main, "rt_s"),
        time_means=summaries.participant_means(main, "rt_s"),
        confidence=summaries.confidence_shares(main),
        pairs=pairwise(means, conditions, study.equivalence_bound),
        model=_model(main, conditions),
        consistency=between_people(rows, conditions, study.seed),
        baseline_consistency=None if baselines is None else with_baselines(rows, baselines, conditions, study.seed),
        baseline_accuracy=None if baselines is None else _baseline_accuracy(baselines, main),
        layers=summaries.by_stimulus(main, UNIT[:2]),
        units=summaries.by_stimulus(main, UNIT),
        sets=summaries.by_stimulus(main, QUERY),
        activation=None if responses.queries is None else activation_effect(main, responses.queries),
        networks=network_table,
        question=None if network_table is None else understanding_and_hms(network_table, study.alpha),
    )


def _model(main: pd.DataFrame, conditions: list[str]) -> Model:
    reference = conditions[-1]
    words = formula(main)
    try:
        model = fit_conditions(main, reference)
    except NotEstimable as error:
        return Model(words, reason=str(error))
    pairs = condition_table(model, reference)
    order = list(combinations(conditions, 2))
    pairs = _oriented(pairs, order)
    pairs["p_holm"] = multipletests(pairs["p"], method="holm")[1] if len(pairs) else []
    typical = typical_accuracy(model, reference).set_index("condition").loc[conditions].reset_index()
    return Model(words, pairs, typical, spread_table(model), model.log_likelihood, model.singular)


def _oriented(pairs: pd.DataFrame, order: list[tuple[str, str]]) -> pd.DataFrame:
    """The pairs in the order of the page's other tables: a pair the other way round changes its sign."""
    turned = pairs.assign(
        first=pairs["second"], second=pairs["first"], log_odds=-pairs["log_odds"], low=-pairs["high"],
        high=-pairs["low"], odds_ratio=1 / pairs["odds_ratio"],
    )  # fmt: skip
    both = pd.concat([pairs, turned]).set_index(["first", "second"])
    return both.loc[order].reset_index()


def _baseline_accuracy(baselines: pd.DataFrame, main: pd.DataFrame) -> pd.DataFrame:
    """Expected accuracy of each baseline over the query pairs that were shown; columns baseline, queries, accuracy."""
    shown = pd.MultiIndex.from_frame(main[QUERY].drop_duplicates())
    own = baselines[pd.MultiIndex.from_frame(baselines[QUERY]).isin(shown)]
    return own.groupby("baseline", sort=False)["correct"].agg(queries="size", accuracy="mean").reset_index()
