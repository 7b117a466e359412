"""LaTeX tables: booktabs, every character escaped, one file a table that any document can `\\input`.

The document needs `\\usepackage{booktabs,longtable,array,lscape}` and UTF-8, as `HEADER` says in every file. Short
tables float; tables of more than `FLOAT_ROWS` rows break over pages; wide ones stand on a turned page.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import pandas as pd

HEADER = "% \\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\\usepackage{booktabs,longtable,array,lscape}\n"
FLOAT_ROWS = 30
# Characters that a line of 17 cm holds in \footnotesize and in \scriptsize, and a turned one of 24 cm in \scriptsize.
NARROW, PORTRAIT, TURNED = 82, 120, 174
PARAGRAPH = 32  # characters from which a column wraps
NOTHING = "--"

_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "−": "$-$", "–": "--", "—": "---", "ρ": r"$\rho$", "×": r"$\times$",
    "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$", "²": r"$^2$", "µ": r"$\mu$", "μ": r"$\mu$", "Δ": r"$\Delta$",
    "“": "``", "”": "''", "‘": "`", "’": "'", "…": r"\ldots{}", "°": r"$^\circ$", "→": r"$\to$", "\u00a0": "~",
    "\u2009": r"\,", "₁": r"$_1$", "₀": r"$_0$", "·": r"$\cdot$", "≈": r"$\approx$", "\t": " ", "\n": " ", "\r": " ",
}  # fmt: skip
_LATIN = "äöüÄÖÜßéèêëàâáãåçñíìîïóòôõøúùûýÿÉÈÀÁÅÇÑÓØÚæÆœŒšŠžŽčČćĆđĐłŁńŃśŚźŹżŻąĄęĘřŘěĚůŮťŤďĎňŇőŐűŰ"


def escape(text: str) -> str:
    """Text that prints as it is; a character that LaTeX's standard fonts lack is written as its code, `U+4E2D`."""
    return "".join(_character(character) for character in text)


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if " " <= character <= "~" or character in _LATIN:
        return character
    return f"U+{ord(character):04X}"


def cell(value: Any) -> str:
    """A value of a table: three significant digits, whole numbers whole, `--` where there is none."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, Real):
        text = str(value)
        return escape(text) if text else NOTHING
    number = float(value)
    if number.is_integer() and abs(number) < 1e6:
        return f"{int(number)}".replace("-", "$-$")
    mantissa, _, exponent = f"{number:.3g}".partition("e")
    mantissa = mantissa.replace("-", "$-$")
    return f"{mantissa}$\\cdot$10$^{{{int(exponent)}}}$" if exponent else mantissa


def latex_table(frame: pd.DataFrame, caption: str, label: str, titles: Mapping[str, str] | None = None) -> str:
    """One table as LaTeX; `caption`, `titles` (column -> heading) and every value are escaped here.

    `label`: lower-case letters, digits and `_`; the table is `\\ref{tab:LABEL}`, with `-` in place of `_`.
    """
    headings = [escape((titles or {}).get(str(name), str(name))) for name in frame.columns]
    rows = [[cell(value) for value in row] for row in frame.astype(object).itertuples(index=False, name=None)]
    plain = [[str(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    widths = [
        max(len(head), *(min(PARAGRAPH, len(row[i])) for row in plain)) if plain else len(head)
        for i, head in enumerate(map(str, frame.columns))
    ]
    columns = "".join(_column(frame.iloc[:, i], [row[i] for row in plain]) for i in range(len(headings)))
    body = _lines(rows)
    head = " & ".join(headings) + r" \\"
    name = f"\\label{{tab:{label.replace('_', '-')}}}"
    width = sum(widths) + 2 * len(widths)
    if len(rows) <= FLOAT_ROWS and width <= PORTRAIT:
        return HEADER + _float(columns, head, body, f"\\caption{{{escape(caption)}}}{name}", width)
    return HEADER + _long(columns, head, body, f"\\caption{{{escape(caption)}}}{name}", width, len(headings))


def _column(values: pd.Series, texts: Sequence[str]) -> str:
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return "r"
    longest = max((len(text) for text in texts), default=0)
    return r">{\raggedright\arraybackslash}p{4cm}" if longest > PARAGRAPH else "l"


def _lines(rows: list[list[str]]) -> str:
    # A line that begins with [ would be read as the optional argument of the \\ before it.
    return "\n".join("{}" + " & ".join(row) + r" \\" for row in rows)


def _size(width: int) -> str:
    """The size of the type, and the space between columns that goes with it."""
    size = r"\footnotesize" if width <= NARROW else r"\scriptsize" if width <= TURNED else r"\tiny"
    return f"{size}\n\\setlength{{\\tabcolsep}}{{{4 if width <= NARROW else 2}pt}}"


def _float(columns: str, head: str, body: str, caption: str, width: int) -> str:
    return (
        f"\\begin{{table}}[htbp]\n\\centering\n{caption}\n{_size(width)}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
        "\\end{table}\n"
    )


def _long(columns: str, head: str, body: str, caption: str, width: int, count: int) -> str:
    table = (
        f"{{{_size(width)}\n\\begin{{longtable}}{{{columns}}}\n{caption}\\\\\n"
        f"\\toprule\n{head}\n\\midrule\n\\endfirsthead\n\\toprule\n{head}\n\\midrule\n\\endhead\n"
        f"\\midrule\n\\multicolumn{{{count}}}{{r}}{{continued}}\\\\\n\\endfoot\n\\bottomrule\n\\endlastfoot\n"
        f"{body}\n\\end{{longtable}}}}\n"
    )
    return f"\\begin{{landscape}}\n{table}\\end{{landscape}}\n" if width > PORTRAIT else table


def document(names: Sequence[str]) -> str:
    """A document that shows the tables `names` (files beside it): to look at them, and to copy from."""
    inputs = "\n".join(f"\\input{{{name}}}" for name in names)
    return (
        "\\documentclass[a4paper,10pt]{article}\n\\usepackage[margin=2cm]{geometry}\n"
        "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"
        f"{HEADER.removeprefix('% ')}\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )
