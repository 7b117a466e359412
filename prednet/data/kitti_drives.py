"""What is known of KITTI's raw drives: categories, and the drives that Lotter et al. hold out."""

import re
from collections.abc import Mapping

CATEGORIES = ("city", "residential", "road", "campus", "person")
TRAINED_CATEGORIES = ("city", "residential", "road")

OFFICIAL_HELD_OUT: Mapping[str, str] = {
    "2011_09_26_drive_0005": "val",  # city
    "2011_09_26_drive_0104": "test",  # city
    "2011_09_26_drive_0079": "test",  # residential
    "2011_09_26_drive_0070": "test",  # road
}

# Drive numbers by category and date, from the raw-data pages of www.cvlibs.net/datasets/kitti.
_DRIVES: Mapping[str, Mapping[str, str]] = {
    "city": {
        "2011_09_26": "1 2 5 9 11 13 14 17 18 48 51 56 57 59 60 84 91 93 95 96 104 106 113 117",
        "2011_09_28": "1 2",
        "2011_09_29": "26 71",
    },
    "residential": {
        "2011_09_26": "19 20 22 23 35 36 39 46 61 64 79 86 87",
        "2011_09_30": "18 20 27 28 33 34",
        "2011_10_03": "27 34",
    },
    "road": {
        "2011_09_26": "15 27 28 29 32 52 70 101",
        "2011_09_29": "4",
        "2011_09_30": "16",
        "2011_10_03": "42 47",
    },
    "campus": {"2011_09_28": "16 21 34 35 37 38 39 43 45 47"},
}

_CATEGORY_OF = {
    f"{date}_drive_{int(number):04d}": category
    for category, dates in _DRIVES.items()
    for date, numbers in dates.items()
    for number in numbers.split()
}

_DRIVE = re.compile(r"(\d{4}_\d\d_\d\d_drive_\d{4})(_sync|_extract)?$")


def drive_id(folder_name: str) -> str | None:
    """`2011_09_26_drive_0005` from a drive's folder name, with or without `_sync`; None for other names."""
    match = _DRIVE.match(folder_name)
    return match.group(1) if match else None


def category_of(drive: str) -> str:
    """Category of a drive by KITTI's own listing; empty when it lists no such drive."""
    if drive in _CATEGORY_OF:
        return _CATEGORY_OF[drive]
    # The pedestrian drives are all the later ones of one day.
    if drive.startswith("2011_09_28_drive_") and 53 <= int(drive[-4:]) <= 222:
        return "person"
    return ""
