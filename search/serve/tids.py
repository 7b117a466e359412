"""Trials in an address: `0-5,7` in place of a number each."""

import re

PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def parse_tids(text: str) -> set[int]:
    """The tids of `0-5,7`; none for an empty text. Raises `ValueError` for anything else."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        match = PART.fullmatch(part)
        if match is None:
            raise ValueError(f"tid is {part!r}: expected numbers and ranges, such as 0-5,7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first > 10**6:
            raise ValueError(f"tid is {part!r}: a range may hold a million trials")
        found.update(range(first, last + 1))
    return found
