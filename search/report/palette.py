"""Colours of the report: Okabe & Ito (2008), distinguishable with any colour vision, plus neutral inks.

In the page a colour is a token such as `@hms` that `page.js` replaces by the value of the CSS variable `--hms`,
so that figures follow the light or dark scheme; in print it is the light value.
"""

LIGHT = {
    "hms": "#0072B2",
    "mse": "#D55E00",
    "accuracy": "#009E73",
    "accent": "#CC79A7",
    "ink": "#1F2933",
    "muted": "#66727F",
    "grid": "#E4E7EB",
    "paper": "#FFFFFF",
}
DARK = {
    "hms": "#56B4E9",
    "mse": "#E8823A",
    "accuracy": "#2CC295",
    "accent": "#DD9CC0",
    "ink": "#E6EAEE",
    "muted": "#9AA7B4",
    "grid": "#2C363F",
    "paper": "#171C21",
}

FINISH_SYMBOLS = {  # plotly's name, matplotlib's marker, what it means
    "hms_stable": ("circle", "o", "stopped: HMS stable"),
    "below_threshold": ("triangle-down", "v", "stopped: HMS below threshold"),
    "max_epochs": ("square-open", "s", "reached its planned epochs"),
    "collapsed": ("x", "X", "stopped: collapsed"),
    "diverged": ("x-thin-open", "x", "stopped: diverged"),
}

# Perceptually even and safe for colour-blind readers.
SEQUENTIAL = "Cividis"
# The same without its darkest end, for single dots that must be seen on a dark page too.
SEQUENTIAL_DOTS = [[0.0, "#3A5A9B"], [0.33, "#7C7B78"], [0.67, "#BCAF6F"], [1.0, "#FFE945"]]
DIVERGING = [[0.0, "#2166AC"], [0.25, "#92C5DE"], [0.5, "#F7F7F7"], [0.75, "#F4A582"], [1.0, "#B2182B"]]


def css_variables(colours: dict[str, str]) -> str:
    """The colours as CSS custom properties."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
