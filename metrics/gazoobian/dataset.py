"""The folder of Gazoobian images on disk: drawn, rendered on all cores, resumed where it stopped.

generator.json   settings; a folder holds one set
objects/<object>/<view>.png
manifest.csv     one row an image, with dials and the SHA-256 of its pixels
trials.json      the paper's 500 trials with galleries of 50, where the set is large enough
"""

import contextlib
import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from PIL import Image

from metrics.errors import StimuliError
from metrics.gazoobian.anatomy import build
from metrics.gazoobian.camera import camera_for
from metrics.gazoobian.grammar import Individual
from metrics.gazoobian.objects import (
    COLUMNS,
    PREPARE,
    ObjectSet,
    image_file,
    load_objects,
    pixel_digest,
    read_image,
    read_manifest,
)
from metrics.gazoobian.render import palette, render
from metrics.gazoobian.screening import draw_members
from metrics.gazoobian.settings import Settings, claim, write_text
from metrics.gazoobian.views import draw_dials, kind_of, view_names
from metrics.matching_trials import TooFewObjects, draw_trials, write_trials

Progress = Callable[[str, int, int], None]
Row = dict[str, Any]
Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]

# A core traces about 1.3 million rays a second; other processes take a second to start.
_RAYS_ALONE = 2_000_000


@dataclass(frozen=True)
class _Task:
    root: Path
    settings: Settings
    name: str
    family: str
    individual: Individual
    known: Mapping[str, str]  # view -> SHA-256 that an earlier manifest lists


def prepare_gazoobian(
    root: Path,
    *,
    preset: str = "mix_l",
    objects: int = 100,
    views: int = 12,
    height: int = 128,
    width: int = 160,
    samples: int = 4,
    seed: int = 0,
    dials: Mapping[str, float] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ObjectSet:
    """Make the set below `root`, or complete what is there, and read it.

    The families share the objects as evenly as they can. Images that exist are kept when they are whole and what the
    manifest lists. `dials`: widths other than the preset's, see `views.turned`. `workers` processes; when None all
    usable cores, but for a small set this process alone. With more than 1, a script that calls this needs the usual
    `if __name__ == "__main__":`, as processes are spawned.
    Raises `StimuliError` for impossible settings and for a folder that holds another set.
    """
    settings = Settings(preset, objects, views, height, width, samples, seed, dict(dials or {}))
    settings.check()
    root = Path(root)
    claim(root, settings)
    known: dict[tuple[str, str], str] = {}
    if (root / "manifest.csv").is_file():
        with contextlib.suppress(StimuliError):
            found = load_objects(root)
            if len(found.rows) == objects * views:
                return found
        known = _listed(root / "manifest.csv")
    report = progress or (lambda what, done, total: None)
    count = min(workers or _useful_workers(settings), objects)
    with _mapper(count) as run:
        members = _draw(settings, run, report)
        rows = _render_all(root, settings, members, known, run, report)
    _write_manifest(root / "manifest.csv", rows)
    made = load_objects(root)
    with contextlib.suppress(TooFewObjects):  # a small set serves a smaller gallery, which its user draws
        write_trials(root / "trials.json", draw_trials(made, seed=seed))
    return made


def _draw(settings: Settings, run: Run, report: Progress) -> list[tuple[str, str, Individual]]:
    """Object names, family names and individuals, in the order of the manifest."""
    families = settings.families
    sizes = [len(range(number, settings.objects, families)) for number in range(families)]
    drawn: dict[int, list[Individual]] = {}
    tasks = [(settings.seed, number, size) for number, size in enumerate(sizes)]
    report("Gazoobian families", 0, families)
    for number, members in run(_members, tasks):
        drawn[number] = members
        report("Gazoobian families", len(drawn), families)
    return [
        (f"f{number:02d}-{index:02d}", f"f{number:02d}", member)
        for number in range(families)
        for index, member in enumerate(drawn[number])
    ]


def _members(task: tuple[int, int, int]) -> tuple[int, list[Individual]]:
    seed, number, count = task
    return number, draw_members(seed, number, count)


def _render_all(
    root: Path,
    settings: Settings,
    members: list[tuple[str, str, Individual]],
    known: Mapping[tuple[str, str], str],
    run: Run,
    report: Progress,
) -> list[Row]:
    names = view_names(settings.views)
    tasks = [
        _Task(root, settings, name, family, individual, {view: known.get((name, view), "") for view in names})
        for name, family, individual in members
    ]
    done: dict[str, list[Row]] = {}
    total = len(tasks) * settings.views
    report("Gazoobian images", 0, total)
    for name, rows in run(_render_object, tasks):
        done[name] = rows
        report("Gazoobian images", len(done) * settings.views, total)
    return [row for name, _, _ in members for row in done[name]]


def _render_object(task: _Task) -> tuple[str, list[Row]]:
    """Render the views of one object that are not on disk yet."""
    settings, individual = task.settings, task.individual
    preset = settings.widths
    dials = {view: draw_dials(preset, individual.seed, view) for view in view_names(settings.views)}
    files = {view: image_file(task.root, task.name, view) for view in dials}
    digests = {view: _kept(files[view], settings, task.known[view]) for view in dials}
    missing = [view for view, digest in digests.items() if not digest]
    images = render(
        build(individual),
        [camera_for(dials[view]) for view in missing],
        [palette(individual, dials[view].hue) for view in missing],
        height=settings.height,
        width=settings.width,
        samples=settings.samples,
    )
    for view, image in zip(missing, images, strict=True):
        _write_png(Image.fromarray(image), files[view])
        digests[view] = pixel_digest(image)
    names = {"object": task.name, "family": task.family, "seed": individual.seed}
    return task.name, [
        {**names, "view": view, "kind": kind_of(view), **asdict(dials[view]), "sha256": digests[view]} for view in dials
    ]


def _kept(file: Path, settings: Settings, expected: str) -> str:
    """SHA-256 of the image on disk if it can stay, else an empty string."""
    try:
        image = read_image(file)
    except StimuliError:
        return ""
    if image.shape != (settings.height, settings.width, 3):
        return ""
    digest = pixel_digest(image)
    return digest if expected in ("", digest) else ""


def _listed(manifest: Path) -> dict[tuple[str, str], str]:
    """Checksums by object and view of a manifest whose images need mending; none when it is broken itself."""
    try:
        return {(row.object, row.view): row.sha256 for row in read_manifest(manifest)}
    except StimuliError:
        return {}


def _write_manifest(file: Path, rows: list[Row]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(file, text.getvalue())


def _write_png(image: Image.Image, file: Path) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        image.save(temporary, format="PNG")
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StimuliError(f"{file} cannot be written ({error}). Free some space, then run again: {PREPARE}") from error


def _useful_workers(settings: Settings) -> int:
    rays = settings.objects * settings.views * settings.height * settings.width * settings.samples
    return 1 if rays < _RAYS_ALONE else _usable_cores()


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _mapper(workers: int) -> Iterator[Run]:
    """A function that applies a function to tasks and yields results as they come, in `workers` processes."""
    if workers <= 1:
        yield lambda function, tasks: map(function, tasks)
        return
    # Spawned, not forked: the caller may hold threads of torch or of a database client.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            for future in as_completed([pool.submit(function, task) for task in tasks]):
                yield future.result()

        try:
            yield run
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
