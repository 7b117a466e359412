"""`hms study from-search`: the configuration of a study that compares networks of a finished search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from psychophysics.analysis.networks import MIN_NETWORKS
from psychophysics.config import TO_REPLACE, NetworkSource, StudyConfig, UnitsSection
from psychophysics.config_reader import parse_study
from psychophysics.errors import StudyError
from psychophysics.networks import EFFICIENTNET, open_network
from psychophysics.spread_networks import SearchNetwork, candidates, open_search, spread, told
from psychophysics.stimuli.files import written
from psychophysics.units import Unit, choose_units

PUBLISHED_TRIALS = 18  # to which the limits of total time refer
HEAD = """\
# A study of networks of the search `{search}`: is a more brain-like network also easier for people to understand?
# Made by `hms study from-search {search}`. {chosen}
# `consent` and `analysis.equivalence_bound` wait for you, and `images.pool` for a folder of more photographs.
"""


@dataclass(frozen=True)
class SearchStudy:
    """A study of networks of a search.

    Attributes:
        config: of the study, valid.
        hms: (n,) of its networks, rising.
        selection: lines that say what was chosen from what.
    """

    config: StudyConfig
    hms: tuple[float, ...]
    selection: tuple[str, ...]

    @property
    def participants(self) -> int:
        """In all conditions together; each sees all units of all networks."""
        design = self.config.design
        return len(design.conditions) * design.sets * design.participants_per_cell

    @property
    def unanswerable(self) -> str:
        """Why the networks are too few for the question; empty when they are not."""
        if len(self.hms) >= MIN_NETWORKS:
            return ""
        return f"{len(self.hms)} networks: the question cannot be answered with fewer than {MIN_NETWORKS}."


def study_from_search(results: Path, name: str, networks: int, units: int, pool: str, study: str) -> SearchStudy:
    """Choose networks and units, and describe the study.

    Args:
        results: folder of searches.
        name: of the search, whose tables lie there.
        networks: how many, at least 2.
        units: of each network.
        pool: `images.pool`.
        study: its name.

    Raises:
        StudyError, UsageError: unknown search, too few usable networks, a layer with too few channels.
    """
    tables = open_search(results, name)
    everybody = candidates(tables, results, networks)
    chosen = spread(everybody, networks)
    size = {key: value for key in ("height", "width") if (value := tables.record.config.get("data", {}).get(key))}
    sections = [_network(network, size, units) for network in chosen]
    config = parse_study(_document(study, name, sections, units, pool), source=f"the study of `{name}`")
    return SearchStudy(config, tuple(network.hms for network in chosen), tuple(told(chosen, everybody)))


def write_study(made: SearchStudy, file: Path) -> None:
    """Write the configuration as YAML; a file that is there is not replaced.

    Raises:
        StudyError: it is there, or cannot be written.
    """
    if file.exists():
        raise StudyError(f"{file} is there already. Next: --out ANOTHER.yaml, or delete it")
    document = made.config.model_dump(mode="json", exclude_defaults=True)
    head = HEAD.format(search=made.config.study.search, chosen="\n# ".join(made.selection))
    with written(file) as temporary:
        temporary.write_text(
            head + yaml.safe_dump(document, sort_keys=False, width=120, allow_unicode=True), encoding="utf-8"
        )


def _network(network: SearchNetwork, size: Mapping[str, int], units: int) -> dict[str, Any]:
    """The section of one network, with units drawn from its layers."""
    name = f"trial-{network.tid:06d}"
    section = {"name": name, "source": _relative(network.weights), **size}
    layers = open_network(NetworkSource.model_validate(section)).layers
    listed = [str(unit) for unit in draw_units(layers, units, seed=network.tid, network=name)]
    return {**section, "hms": network.hms, "mse": network.mse, "units": {"listed": listed}}


def draw_units(layers: Mapping[str, int], count: int, *, seed: int, network: str) -> list[Unit]:
    """`count` units, as many from each layer above R0, whose channels are pixels; what is left over, from the top down.

    Raises:
        StudyError: a layer has too few channels.
    """
    names = [layer for layer in layers if layer != "R0"] or list(layers)
    each, further = divmod(count, len(names))
    drawn = []
    for place, layer in enumerate(names):
        if wanted := each + (place >= len(names) - further):
            drawn += choose_units(UnitsSection(layers=(layer,), per_layer=wanted), layers, seed=seed, network=network)
    return drawn


def _document(study: str, search: str, networks: Sequence[Mapping[str, Any]], units: int, pool: str) -> dict[str, Any]:
    """The study as YAML says it; what is not named keeps the design of the paper."""
    main = len(networks) * units
    longer = max(1.0, main / PUBLISHED_TRIALS)  # more trials take longer
    return {
        "study": {
            "name": study,
            "title": f"Are more brain-like networks of {search} easier to understand?",
            "search": search,
        },
        "networks": list(networks),
        "further_network": {"name": "efficientnet", "source": EFFICIENTNET},
        "images": {"pool": pool, "crops_per_photo": 30 if pool == "photographs" else 1},
        "design": {"conditions": ["natural", "synthetic"]},
        "trials": {"main": main},
        "curation": {
            "network": "efficientnet",
            "units": {"layers": ["_blocks.8", "_blocks.10"], "per_layer": 6},
        },
        "consent": {
            "version": "1",
            "paragraphs": [f"{TO_REPLACE} by the text that your ethics board has approved."],
            "contact": f"{TO_REPLACE} by a name and an address.",
        },
        "exclusions": {
            "total_seconds": [round(longer * 90), round(longer * 900)],
            "total_seconds_none": [round(longer * 40), round(longer * 900)],
        },
        "analysis": {"equivalence_bound": 0.05},
    }


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
