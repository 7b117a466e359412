"""Text of the page is legible in both colour schemes: contrast by WCAG 2.2, computed from the palette and the style."""

import re

import pytest

from search.report.palette import DARK, LIGHT
from search.report.templates import source

TEXT = sorted(set(re.findall(r"(?<![-\w])color:var\(--(\w+)\)", source("page.css"))))
SHARES = {"page": ("paper", 0.0), "card": ("muted", 0.07), "table's head": ("muted", 0.09)}


def channels(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(rgb):
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_the_standards():
    assert contrast([0, 0, 0], [1, 1, 1]) == 21
    assert contrast(channels("#777777"), [1, 1, 1]) == pytest.approx(4.48, abs=0.005)  # W3C's usual example


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", SHARES)
def test_text_has_a_contrast_of_at_least_four_and_a_half(scheme, ground):
    assert {"ink", "muted", "hms", "good", "open"} <= set(TEXT)
    tint, share = SHARES[ground]
    back = [share * a + (1 - share) * b for a, b in zip(channels(scheme[tint]), channels(scheme["paper"]), strict=True)]
    found = {name: contrast(channels(scheme[name]), back) for name in TEXT}
    assert {name: value for name, value in found.items() if value < 4.5} == {}
