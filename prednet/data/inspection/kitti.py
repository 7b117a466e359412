"""What is true of a folder of KITTI raw recordings."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prednet.data.images import decode_image, shell_word, shown
from prednet.data.inspection.findings import (
    FoundRecording,
    Inspection,
    Way,
    attempted,
    listed,
    narrow_facts,
    recording_of_images,
)
from prednet.data.inspection.image_facts import ImageFacts, images_facts
from prednet.data.inspection.look_alikes import look_alikes
from prednet.data.kitti import KITTI_HZ, kitti_preparation
from prednet.data.kitti_drives import CATEGORIES, OFFICIAL_HELD_OUT, category_of
from prednet.data.kitti_folders import DriveFolder, drive_folders
from prednet.data.sources import MIN_FRAMES, Progress

# Width x height of the rectified frames, from the calibration files of each recording day.
_SIZES: Mapping[str, tuple[int, int]] = {
    "2011_09_26": (1242, 375),
    "2011_09_28": (1224, 370),
    "2011_09_29": (1238, 374),
    "2011_09_30": (1226, 370),
    "2011_10_03": (1241, 376),
}
_GREYS = frozenset({"grey", "16-bit grey", "grey stored as colour", "black and white"})
_GREY_CAMERAS = ("00", "01")
_PREFERRED = ("03", "02", "01", "00")


def inspect_kitti(source: Path, dest: Path, *, quick: bool, progress: Progress) -> Inspection:
    """Drives, cameras, sizes, formats and categories; each bad file; what each camera that is there would give.

    `dest`: where the dataset would be prepared. Raises DataError when there is no drive.
    """
    source = source.absolute()
    drives, problems = drive_folders(source)
    folders = [(drive, camera, drive.frames(camera)) for drive in drives for camera in sorted(drive.cameras)]
    facts_of = images_facts([file for *_, files in folders for file in files], quick=quick, progress=progress)
    recordings = []
    for drive, camera, files in folders:
        found, wrong = _recording(source, drive, camera, [facts_of[file] for file in files])
        recordings.append(found)
        problems += wrong
    cameras = sorted({recording.camera for recording in recordings if recording.frames}, key=_PREFERRED.index)
    facts = _facts(source, drives, recordings, cameras)
    if not quick:
        problems += look_alikes(recordings, progress)
    return Inspection(
        shown(source),
        "kitti",
        f"KITTI raw recordings, {_layout(source, drives)}: {_number(len(drives), 'drive')}",
        tuple(recordings),
        tuple(facts),
        tuple(problems),
        tuple(_way(source, dest, camera, any(r.bad for r in recordings if r.camera == camera)) for camera in cameras),
    )


def _recording(
    source: Path, drive: DriveFolder, camera: str, pictures: list[ImageFacts]
) -> tuple[FoundRecording, list[str]]:
    found, problems = recording_of_images(
        drive.name,
        pictures,
        lambda index: decode_image(pictures[index].file)[0],
        step=1,
        rate=KITTI_HZ,
        category=drive.category(source, {}),
        camera=camera,
        source=shown(drive.cameras[camera]),
    )
    if len(pictures) < MIN_FRAMES:
        few = f"{len(pictures)} frames, fewer than the {MIN_FRAMES} of one sequence"
        problems.append(f"{drive.name} image_{camera}: {few}: left out")
    return found, problems


def _facts(
    source: Path, drives: Sequence[DriveFolder], recordings: Sequence[FoundRecording], cameras: Sequence[str]
) -> list[str]:
    facts = [_camera_fact(recordings, cameras)]
    unknown = [drive.name for drive in drives if not category_of(drive.name)]
    if unknown:
        facts.append(
            f"{listed(unknown)}: no such drive in KITTI's listing, so that the number is invented or mistyped;"
            " category unknown unless a folder or --categories-file gives it"
        )
    known = {recording.category for recording in recordings if recording.category}
    facts.append(
        f"categories: {', '.join(sorted(known)) or 'none known'}"
        + (f"; none of {', '.join(c for c in CATEGORIES[:3] if c not in known)}" if known < set(CATEGORIES[:3]) else "")
    )
    held = [name for name in OFFICIAL_HELD_OUT if name in {drive.name for drive in drives}]
    if len(held) < len(OFFICIAL_HELD_OUT):
        absent = [name for name in OFFICIAL_HELD_OUT if name not in held]
        facts.append(
            f"of the four drives that Lotter et al. hold out, {', '.join(absent)} are not here:"
            " whole recordings are held out by rule where a split would be empty"
        )
    facts += _size_facts(recordings) + narrow_facts(recordings) + _format_facts(recordings)
    seconds = sum(recording.frames for recording in recordings) / KITTI_HZ
    facts.append(f"{sum(r.frames for r in recordings)} frames, {seconds:g} s at 10 Hz, over all cameras")
    return facts


def _camera_fact(recordings: Sequence[FoundRecording], cameras: Sequence[str]) -> str:
    parts = []
    for camera in cameras:
        drives = sum(1 for recording in recordings if recording.camera == camera and recording.frames)
        parts.append(
            f"image_{camera} ({'grey' if camera in _GREY_CAMERAS else 'colour'}) in {_number(drives, 'drive')}"
        )
    text = f"cameras: {', '.join(parts) or 'no image at all'}"
    if "03" not in cameras:
        text += "; image_03, the camera of Lotter et al. and the default, is in none: name another by --camera"
    return text


def _size_facts(recordings: Sequence[FoundRecording]) -> list[str]:
    facts = []
    sizes = sorted({size for recording in recordings for size in recording.sizes})
    if len(sizes) > 1:
        facts.append(f"{len(sizes)} sizes ({', '.join(sizes)}): each is scaled to the height asked for, then cropped")
    notes = [
        (recording, _size_note(size, _SIZES[recording.name[:10]]))
        for recording in recordings
        for size in recording.sizes
        if recording.name[:10] in _SIZES
    ]
    return facts + _grouped(notes)


def _grouped(notes: Sequence[tuple[FoundRecording, str]]) -> list[str]:
    """`RECORDINGS: note` for each note that is not empty, with all recordings that it is true of."""
    names: dict[str, list[str]] = {}
    for recording, note in notes:
        if note:
            names.setdefault(note, []).append(f"{recording.name} image_{recording.camera}")
    return [f"{listed(which)}: {note}" for note, which in names.items()]


def _size_note(size: str, original: tuple[int, int]) -> str:
    w, h = map(int, size.split("x"))
    if (w, h) == original:
        return ""
    for part, word in ((2, "half"), (3, "a third of"), (4, "a quarter of")):
        if abs(w - original[0] / part) <= 0.5 and abs(h - original[1] / part) <= 0.5:
            return f"{size} is {word} that day's {original[0]}x{original[1]}: reduced before, not KITTI's own files"
    return f"{size} is not that day's {original[0]}x{original[1]}: not KITTI's own files, or of another day"


def _format_facts(recordings: Sequence[FoundRecording]) -> list[str]:
    return _grouped([(recording, note) for recording in recordings for note in _format_notes(recording)])


def _format_notes(recording: FoundRecording) -> Iterator[str]:
    if lossy := set(recording.formats) & {"JPEG", "WEBP", "MPO"}:
        yield f"{', '.join(sorted(lossy))}; KITTI ships PNG, so that these were encoded again (lossy)"
    grey = set(recording.colours) & _GREYS
    if grey and recording.camera not in _GREY_CAMERAS:
        yield f"should be colour, its frames are {', '.join(sorted(grey))}"
    if recording.colours.keys() - grey and recording.camera in _GREY_CAMERAS:
        yield "should be grey, it holds colour frames"
    if recording.colours and not recording.colours.keys() - grey:
        yield "grey frames, which become three equal channels"


def _way(source: Path, dest: Path, camera: str, skip_bad: bool) -> Way:
    command = f"hms data kitti {shell_word(source)}" + ("" if camera == "03" else f" --camera {camera}")
    command += " --skip-bad" if skip_bad else ""
    return attempted(
        f"camera {camera}", command, lambda: kitti_preparation(source, camera=camera, skip_bad=skip_bad).preview(dest)
    )


def _layout(source: Path, drives: Sequence[DriveFolder]) -> str:
    names = {part for drive in drives for part in drive.folder.parts[len(source.parts) :]}
    return "CATEGORY/DRIVE layout" if names & set(CATEGORIES) else "DATE/DRIVE/image_0X layout"


def _number(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
