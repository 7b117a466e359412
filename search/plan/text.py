"""What `hms plan` prints: tables on a terminal, plain aligned lines elsewhere."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from search.plan.estimate import LARGEST_SHARE, PERCENTILES, SearchPlan, wall_seconds
from search.watch import say_line


def print_plan(console: Console, plan: SearchPlan) -> None:
    """The plan in two tables and the sentences without which they would mislead."""
    for line in _opening(plan):
        say_line(console, line)
    _table(console, "each network", ("", "min", "median", "95 %", "max", "all"), _distributions(plan))
    for line in _about_speed(plan):
        say_line(console, line)
    title = f"the search, {plan.slots} at a time"
    header = ("", "epochs", "FLOPs", "device time", "wall time", "saved")
    _table(console, title, header, _scenario_rows(plan))
    for line in _closing(plan):
        say_line(console, line)


def _opening(plan: SearchPlan) -> list[str]:
    config = plan.config
    networks = len({tuple(sorted(trial.params.items())) for trial in plan.trials})
    points = "exactly the points that the driver will propose"
    if config.search.algorithm != "rand":
        points = f"points of the prior: {config.search.algorithm} begins there and then depends on results"
    lines = [f"`{config.search.name}`: {len(plan.trials)} trials, {networks} different points; {points}"]
    if not plan.data.prepared:
        lines.append(
            f"the video `{config.data.dataset}` is not prepared here: KITTI's {plan.data.val_windows} validation "
            f"windows are assumed ({plan.data.mse_windows} disjoint ones for the MSE), whatever val_sequences asks for"
        )
    if not plan.data.stimuli_prepared:
        stimuli = config.metrics.hms.stimuli
        lines.append(f"the stimuli `{stimuli}` are not prepared here: {plan.data.stimuli} are assumed")
    if config.metrics.also:
        lines.append(
            f"not counted: what {', '.join(config.metrics.also)} (metrics.also) takes at each evaluation, which is not "
            "known before a search runs: afterwards the report's section on time has it"
        )
    return lines


def _distributions(plan: SearchPlan) -> list[tuple[str, ...]]:
    trials, sequences = plan.trials, [trial.plan.train_sequences for trial in plan.trials]
    per_sequence = [t.training.flops / count for t, count in zip(trials, sequences, strict=True)]
    rows = [
        _row("parameters", [t.parameters for t in trials], COUNT, total=False),
        _row("planned epochs", [t.plan.epochs for t in trials], WHOLE),
        _row("training, a sequence", per_sequence, FLOP, total=False),
    ]
    for part in ("training", "validation", "evaluation"):
        rows.append(_row(part, [t.flops[part] for t in trials], FLOP))
    rows += [
        _row("a whole trial", [sum(t.flops.values()) for t in trials], FLOP),
        _row("memory of a device slot", [t.device_bytes for t in trials], BYTES, total=False),
        _row("disk while it runs", [t.running_disk_bytes for t in trials], BYTES, total=False),
        _row("disk when finished", [t.finished_disk_bytes for t in trials], BYTES),
    ]
    if plan.speed is not None:
        rows.append(_row("time without the stopping rule", plan.seconds(plan.scenarios[0]), TIME))
    return rows


BUSY = 0.5  # processes
Unit = tuple[tuple[float, str], ...]
WHOLE: Unit = ((1, ""),)
COUNT: Unit = ((1e6, "M"), (1e3, "k"), (1, ""))
FLOP: Unit = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"))
BYTES: Unit = ((2**30, "GiB"), (2**20, "MiB"))
TIME: Unit = ((3600, "h"), (60, "min"), (1, "s"))


def _row(name: str, values: Sequence[float], units: Unit, *, total: bool = True) -> tuple[str, ...]:
    """Minimum, median, 95th percentile, maximum and sum."""
    cells = [_shown(value, units) for value in np.percentile(np.array(values, float), [0, 50, 95, 100])]
    return (name, *cells, _shown(float(sum(values)), units) if total else "")


def _shown(value: float, units: Unit) -> str:
    """Three digits and the unit that makes them readable."""
    scale, unit = next((pair for pair in units if value >= pair[0]), units[-1])
    scaled = value / scale
    digits = 0 if units is WHOLE or scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:,.{digits}f} {unit}".rstrip()


def _about_speed(plan: SearchPlan) -> list[str]:
    speed, config = plan.speed, plan.config
    if speed is None:
        return ["no speed was measured: pass --gflops N, or leave --no-measure out, for hours"]
    if not speed.measured:
        return [f"hours: {1e-9 / speed.rates['training'][2]:g} GFLOP/s, as given by --gflops"]
    steps = [m for m in speed.largest if m.kind == "training"]
    rate = sum(m.work.flops for m in steps) / sum(m.seconds for m in steps) / 1e9
    part = "" if all(m.whole for m in speed.largest) else ", in part with fewer sequences or frames than they train on"
    networks = sorted({m.tid for m in speed.measured})
    lines = [
        f"hours: measured on {speed.device} ({speed.threads} threads) with the networks of trials "
        f"{', '.join(map(str, networks))}{part}: {rate:.0f} GFLOP/s in training; the fit is off by "
        f"{100 * speed.error:.0f} % at most"
    ]
    if speed.load > BUSY:
        lines.append(f"other programs were running (load average {speed.load:.1f}): on a quiet machine it takes less")
    if config.training.device == "cuda" and speed.device == "cpu":
        lines.append(
            "the search trains on cuda and no GPU was measured: these are hours of this CPU. Run `hms plan` on the "
            "GPU's machine, or pass --gflops with what it reaches"
        )
    elif plan.slots > 1:
        lines.append("one trial ran alone while measuring; trials side by side slow each other down")
    return lines


def _scenario_rows(plan: SearchPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    whole, flops_whole = sum(plan.seconds(plan.scenarios[0])), _flops(plan, plan.scenarios[0].epochs)
    for scenario in plan.scenarios:
        seconds, flops = plan.seconds(scenario), _flops(plan, scenario.epochs)
        times = (_shown(sum(seconds), TIME), _shown(wall_seconds(seconds, plan.slots), TIME)) if seconds else ("", "")
        saved = 1 - (sum(seconds) / whole if seconds else flops / flops_whole)
        rows.append((scenario.name, f"{sum(scenario.epochs):,}", _shown(flops, FLOP), *times, f"{saved:.0%}"))
    return rows


def _flops(plan: SearchPlan, epochs: Sequence[int]) -> float:
    return sum(
        (trial.training.flops + trial.validation.flops) * count
        + trial.evaluation.flops * trial.evaluations(count)
        + trial.conclusion.flops
        for trial, count in zip(plan.trials, epochs, strict=True)
    )


def _closing(plan: SearchPlan) -> list[str]:
    lines = [f"{scenario.name}: {scenario.source}" for scenario in plan.scenarios[1:]]
    if plan.config.stopping.rule != "none" and not any(s.replayed for s in plan.scenarios):
        lines.append("what the rule saves is not known before it runs: --like NAME replays it on an earlier search")
    lines.append(
        "memory counts tensors: a process with torch takes 0.3 GiB more, the workspaces of its convolutions up to 0.25"
    )
    lines.append(f"disk at most: {_shown(plan.disk_bytes, BYTES)} of trials' files")
    if plan.speed is not None:
        low, middle, high = np.percentile(plan.shares, PERCENTILES)
        lines.append(
            f"evaluation every {plan.config.metrics.every} epochs takes {middle:.0%} of the median trial's time "
            f"({PERCENTILES[0]} % of trials below {low:.0%}, {PERCENTILES[2]} % below {high:.0%})"
        )
        if plan.advised_every is not None:
            lines.append(
                f"for {LARGEST_SHARE:.0%} or less: --set metrics.every={plan.advised_every} (stopping.window, "
                f"{plan.config.stopping.window} now, must be a multiple of it), or fewer images in metrics.matching"
            )
    return lines


def _table(console: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if console.is_terminal:
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(header):
            table.add_column(name, justify="right" if number else "left", no_wrap=number > 0)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    lines = [(title, *header[1:]), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = [
            cell.ljust(width) if not n else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        say_line(console, "  ".join(cells).rstrip())
