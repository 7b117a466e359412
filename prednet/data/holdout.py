"""Which recordings are held out. Whole drives, clips or files; never single frames of one."""

import math
from collections.abc import Mapping, Sequence

from prednet.data.sources import SPLITS, Plan, SourceRecording, long_enough
from prednet.errors import DataError

SAME_RECORDING = "same recording, no generalisation claim"
GAP_SECONDS = 2.0


def hold_out(
    recordings: Sequence[SourceRecording],
    roles: Mapping[str, str],
    *,
    label: str,
    frame_rate: float,
    min_frames: int,
    source: str,
) -> Plan:
    """Assign recordings to train, val and test.

    Args:
        recordings: all of them, groups in natural order, the parts of a group in time order.
        roles: split of the groups that are held out by name (Lotter's drives, or the user's choice).
        label: how `roles` came about; recorded as `held_out` when they settle everything.
        frame_rate: frames per second, for the gap inside a single recording.
        min_frames: shorter recordings are left out, with a warning by name.
        source: named in errors.

    A split that `roles` leave empty is filled by rule from the remaining groups, in natural order: the last
    tenth (at least one) is the test split, the tenth before it (at least one) the validation split; with
    only two groups the last is the validation split and there is no test split. With a single group, its
    last fifth is the validation split, after a gap of at least 2 s, and the label says so.

    Raises:
        DataError: nothing long enough remains, or no recording is left to train on.
    """
    kept, warnings = long_enough(recordings, min_frames)
    if not kept:
        reasons = "; ".join(warnings[:3]) or "no recording was found"
        raise DataError(
            f"{source}: no recording has {min_frames} frames in a row ({reasons}). Next: name a folder with"
            " longer recordings"
        )
    groups = list(dict.fromkeys(recording.group for recording in kept))
    if len(groups) == 1:
        return _last_fifth(kept, warnings, frame_rate, min_frames, source)
    assigned = {group: roles.get(group, "train") for group in groups}
    by_rule = _fill_by_rule(assigned)
    if "train" not in assigned.values():
        raise DataError(
            f"{source}: all of its recordings are held out ({', '.join(groups)}), none is left to train on."
            " Next: add recordings, or give the command `--held-out rule` to choose by rule"
        )
    warnings += [f"{group}: held out as {split} by rule (place in natural order)" for group, split in by_rule]
    if "test" not in assigned.values():
        warnings.append("no test split: too few recordings to hold one out")
    if "val" not in assigned.values():
        warnings.append("no validation split: too few recordings to hold one out")
    splits = {
        split: tuple(recording for recording in kept if assigned[recording.group] == split)
        for split in SPLITS
        if split in assigned.values()
    }
    if by_rule:
        label = "whole recordings by rule" if len(by_rule) == len(_held(assigned)) else f"{label}, rest by rule"
    return Plan(splits, label, tuple(warnings))


def _held(assigned: Mapping[str, str]) -> list[str]:
    return [group for group, split in assigned.items() if split != "train"]


def _fill_by_rule(assigned: dict[str, str]) -> list[tuple[str, str]]:
    """Fill the splits that are empty, from the end of the free groups; returns what was assigned."""
    free = [group for group, split in assigned.items() if split == "train"]
    size = max(1, len(free) // 10)
    missing = [split for split in ("test", "val") if split not in assigned.values()]
    if len(free) < 3 and "val" in missing:
        missing = ["val"]
    filled = []
    for split in missing:
        if len(free) <= size:
            break
        filled += [(group, split) for group in free[-size:]]
        free = free[:-size]
    assigned.update(filled)
    return filled


def _last_fifth(
    recordings: Sequence[SourceRecording],
    warnings: list[str],
    frame_rate: float,
    min_frames: int,
    source: str,
) -> Plan:
    total = sum(len(recording) for recording in recordings)
    val_start = total - total // 5
    train_stop = val_start - math.ceil(GAP_SECONDS * frame_rate)
    train: list[SourceRecording] = []
    val: list[SourceRecording] = []
    offset = 0
    for recording in recordings:
        length = len(recording)
        train_part = min(length, max(0, train_stop - offset))
        val_part = min(length, max(0, val_start - offset))
        if train_part:
            train.append(recording.part(0, train_part))
        if val_part < length:
            val.append(recording.part(val_part, length))
        offset += length
    kept_train, short_train = long_enough(train, min_frames)
    kept_val, short_val = long_enough(val, min_frames)
    if not kept_train or not kept_val:
        raise DataError(
            f"{source}: its only recording has {total} frames, too few to hold out its last fifth after a gap of"
            f" {GAP_SECONDS:g} s with {min_frames} frames in a row on both sides. Next: add a second recording"
        )
    warnings = [*warnings, *short_train, *short_val]
    warnings.append(f"one recording only: validation is its last fifth ({SAME_RECORDING}); no test split")
    return Plan({"train": tuple(kept_train), "val": tuple(kept_val)}, SAME_RECORDING, tuple(warnings))
