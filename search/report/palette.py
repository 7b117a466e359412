"""Colours of the report: Okabe & Ito (2008), distinguishable with any colour vision, plus neutral inks.

In the page a colour is a token such as `@hms` that `page.js` replaces by the value of the CSS variable `--hms`,
so that figures follow the light or dark scheme; in print it is the light value. Metrics beyond the paper's three go on
with colours of Okabe & Ito and Tol (2021, "muted") that are told apart from those and from each other. Text is in
`hms`, `ink`, `muted`, `good` or `open`: green and orange as dark as text must be on a light page.
"""

from collections.abc import Iterable

LIGHT = {
    "hms": "#0072B2",
    "mse": "#D55E00",
    "accuracy": "#009E73",
    "fourth": "#E69F00",
    "fifth": "#56B4E9",
    "sixth": "#882255",
    "seventh": "#999933",
    "eighth": "#332288",
    "accent": "#CC79A7",
    "ink": "#1F2933",
    "muted": "#5D6974",
    "grid": "#E4E7EB",
    "paper": "#FFFFFF",
    "good": "#007A59",
    "open": "#B34E00",
}
DARK = {
    "hms": "#56B4E9",
    "mse": "#E8823A",
    "accuracy": "#2CC295",
    "fourth": "#F0B83C",
    "fifth": "#9AD3F5",
    "sixth": "#C76A95",
    "seventh": "#C4C45E",
    "eighth": "#9C8FE0",
    "accent": "#DD9CC0",
    "ink": "#E6EAEE",
    "muted": "#9AA7B4",
    "grid": "#2C363F",
    "paper": "#171C21",
    "good": "#2CC295",
    "open": "#E8823A",
}

FINISH_SYMBOLS = {  # plotly's name, matplotlib's marker, what it means
    "hms_stable": ("circle", "o", "stopped: HMS stable"),
    "stable": ("circle", "o", "stopped: stable"),
    "below_threshold": ("triangle-down", "v", "stopped: worse than the threshold"),
    "max_epochs": ("square-open", "s", "reached its planned epochs"),
    "collapsed": ("x", "X", "stopped: collapsed"),
    "diverged": ("x-thin-open", "x", "stopped: diverged"),
}

# Colour and matplotlib marker of the first, second, ... category: the shape tells them apart without colour too.
CATEGORY_MARKS = (
    ("#D55E00", "o"),
    ("#E69F00", "^"),
    ("#0072B2", "s"),
    ("#56B4E9", "D"),
    ("#009E73", "P"),
    ("#CC79A7", "X"),
    ("#1F2933", "v"),
    ("#5D6974", "*"),
)

# Perceptually even and safe for colour-blind readers.
SEQUENTIAL = "Cividis"
# The same without its darkest end, for single dots that must be seen on a dark page too.
SEQUENTIAL_DOTS = [[0.0, "#3A5A9B"], [0.33, "#7C7B78"], [0.67, "#BCAF6F"], [1.0, "#FFE945"]]
DIVERGING = [[0.0, "#2166AC"], [0.25, "#92C5DE"], [0.5, "#F7F7F7"], [0.75, "#F4A582"], [1.0, "#B2182B"]]


FURTHER = ("fourth", "fifth", "sixth", "seventh", "eighth")


def tokens(metrics: Iterable[str]) -> dict[str, str]:
    """The colour token of each metric: its own name for the paper's three, then those of `FURTHER`, over and over."""
    names = list(metrics)
    further = [name for name in names if name not in LIGHT]
    return {name: name if name in LIGHT else FURTHER[further.index(name) % len(FURTHER)] for name in names}


def css_variables(colours: dict[str, str]) -> str:
    """The colours as CSS custom properties."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
