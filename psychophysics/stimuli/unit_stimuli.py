"""The stimuli of one unit: query pairs and the references of each condition, each step done once and kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychophysics.config import StudyConfig
from psychophysics.networks import StudyNetwork
from psychophysics.stimuli.controls import image_labels, measure_controls
from psychophysics.stimuli.files import file_sha256, read_png, write_png, written
from psychophysics.stimuli.geometry import Geometry
from psychophysics.stimuli.manifest import Picture, QueryPair
from psychophysics.stimuli.occlusion import Found, PatchSearch, regret
from psychophysics.stimuli.patches import Occluded, Place, SharpOnly
from psychophysics.stimuli.pool import ImagePool
from psychophysics.stimuli.ranking import ImageSet
from psychophysics.stimuli.steps import Made, once
from psychophysics.stimuli.synthesis import synthesise
from psychophysics.study_folder import StudyFolder
from psychophysics.units import Unit

SYNTHETIC = "synthetic"
SYNTHETIC_RUNS = ("synthetic", "mixed")  # conditions with a run of activation maximisation of their own


class UnitStimuli:
    """Makes the stimuli of one unit in its folder, or finds them there.

    Args:
        config: of the study.
        folder: of the study.
        network: that has the unit.
        pool: of natural images.
        unit: which.
        span: its least and its largest activation over the pool.
    """

    def __init__(
        self,
        config: StudyConfig,
        folder: StudyFolder,
        network: StudyNetwork,
        pool: ImagePool,
        unit: Unit,
        span: tuple[float, float],
    ) -> None:
        self.config, self.study, self.network, self.pool = config, folder, network, pool
        self.unit, (self.lowest, self.highest) = unit, span
        self.folder = folder.unit(network.name, unit)
        self.geometry = Geometry.of(network.height, network.width, config.occlusion)
        self._searched = config.occlusion.model_dump(exclude={"exhaustive_sample", "batch"})
        self._identity = [network.identity, network.height, network.width, str(unit), pool.fingerprint]

    def evaluate(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Activation of the unit, (n,)."""
        return self.network.activation(images, [self.unit])[:, 0]

    def pair(self, number: int, chosen: ImageSet) -> Made:
        """The query pair of a set and its natural references: {"pair": QueryPair, "natural": [Picture, ...]}."""
        made_from = [
            *self._identity,
            self._searched,
            self.config.images.labels,
            chosen.query,
            list(chosen.references),
        ]
        where = self.folder / f"set-{number:02d}"
        return once(where / "pair.json", self.study.root, made_from, lambda: self._make_pair(where, chosen))

    def blurred(self, number: int, chosen: ImageSet) -> Made:
        """The natural references, blurred but for the patch that maximises activation: {"blurred": [Picture, ...]}."""
        where = self.folder / f"set-{number:02d}"
        made_from = [*self._identity, self._searched, list(chosen.references)]
        return once(where / "blurred.json", self.study.root, made_from, lambda: self._make_blurred(where, chosen))

    def synthetic(self, condition: str, progress: Callable[[int], None]) -> Made:
        """A run of activation maximisation: {"pictures": [Picture, ...], "reached": {...}}.

        `synthetic` has as many images as references are shown; `mixed` fewer: 4 beside the 5 best natural of 9.
        """
        section, references = self.config.synthesis, self.config.design.references
        n = references if condition == "synthetic" else references // 2
        run = SYNTHETIC_RUNS.index(condition)
        seed = int(np.random.default_rng([self.config.study.seed, run, *str(self.unit).encode()]).integers(2**31))
        scale = self.highest - min(self.lowest, 0.0)  # a unit of a PredNet may be negative for all images

        def make() -> Made:
            made = synthesise(self.network, self.unit, n, section, scale=scale, seed=seed, progress=progress)
            pictures = [
                self._save(self.folder / f"{condition}-{rank}.png", image, SYNTHETIC)
                for rank, image in enumerate(made.images, start=1)
            ]
            reached = {
                "before": [float(value) for value in made.before],
                "after": [picture["activation"] for picture in pictures],
                "gram_similarity": made.similarity,
            }
            return {"pictures": pictures, "reached": reached}

        made_from = [*self._identity, section.model_dump(), n, scale, seed]
        return once(self.folder / f"{condition}.json", self.study.root, made_from, make)

    def regret(self, number: int, chosen: ImageSet) -> Made:
        """A query pair searched both ways: {"evaluations", "exhaustive_evaluations", "regret"}."""

        def make() -> Made:
            image = self.pool.load([chosen.query], self.network.height, self.network.width)[0]
            coarse = self._search(Occluded(image, self.geometry)).coarse_to_fine(self.config.occlusion.top)
            full = self._search(Occluded(image, self.geometry)).exhaustive()
            return {
                "evaluations": len(coarse.activations),
                "exhaustive_evaluations": len(full.activations),
                "regret": regret(coarse, full),
            }

        made_from = [*self._identity, self._searched, chosen.query]
        return once(self.folder / f"set-{number:02d}" / "regret.json", self.study.root, made_from, make)

    def _make_pair(self, where: Path, chosen: ImageSet) -> Made:
        numbers = [chosen.query, *chosen.references]
        images = self.pool.load(numbers, self.network.height, self.network.width)
        labels = image_labels(self.network, self.pool, numbers, images)
        exhaustive = self.config.occlusion.mode == "exhaustive"
        search = self._search(occluded := Occluded(images[0], self.geometry))
        found = search.exhaustive() if exhaustive else search.coarse_to_fine(self.config.occlusion.top)
        query = self.pool.name(chosen.query)
        low, high = occluded([found.lowest, found.highest])
        pictures = {
            "base": self._save(where / "base.png", images[0], query, label=labels[0] if labels else None),
            "minimum": self._save(where / "minimum.png", low, query, place=found.lowest),
            "maximum": self._save(where / "maximum.png", high, query, place=found.highest),
        }
        trio = np.stack([images[0], low, high])
        controls = measure_controls(
            self.network, self.unit.layer, trio, labels[0] if labels else None, labels[1:] if labels else None
        )
        record = QueryPair(
            **{name: Picture.model_validate(picture) for name, picture in pictures.items()},
            map=self.study.relative(file := where / "map.csv"),
            map_sha256=_write_map(file, found),
            mode=self.config.occlusion.mode,
            evaluations=len(found.activations),
            controls=controls,
        )
        natural = [
            self._save(
                where / f"natural-{rank}.png",
                images[rank],
                self.pool.name(image),
                label=labels[rank] if labels else None,
            )
            for rank, image in enumerate(chosen.references, start=1)
        ]
        return {"pair": record.model_dump(mode="json"), "natural": natural}

    def _make_blurred(self, where: Path, chosen: ImageSet) -> Made:
        pictures = []
        images = self.pool.load(chosen.references, self.network.height, self.network.width)
        for rank, (number, image) in enumerate(zip(chosen.references, images, strict=True), start=1):
            search = self._search(render := SharpOnly(image, self.geometry))
            place = search.coarse_to_fine(self.config.occlusion.top, lowest=False).highest
            file = where / f"blurred-{rank}.png"
            pictures.append(self._save(file, render([place])[0], self.pool.name(number), place=place))
        return {"blurred": pictures}

    def _search(self, render: Occluded | SharpOnly) -> PatchSearch:
        return PatchSearch(render, self.evaluate, self.geometry, self.config.occlusion.batch)

    def _save(
        self,
        file: Path,
        image: NDArray[np.uint8],
        source: str,
        *,
        place: Place | None = None,
        label: str | None = None,
    ) -> dict[str, Any]:
        """Write a picture, and measure the unit on what the file holds."""
        sha256 = write_png(file, image)
        activation = float(self.evaluate(read_png(file)[None])[0])
        picture = Picture(
            file=self.study.relative(file),
            sha256=sha256,
            activation=activation,
            source=source,
            place=place,
            label=label,
        )
        return picture.model_dump(mode="json")


def _write_map(file: Path, found: Found) -> str:
    rows = [f"{top},{left},{value!r}" for (top, left), value in sorted(found.activations.items())]
    with written(file) as temporary:
        temporary.write_text("\n".join(["top,left,activation", *rows, ""]), encoding="ascii")
    return file_sha256(file)
