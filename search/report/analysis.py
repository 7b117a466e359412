"""All numbers of a report, computed once from the tables: what the page shows and the CSV files hold."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.baselines import REFERENCE_MODELS
from metrics.comparators import spearman
from search.report.accounting import Account, account, time_by_part
from search.report.artifacts import (
    Brain,
    Predictions,
    best_networks,
    read_brain,
    read_hms_parts,
    read_predictions,
    read_rdm,
)
from search.report.beaten import BeatenBaseline, beaten_baseline
from search.report.compared import Compared, compared
from search.report.correlations import correlations
from search.report.early_stopping.replay import EarlyStopping, early_stopping
from search.report.epoch_rule import EpochRule
from search.report.importance import importance
from search.report.pareto import pareto_table
from search.report.reliability import replicate_table
from search.report.sample import LAST, Sample, networks, points, undefined_networks
from search.report.summaries import table_1
from search.report.tables import SearchTables
from search.report.timeline import timeline

ARTIFACT_CANDIDATES = 10


@dataclass(frozen=True)
class Counted:
    """Tables 1 and 2 under one way of counting networks with an undefined metric."""

    sample: Sample
    rows: Sample
    table_1: pd.DataFrame
    correlations: pd.DataFrame


@dataclass(frozen=True)
class Best:
    """The best network by HMS whose files are there; `tid` differs from the first of the ranking when its are not.

    `subject_similarity`: mean over people of the Spearman correlation of its RDM with each person's; the only value
    that the noise ceiling bounds. None without the people's RDMs. `parts`: its HMS by layer and step
    (`artifacts.read_hms_parts`).
    """

    rdm_tid: int | None
    rdm: NDArray[np.float64] | None
    predictions_tid: int | None
    predictions: Predictions | None
    subject_similarity: float | None
    parts: pd.DataFrame


@dataclass(frozen=True)
class Analysis:
    """Everything computed from one search's tables; `rule`: of which evaluation the values in statistics are."""

    tables: SearchTables
    rule: EpochRule
    account: Account
    time: pd.DataFrame
    undefined: pd.DataFrame
    defined: Counted
    scored: Counted | None
    replicates: pd.DataFrame
    importance: pd.DataFrame
    pareto: pd.DataFrame
    timeline: pd.DataFrame
    ranking: list[int]
    best: Best
    brain: Brain | None
    beaten: BeatenBaseline | None
    early_stopping: EarlyStopping

    @property
    def random_sample(self) -> bool:
        """Whether the networks are a random sample of the space: p-values and the paper's values go with those only."""
        return self.tables.record.random_sample and not self.defined.sample.cut_off

    @property
    def compared(self) -> Compared:
        """What networks were compared with, in words."""
        return compared(self.tables.record, self.brain)

    @property
    def trivial_baselines(self) -> dict[str, float]:
        """HMS of the models made of the images alone, best first; without those that know categories or are a brain."""
        values = self.tables.record.hms_baselines
        chosen = {k: float(v) for k, v in values.items() if v is not None and k not in REFERENCE_MODELS}
        return dict(sorted(chosen.items(), key=lambda item: -item[1]))

    @property
    def informed_baselines(self) -> bool:
        """Whether baselines are there that know the categories or are a brain."""
        return any(self.tables.record.hms_baselines.get(name) is not None for name in REFERENCE_MODELS)

    @property
    def stopping_metric(self) -> str:
        """The title of the metric that the stopping rule looks at."""
        name = self.tables.record.stopping.get("metric", "hms")
        metric = self.tables.metrics.get(name)
        return metric.short if metric is not None else str(name)

    @property
    def best_trivial(self) -> tuple[str, float] | None:
        """Name and HMS of the best image baseline."""
        return next(iter(self.trivial_baselines.items()), None)


def analyse(tables: SearchTables, rule: EpochRule = LAST) -> Analysis:
    """Compute all tables; takes about a second for a hundred networks.

    Raises:
        UsageError: no network was evaluated at the epoch of the rule.
    """
    undefined = undefined_networks(tables, rule)
    defined = _counted(tables, rule, undefined_scored=False)
    ranking = best_networks(tables, "hms", ARTIFACT_CANDIDATES)
    brain = read_brain(tables)
    return Analysis(
        tables=tables,
        rule=rule,
        account=account(tables),
        time=time_by_part(tables),
        undefined=undefined,
        defined=defined,
        scored=_counted(tables, rule, undefined_scored=True) if len(undefined) else None,
        replicates=replicate_table(tables, rule),
        importance=importance(defined.rows),
        pareto=pareto_table(defined.sample),
        timeline=timeline(tables),
        ranking=ranking,
        best=_best(tables, ranking, brain),
        brain=brain,
        beaten=beaten_baseline(tables, brain),
        early_stopping=early_stopping(tables),
    )


def _counted(tables: SearchTables, rule: EpochRule, *, undefined_scored: bool) -> Counted:
    sample = networks(tables, rule, undefined_scored=undefined_scored)
    rows = points(sample, tables.record.replicates)
    random_sample = tables.record.random_sample and not sample.cut_off
    table = correlations(rows, random_sample=random_sample)
    legacy = tables.record.legacy_matching
    return Counted(sample, rows, table_1(sample, compare=random_sample, legacy=legacy), table)


def _best(tables: SearchTables, ranking: list[int], brain: Brain | None) -> Best:
    labels = brain.labels if brain is not None else None
    rdms = ((tid, read_rdm(tables, tid, labels)) for tid in ranking)
    rdm_tid, rdm = next(((tid, rdm) for tid, rdm in rdms if rdm is not None), (None, None))
    frames = ((tid, read_predictions(tables, tid)) for tid in ranking)
    predictions_tid, predictions = next(((t, found) for t, found in frames if found is not None), (None, None))
    parts = read_hms_parts(tables, -1 if rdm_tid is None else rdm_tid)
    return Best(rdm_tid, rdm, predictions_tid, predictions, _subject_similarity(rdm, brain), parts)


def _subject_similarity(rdm: NDArray[np.float64] | None, brain: Brain | None) -> float | None:
    if rdm is None or brain is None or brain.subjects is None or brain.subjects.shape[1:] != rdm.shape:
        return None
    upper = np.triu_indices(len(rdm), 1)
    values = [spearman(rdm[upper], person[upper]) for person in brain.subjects]
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if len(numbers) == len(values) else None
