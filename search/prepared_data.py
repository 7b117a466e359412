"""What is prepared under `HMS_DATA`: video, stimuli, objects; listed, verified against its source, removed."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from filelock import Timeout

from metrics.gazoobian.settings import Settings
from metrics.stimuli92_sources import FILES, missing_files
from metrics.stimulus_sets import BRAIN_FILE, brain_problems
from prednet.data.build import FRAMES_NAME, build_lock
from prednet.data.cache import BUILDING, META_NAME, REQUEST_NAME, SOURCES_NAME, VideoDataset, describe
from prednet.data.images import shell_word, shown
from prednet.data.verification import damaged_splits, source_state
from prednet.errors import DataError
from search.errors import UsageError
from search.object_check import object_problems
from search.paths import brain_path, stimuli_path
from search.progress import Progress

_FILE_OPTIONS = {"--categories-file": "categories_file", "--test-list": "test_list"}


@dataclass(frozen=True)
class Prepared:
    """One prepared thing: name (as `data.dataset` names it), kind, folder, bytes on disk, and what it holds."""

    name: str
    kind: str
    path: Path
    bytes: int
    frames: int = 0
    splits: str = ""
    source: str = ""
    state: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**self.__dict__, "path": shown(self.path)}


@dataclass(frozen=True)
class Verdict:
    """Whether a prepared thing is whole and current; `problems` say what is not, `command` makes it again."""

    prepared: Prepared
    problems: tuple[str, ...]
    command: str
    notes: tuple[str, ...] = ()


def prepared_data(root: Path) -> list[Prepared]:
    """Everything under `root` that `hms data` made; the state of a source by names, sizes and times of its files."""
    found = [_video(folder) for folder in _folders(root / "video") if _begun(folder)]
    found += [_objects(folder) for folder in _folders(root / "gazoobian")]
    if stimuli_path(root).is_dir():
        found.append(_stimuli(stimuli_path(root)))
    brains = _folders(brain_path(root, "NAME").parent)
    return found + [Prepared(folder.name, "brains", folder, _bytes(folder)) for folder in brains]


def find_prepared(root: Path, name: str) -> Prepared:
    """The prepared thing of a name, or of `KIND/NAME` where a name is used twice. Raises UsageError."""
    everything = prepared_data(root)
    matches = [item for item in everything if name in (item.name, f"{item.path.parent.name}/{item.name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(f"{item.path.parent.name}/{item.name}" for item in matches)
        raise UsageError(f"{name!r} is the name of several: {names}. Next: give one of these")
    near = get_close_matches(name, [item.name for item in everything], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"nothing named {name!r} is prepared under {root}: {hint}Next: `hms data list`")


def verify(item: Prepared, progress: Progress) -> Verdict:
    """Read everything again: checksums of what is prepared, and whether its source has changed."""
    if item.kind == "stimuli":
        problems = [
            f"{item.path / name}: missing, or its sha256 is not {FILES[name]}" for name in missing_files(item.path)
        ]
        return Verdict(item, tuple(problems), "hms data stimuli92")
    if item.kind == "objects":
        return Verdict(item, tuple(object_problems(item.path, progress)), _objects_command(item.path))
    if item.kind == "brains":
        return Verdict(item, tuple(brain_problems(item.path)), f"hms data brain PATH --name {item.name}")
    if not (item.path / META_NAME).is_file():
        asked = _request(item.path)
        command = video_command(asked, item.name) if asked else "the `hms data` command that began it"
        return Verdict(item, ("not finished: it was interrupted; the command goes on where it stopped",), command)
    try:
        dataset = VideoDataset.open(item.path)
    except DataError as error:
        return Verdict(item, (str(error),), "the `hms data` command that made it")
    state = source_state(dataset)
    problems = damaged_splits(dataset, progress)
    told = [f"source {state.state}: {detail}" for detail in state.details]
    if state.state == "changed":
        return Verdict(item, (*problems, *told), video_command(dataset.meta, item.name))
    return Verdict(item, tuple(problems), video_command(dataset.meta, item.name), tuple(told))


def remove(item: Prepared) -> list[str]:
    """Delete what `hms data` wrote; files of others stay. Returns what was left.

    Raises:
        UsageError: own pictures, or data that are being prepared at this moment.
    """
    if item.kind == "objects" and not (item.path / "generator.json").is_file():
        raise UsageError(f"{item.path} holds pictures that were not made here. Next: delete the folder by hand")
    lock = build_lock(item.path)
    try:
        with lock.acquire(timeout=0):
            left = _delete(item)
    except Timeout:
        raise UsageError(f"{item.name} is being prepared by another process. Next: wait for it, or end it") from None
    Path(lock.lock_file).unlink(missing_ok=True)
    return left


def _delete(item: Prepared) -> list[str]:
    if item.kind == "objects":
        shutil.rmtree(item.path)
        return []
    for file in _own_files(item):
        file.unlink(missing_ok=True)
    shutil.rmtree(item.path / BUILDING, ignore_errors=True)
    with suppress(OSError):
        item.path.rmdir()
    return sorted(shown(file) for file in item.path.iterdir()) if item.path.exists() else []


def users_of(folder: Path) -> list[str]:
    """Processes of this machine that hold files of a folder open or mapped, as `pid command`.

    Only processes of the same user can be seen, and only where /proc exists.
    """
    wanted = str(folder.resolve()) + "/"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (process / "maps").read_text(errors="surrogateescape"):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found.append(f"{process.name} {command[:80]}")
    return found


def video_command(meta: Mapping[str, Any], name: str) -> str:
    """The command that makes a video dataset again, from its `meta.json` or the request of an unfinished one."""
    kind = meta["kind"]
    height, width = meta["size"]
    if kind == "video" and name == f"demo-{height}x{width}":
        return f"hms data demo --height {height} --width {width}"
    inputs, options = meta.get("inputs", {}), meta["options"]
    words = ["hms", "data", kind, *_inputs(inputs, meta["source"]), "--name", name]
    if kind != "hkl" or options["frames"] == "resized":
        words += ["--height", str(height), "--width", str(width)]
    if meta["resize"] == "legacy":
        words += ["--resize", "legacy"]
    return " ".join(shell_word(word) for word in [*words, *_options(kind, options)])


def _request(folder: Path) -> dict[str, Any] | None:
    try:
        return json.loads((folder / BUILDING / REQUEST_NAME).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _inputs(inputs: Mapping[str, Any], source: str) -> list[str]:
    if "files" in inputs:
        held = [word for split in ("val", "test") for file in inputs[split] for word in (f"--{split}", file)]
        return [*inputs["files"], *held]
    named = [(option, name) for option, name in _FILE_OPTIONS.items() if name in inputs]
    return [inputs.get("source", source), *(word for option, name in named for word in (option, inputs[name]))]


def _options(kind: str, options: Mapping[str, Any]) -> Iterator[str]:
    if kind == "kitti":
        if options["camera"] != "03":
            yield from ("--camera", options["camera"])
        if options["held_out"] != "official":
            yield from ("--held-out", options["held_out"])
        if options["categories"] != ["city", "residential", "road"]:
            yield from (word for category in options["categories"] for word in ("--category", category))
    if kind == "vlog":
        shares = ("val", "seed") if isinstance(options["test"], list) else ("val", "test", "seed")
        yield from (word for name in shares for word in (f"--{name}", f"{options[name]:g}"))
    if options.get("fps") is not None:
        yield from ("--fps", f"{options['fps']:g}")
    if options.get("skip_bad"):
        yield "--skip-bad"


def _begun(folder: Path) -> bool:
    """Whether a folder is a dataset, finished or not; another may hold footage of the user."""
    return (folder / META_NAME).is_file() or (folder / BUILDING).is_dir()


def _video(folder: Path) -> Prepared:
    size = _bytes(folder)
    try:
        dataset = VideoDataset.open(folder)
    except DataError as error:
        state = "not finished" if not (folder / META_NAME).exists() else str(error)
        return Prepared(folder.name, "video", folder, size, state=state)
    facts = describe(dataset)
    counts = {name: split["frames"] for name, split in facts["splits"].items()}
    return Prepared(
        folder.name,
        facts["kind"],
        folder,
        size,
        sum(counts.values()),
        ", ".join(f"{name} {n}" for name, n in counts.items()),
        facts["source"],
        f"source {source_state(dataset).state}",
    )


def _objects(folder: Path) -> Prepared:
    made = (folder / "generator.json").is_file()
    finished = (folder / "manifest.csv").is_file()
    frames = sum(1 for _ in (folder / "objects").glob("*/*.png"))
    state = "" if finished or not made else "not finished"
    return Prepared(
        folder.name, "objects", folder, _bytes(folder), frames, "", "rendered here" if made else "own", state
    )


def _stimuli(folder: Path) -> Prepared:
    present = [name for name in FILES if (folder / name).is_file()]
    state = "" if len(present) == len(FILES) else "not finished"
    return Prepared(folder.name, "stimuli", folder, _bytes(folder), 92 if not state else 0, "", "rsatoolbox", state)


def _objects_command(folder: Path) -> str:
    try:
        s = Settings(**json.loads((folder / "generator.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return "hms data gazoobian"
    return (
        f"hms data gazoobian --preset {s.preset} --objects {s.objects} --views {s.views} --height {s.height}"
        f" --width {s.width} --seed {s.seed}" + "".join(f" --dial {dial}={width:g}" for dial, width in s.dials.items())
    )


def _own_files(item: Prepared) -> Sequence[Path]:
    if item.kind == "stimuli":
        return [item.path / name for name in FILES]
    if item.kind == "brains":
        return [item.path / BRAIN_FILE]
    frames = [file for file in item.path.iterdir() if FRAMES_NAME.fullmatch(file.name)]
    return [item.path / META_NAME, item.path / SOURCES_NAME, *frames]


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def _bytes(folder: Path) -> int:
    # Blocks, not lengths: a dataset that is being built has claimed its space before it is written.
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
