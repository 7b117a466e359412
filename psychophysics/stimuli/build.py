"""`hms study stimuli`: from a configuration to all stimuli of a study and their manifest. Resumable at every step."""

from typing import Any

import numpy as np

from psychophysics.config import Condition, StudyConfig
from psychophysics.errors import StimuliError
from psychophysics.networks import StudyNetwork, open_network
from psychophysics.stimuli.contact_sheet import write_contact_sheet
from psychophysics.stimuli.curation import accepted_sets
from psychophysics.stimuli.files import document_sha256
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.manifest import (
    Manifest,
    NetworkRecord,
    PoolRecord,
    Regret,
    SetRecord,
    UnitRecord,
    write_manifest,
)
from psychophysics.stimuli.plan import PlannedUnit, Progress, plan_units
from psychophysics.stimuli.pool import open_pool
from psychophysics.stimuli.unit_stimuli import SYNTHETIC_RUNS
from psychophysics.study_folder import StudyFolder


def build_stimuli(config: StudyConfig, folder: StudyFolder, progress: Progress) -> Manifest:
    """Make what is missing of the stimuli, then write the manifest and the contact sheets.

    Candidates for curated trials get query pairs and natural references at first; those that the experimenter has
    accepted get the references of the other conditions when the command runs again.

    Raises:
        StimuliError and errors of reading networks and images: the message names what to mend.
    """
    if folder.frozen.is_file():
        raise StimuliError(
            f"study `{config.study.name}` is frozen ({folder.frozen}): its stimuli stay as they are. "
            "Next: give the configuration another study.name"
        )
    pool = open_pool(config.images, config.study.seed, folder.root)
    networks = {name: open_network(section) for name, section in config.network_sections.items()}
    planned = plan_units(config, folder, networks, pool, accepted_sets(folder), progress)
    builder = _Builder(config, planned, progress)
    records = [builder.unit(plan) for plan in planned]
    manifest = Manifest(
        study=config.study.name,
        seed=config.study.seed,
        config_sha256=document_sha256(config.document()),
        pool=PoolRecord(
            source=config.images.pool, photographs=len(pool.photos), images=len(pool), fingerprint=pool.fingerprint
        ),
        networks={name: _network_record(config, network) for name, network in networks.items()},
        units=tuple(record for plan, record in zip(planned, records, strict=True) if not plan.candidate),
        candidates=tuple(record for plan, record in zip(planned, records, strict=True) if plan.candidate),
        regret=tuple(builder.regrets()),
    )
    write_manifest(folder, manifest)
    for number, (plan, record) in enumerate(zip(planned, records, strict=True), start=1):
        write_contact_sheet(record, plan.stimuli.geometry, folder, plan.stimuli.folder / "sheet.png")
        progress("contact sheets", number, len(records))
    return manifest


class _Builder:
    """Makes planned units one after the other, and counts steps for the progress bars."""

    def __init__(self, config: StudyConfig, planned: list[PlannedUnit], progress: Progress) -> None:
        self.config, self.planned, self.progress = config, planned, progress
        runs = [name for name in SYNTHETIC_RUNS if name in config.design.conditions]
        self.totals = {
            "query pairs": sum(len(plan.sets) for plan in planned),
            "blurred sets": sum(len(plan.complete) for plan in planned),
            "synthesis steps": config.synthesis.steps * len(runs) * sum(bool(plan.complete) for plan in planned),
        }
        self.done = dict.fromkeys(self.totals, 0)

    def unit(self, plan: PlannedUnit) -> UnitRecord:
        """Everything of one unit."""
        runs = self._runs(plan) if plan.complete else {}
        return UnitRecord(
            network=plan.stimuli.network.name,
            layer=plan.stimuli.unit.layer,
            channel=plan.stimuli.unit.channel,
            lowest=plan.stimuli.lowest,
            highest=plan.stimuli.highest,
            sets=tuple(self._set(plan, number, runs) for number in range(len(plan.sets))),
            synthesis={name: run["reached"] for name, run in runs.items()},
        )

    def regrets(self) -> list[Regret]:
        """Some pairs of units under study, drawn with the seed, searched exhaustively as well."""
        section = self.config.occlusion
        pairs = [(plan, number) for plan in self.planned if not plan.candidate for number in range(len(plan.sets))]
        if section.mode == "exhaustive":
            return []
        rng = np.random.default_rng([self.config.study.seed, len(pairs)])
        sample = sorted(rng.choice(len(pairs), min(section.exhaustive_sample, len(pairs)), replace=False))
        found = []
        for done, index in enumerate(sample, start=1):
            plan, number = pairs[index]
            measured = plan.stimuli.regret(number, plan.sets[number])
            found.append(Regret.model_validate({"set": plan.set_id(number), **measured}))
            self.progress("exhaustive searches", done, len(sample))
        return found

    def _set(self, plan: PlannedUnit, number: int, runs: dict[str, dict[str, Any]]) -> SetRecord:
        made = plan.stimuli.pair(number, plan.sets[number])
        self._add("query pairs", 1)
        references: dict[Condition, Any] = {}
        for condition in self.config.design.conditions:
            if condition == "natural":
                references[condition] = made["natural"]
            elif number in plan.complete:
                references[condition] = self._references(condition, plan, number, made["natural"], runs)
        if number in plan.complete:
            self._add("blurred sets", 1)
        return SetRecord.model_validate(
            {"id": plan.set_id(number), "number": number, "pair": made["pair"], "references": references}
        )

    def _references(
        self, condition: Condition, plan: PlannedUnit, number: int, natural: list[Any], runs: dict[str, dict[str, Any]]
    ) -> list[Any]:
        if condition == "none":
            return []
        if condition == "blurred":
            return plan.stimuli.blurred(number, plan.sets[number])["blurred"]
        pictures = runs[condition]["pictures"]
        return [*natural[: len(natural) - len(pictures)], *pictures]

    def _runs(self, plan: PlannedUnit) -> dict[str, dict[str, Any]]:
        """The runs of activation maximisation that the conditions need."""
        runs: dict[str, dict[str, Any]] = {}
        steps = self.config.synthesis.steps
        for condition in SYNTHETIC_RUNS:
            if condition in self.config.design.conditions:
                runs[condition] = plan.stimuli.synthetic(condition, lambda done: self._show("synthesis steps", done))
                self._add("synthesis steps", steps)
        return runs

    def _add(self, what: str, count: int) -> None:
        self.done[what] += count
        self._show(what, 0)

    def _show(self, what: str, further: int) -> None:
        self.progress(what, self.done[what] + further, self.totals[what])


def _network_record(config: StudyConfig, network: StudyNetwork) -> NetworkRecord:
    geometry = Geometry.of(network.height, network.width, config.occlusion)
    section = config.network_sections[network.name]
    return NetworkRecord(
        source=section.source,
        identity=network.identity,
        height=network.height,
        width=network.width,
        patch_side=geometry.side,
        strides=geometry.strides,
    )
