"""The HMS report as text for a terminal."""

from collections.abc import Iterable, Sequence

from metrics.bootstrap import Interval
from metrics.comparators import COMPARATORS
from metrics.hms_report import HmsReport

NOTHING = "–"


def hms_text(report: HmsReport) -> str:
    """Every part of the report as a small table; directions and conventions are said where they matter."""
    facts, result = report.reference, report.hms
    head = [
        f"{report.name}: {report.n_features:,} features a stimulus, compared with {facts['name']} "
        f"(people: {facts['people']}, RDMs: {facts['rdms']}, stimuli: {facts['stimuli']})",
        f"HMS  {_number(result.value) if result.status == 'ok' else f'undefined ({result.status})'}"
        " (Spearman; higher is more human-like; -1..1)",
    ]
    sections = [
        ("95 % intervals", ("resampled", "value", "low", "high"), _intervals(report)),
        (
            "comparators",
            ("", "with the mean RDM", "mean over people", "ceiling", "ceiling, raw averages"),
            _ways(report),
        ),
        ("people", ("", "mean of sessions", "sessions"), _people(report)),
        ("layers and time steps", ("layer", "step", "HMS", "rho-a"), _parts(report)),
        ("categories", ("", "", "HMS", "pairs"), _categories(report)),
        ("controlling for", ("", "partial Spearman"), [(k, _number(v)) for k, v in report.controlled.items()]),
        ("other models", ("", "HMS"), [(k, _number(v)) for k, v in report.baselines.items()]),
    ]
    body = [line for title, header, rows in sections for line in _table(title, header, list(rows))]
    return "\n".join([*head, *_tests(report), *body])


def _tests(report: HmsReport) -> list[str]:
    lines = []
    test = report.permutation
    if test.p is not None:
        lines.append(f"p    {test.p:.2g} ({test.permutations:,} permutations of the stimuli, one-sided)")
    against = report.against_baseline
    if against is not None:
        difference = against.differences[report.name]
        verdict = "beats" if against.beating else "does not beat"
        lines.append(
            f"     {verdict} the best image baseline, {against.baseline} ({_number(against.baseline_hms)}), by more "
            f"than the interval of the difference: {_span(difference)}"
        )
    return lines


def _intervals(report: HmsReport) -> Iterable[tuple[str, ...]]:
    names = {
        "stimuli": "stimuli",
        "subjects": "people",
        "both": "stimuli and people",
        "subject_mean": "stimuli, mean over people",
    }
    for key, name in names.items():
        if key in report.intervals:
            found = report.intervals[key]
            yield name, _number(found.value), _number(found.low), _number(found.high)


def _ways(report: HmsReport) -> Iterable[tuple[str, ...]]:
    for name, found in report.comparators.items():
        bounds = found.ceiling
        spans = [NOTHING, NOTHING]
        if bounds is not None:
            both = ((bounds.lower, bounds.upper), (bounds.lower_raw_average, bounds.upper_raw_average))
            spans = [f"{low:.3f} to {high:.3f}" for low, high in both]
        yield COMPARATORS[name].label, _number(found.value), _number(found.subject_mean), *spans


def _people(report: HmsReport) -> Iterable[tuple[str, ...]]:
    for person, value in report.subjects.subjects.items():
        single = [row.value for row in report.subjects.sessions if row.subject == person]
        yield person, _number(value), "  ".join(map(_number, single))


def _parts(report: HmsReport) -> Iterable[tuple[str, ...]]:
    for part in report.parts:
        value = part.result.status if part.result.value is None else _number(part.result.value)
        step = "all" if part.step is None else str(part.step)
        yield part.layer or "all", step, value, _number(part.result.rho_a)


def _categories(report: HmsReport) -> Iterable[tuple[str, ...]]:
    for row in report.categories:
        if row.first == "all":
            yield "pooled", row.second, _number(row.result.value), str(row.result.n_pairs)
        else:
            other = "within" if row.first == row.second else row.second
            yield (
                row.first.replace("_", " "),
                other.replace("_", " "),
                _number(row.result.value),
                str(row.result.n_pairs),
            )


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _span(found: Interval) -> str:
    return f"{_number(found.value)} [{_number(found.low)}, {_number(found.high)}]"


def _table(title: str, header: Sequence[str], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in [tuple(header), *rows]) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [header, *rows]]
    return ["", title, *[f"  {line.rstrip()}" for line in lines]]
