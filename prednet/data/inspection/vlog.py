"""What is true of a folder of VLOG clips: one `<id>/clip.hkl` a clip."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prednet.data.clip_folders import find_clips
from prednet.data.hickle_files import frames_shape, read_rows
from prednet.data.images import shell_word, shown
from prednet.data.inspection.findings import FoundRecording, Inspection, attempted, narrow_facts
from prednet.data.sources import MIN_FRAMES, Progress
from prednet.data.vlog import vlog_preparation
from prednet.errors import DataError


def inspect_vlog(source: Path, dest: Path, *, quick: bool, progress: Progress) -> Inspection:
    """Frames and size of each clip; each file that cannot be used. All rows are read unless `quick`."""
    source = source.absolute()
    clips = [clip for clip in find_clips(source) if clip.is_hkl]
    recordings: list[FoundRecording] = []
    problems: list[str] = []
    for done, clip in enumerate(clips):
        progress("reading clips", done + 1, len(clips))
        file = clip.files[0]
        try:
            n, height, width = frames_shape(file)
            for start in range(0, 0 if quick else n, 256):
                read_rows(file, start, min(n, start + 256))
        except DataError as error:
            problems.append(str(error))
            continue
        size = {f"{width}x{height}": n}
        recordings.append(FoundRecording(clip.id, n, source=shown(file), sizes=size, read=partial(_read, file)))
        if n < MIN_FRAMES:
            problems.append(f"{clip.id}: {n} frames, fewer than the {MIN_FRAMES} of one sequence: left out")
    skip_bad = len(recordings) < len(clips)
    command = f"hms data vlog {shell_word(source)}" + (" --skip-bad" if skip_bad else "")
    way = attempted("", command, lambda: vlog_preparation(source, skip_bad=skip_bad).preview(dest))
    return Inspection(
        shown(source),
        "vlog",
        f"VLOG clips (<id>/clip.hkl): {len(clips)} clips",
        tuple(recordings),
        tuple(narrow_facts(recordings)),
        tuple(problems),
        (way,),
    )


def _read(file: Path, index: int) -> NDArray[np.uint8]:
    return read_rows(file, index, index + 1)[0]
