"""The preregistration of a frozen study: Markdown under the headings of AsPredicted and OSF."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import yaml

from psychophysics.analysis.condition_model import FORMULA
from psychophysics.analysis.networks import MIN_NETWORKS
from psychophysics.config import StudyConfig
from psychophysics.network_power import NetworkDesign, simulate_network_power
from psychophysics.power import MIN_SIMULATIONS, PowerDesign, simulate_power
from psychophysics.server.store.opening import open_answers
from psychophysics.stimuli.files import written
from psychophysics.stimuli.freeze import Frozen, open_frozen
from psychophysics.stimuli.manifest import Manifest
from psychophysics.study_folder import StudyFolder

HERE = Path(__file__).parent
SECRET = ("completion_code", "completion_url")  # whoever knows them is paid


@dataclass(frozen=True)
class Assumptions:
    """What power is simulated for: shares correct, and the accuracy at the highest HMS less that at the lowest."""

    baseline: float = 0.6
    accuracies: Sequence[float] = (0.67, 0.64)
    slope: float = 0.1
    simulations: int = MIN_SIMULATIONS


def preregistration(frozen: Frozen, manifest: Manifest, joined: int, assumptions: Assumptions = Assumptions()) -> str:
    """The text. The same study gives the same text; `joined`: participants who have begun already.

    Raises StudyError for assumptions outside their range.
    """
    config = frozen.study_config
    conditions = list(config.design.conditions)
    cells = len(conditions) * config.design.sets * config.design.participants_per_cell
    recruited = "by a link of the laboratory" if config.recruitment.kind == "local" else "on Prolific"
    context: dict[str, Any] = {
        "c": config,
        "frozen": frozen,
        "pool": manifest.pool,
        "conditions": conditions,
        "pairs": len(conditions) * (len(conditions) - 1) // 2,
        "cells": cells,
        "total": cells,
        "per_condition": cells // len(conditions),
        "recruited": recruited,
        "collected": _collected(joined),
        "hypotheses": _hypotheses(config),
        "networks": _networks(config, manifest),
        "several_networks": len(config.networks) > 1,
        "network_test": _network_test(config),
        "curated": "; ".join(f"{role.replace('_', ' ')} {', '.join(ids)}" for role, ids in frozen.curated.items()),
        "formula": _formula(config),
        "power": _power(config, cells, assumptions),
        "version": version("hms-search"),
        "document": yaml.safe_dump(public_document(config), sort_keys=False, allow_unicode=True).rstrip(),
        "plain": lambda value: f"{value:g}",
        "percent": lambda share: f"{100 * share:g} %",
        "points": lambda share: f"{100 * share:g} percentage points or more",
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("preregistration.md.j2").render(context)


def write_preregistration(folder: StudyFolder, store: str | None, assumptions: Assumptions, out: Path | None) -> Path:
    """Write it to `out`, or to `preregistration.md` in the study's folder; says how many people have begun already.

    Raises:
        StimuliError: the study is not frozen, or what was frozen has changed.
        StudyError: assumptions outside their range.
        StoreError: the store cannot be used.
    """
    frozen, manifest = open_frozen(folder)
    joined = 0
    if store is not None or folder.answers.is_file():
        answers = open_answers(folder, frozen, store)
        joined = len(answers.participants())
        answers.close()
    path = out or folder.preregistration
    with written(path) as temporary:
        temporary.write_text(preregistration(frozen, manifest, joined, assumptions), encoding="utf-8")
    return path


def public_document(config: StudyConfig) -> dict[str, Any]:
    """The resolved configuration without what pays a participant."""
    document = config.document()
    kept = {key: value for key, value in document["recruitment"].items() if key not in SECRET}
    return document | {"recruitment": kept}


def _collected(joined: int) -> str:
    if not joined:
        return "No. Nobody had begun when this text was made."
    people = "1 person" if joined == 1 else f"{joined} people"
    return f"Yes: {people} had begun when this text was made. This is no preregistration of their data."


def _hypotheses(config: StudyConfig) -> list[str]:
    shown = [condition for condition in config.design.conditions if condition != "none"]
    names = ", ".join(f"`{condition}`" for condition in shown)
    bound = f"{100 * config.analysis.equivalence_bound:g} percentage points"
    found = []
    if "none" in config.design.conditions and shown:
        found.append(f"Accuracy is higher with references than without: in {names}, each against `none`.")
    if len(shown) > 1:
        found.append(f"What the references are makes no difference: accuracies in {names} differ by less than {bound}.")
    if not found:
        found.append(f"Accuracy in `{config.design.conditions[0]}` is above chance, 50 %.")
    if n := len(_known_hms(config)):
        found.append(f"Over {n} networks accuracy is correlated with human-model similarity (HMS).")
    return found


def _networks(config: StudyConfig, manifest: Manifest) -> list[dict[str, str]]:
    rows = []
    studied = {section.name for section in config.networks}
    for section in config.network_sections.values():
        record = manifest.networks.get(section.name)
        units = [f"{unit.layer}/{unit.channel}" for unit in manifest.units if unit.network == section.name]
        rows.append(
            {
                "name": section.name,
                "source": section.source,
                "identity": record.identity[:16] if record else "unknown",
                "size": f"{record.height} x {record.width}" if record else "unknown",
                "steps": str(section.steps),
                "hms": _figure(getattr(section, "hms", None)),
                "mse": _figure(getattr(section, "mse", None)),
                "units": f"{len(units)}: {', '.join(units)}" if section.name in studied else "curated trials only",
            }
        )
    return rows


def _known_hms(config: StudyConfig) -> list[float]:
    return [section.hms for section in config.networks if section.hms is not None]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _formula(config: StudyConfig) -> str:
    formula = FORMULA if len(config.design.conditions) > 1 else FORMULA.replace("condition", "1").replace("1 + 1", "1")
    return formula + (" + (1 | network)" if len(config.networks) > 1 else "")


def _network_test(config: StudyConfig) -> str:
    n = len(_known_hms(config))
    if not n:
        return "."
    if n < MIN_NETWORKS:
        known = f"{n} networks of known HMS, fewer than {MIN_NETWORKS}"
        return f"; with {known}, it cannot be said whether accuracy goes with HMS."
    return (
        f". Spearman's correlation of accuracy with HMS over the {n} networks, one value each (the mean of the "
        "conditions with references), two-sided; p by permutation up to 8 networks, beyond by t."
    )


def _power(config: StudyConfig, participants: int, assumed: Assumptions) -> str:
    """The simulated figures in words, one line each."""
    settings: dict[str, Any] = {
        "simulations": assumed.simulations, "alpha": config.analysis.alpha, "seed": config.study.seed,
    }  # fmt: skip
    design = PowerDesign(trials=config.trials.main, sets=config.design.sets)
    lines = [
        f"Simulated, {assumed.simulations:,} studies a figure, seed {config.study.seed}, alpha "
        f"{config.analysis.alpha:g}, {config.trials.main} main trials, {config.design.sets} image sets; in brackets "
        "the 95 % Monte-Carlo interval. Assumed: the accuracies below; normal random effects on the log-odds with SD "
        f"{design.sd_participant:g} (participant), {design.sd_unit:g} (unit), {design.sd_unit_by_set:g} (image set "
        "within a unit).",
        "",
    ]
    conditions = len(config.design.conditions)
    n = participants // conditions
    if conditions > 1 and n > 1:
        for accuracy in assumed.accuracies:
            found = simulate_power(assumed.baseline, accuracy, n, design, **settings)
            lines.append(
                f"- {assumed.baseline:.1%} against {accuracy:.1%}, {n} participants a condition, one pair, "
                f"uncorrected: power {found.power:.2f} ({found.low:.2f} to {found.high:.2f})."
            )
    if len(_known_hms(config)) >= MIN_NETWORKS:
        lines.append(_power_over_networks(config, participants, assumed, settings))
    if len(lines) == 2:
        return "There is no comparison between conditions with 2 or more participants each: nothing was simulated."
    return "\n".join(lines)


def _power_over_networks(config: StudyConfig, participants: int, assumed: Assumptions, settings: dict[str, Any]) -> str:
    hms = _known_hms(config)
    units = config.trials.main // len(config.networks)
    conditions = config.design.conditions
    shown = [condition for condition in conditions if condition != "none"] or conditions  # as the report's question
    people = participants // len(conditions) * len(shown)
    design = NetworkDesign(units=units, participants=people, sets=config.design.sets)
    found = simulate_network_power(np.array(hms), assumed.baseline, assumed.slope, design, **settings)
    return (
        f"- Correlation with HMS over {len(hms)} networks of {units} units each, {people} participants, accuracy "
        f"rising linearly from {assumed.baseline:.1%} to {assumed.baseline + assumed.slope:.1%}, networks alike "
        f"beside that: power {found.power:.2f} ({found.low:.2f} to {found.high:.2f})."
    )
