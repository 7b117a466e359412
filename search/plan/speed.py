"""How fast a device trains and evaluates the networks of a search, from real steps of a few of them.

Seconds = a * time steps + b * frames + c * FLOPs, with a, b, c >= 0, fitted to what was measured: the first term is the
overhead of launching operations, the second element-wise work, the third convolutions.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from scipy.optimize import nnls

from metrics.hms import hms_from_gram
from metrics.rdm import StreamedGram
from prednet.errors import ModelError
from prednet.features import fitting_batch, static_clip_features
from prednet.model import PredNet
from prednet.train import Trainer, find_device
from search.errors import UsageError
from search.out_of_memory import ran_out_of_memory
from search.plan.trials import PlannedTrial, Work
from search.progress import Progress

Kind = Literal["training", "validation", "evaluation"]
KINDS: tuple[Kind, ...] = ("training", "validation", "evaluation")
PROBE_FRAMES = 3
REPEATS = 5
SHARES = {"training": 0.5, "validation": 0.2, "evaluation": 0.3}  # of the time that measuring may take


@dataclass(frozen=True)
class Measured:
    """One timing: what network `tid` did on the device, and its median seconds. `whole`: a batch as it is trained."""

    kind: Kind
    tid: int
    batch: int
    frames: int
    work: Work
    seconds: float
    whole: bool


@dataclass(frozen=True)
class Speed:
    """Seconds from work. `rates` are (seconds a time step, a frame, a FLOP) of each kind of work.

    `metrics_seconds` is the arithmetic of one evaluation outside of the network. `measured` is empty for a speed that
    was given by hand. `error` is the largest relative deviation of the fit from what was measured, `load` how many
    processes were running when measuring began (mean of a minute).
    """

    device: str
    threads: int
    rates: dict[Kind, tuple[float, float, float]]
    metrics_seconds: float = 0.0
    measured: tuple[Measured, ...] = ()
    error: float = 0.0
    load: float = 0.0

    @property
    def largest(self) -> list[Measured]:
        """Of each network and kind the timing that comes closest to a batch as it is trained."""
        return list({(m.kind, m.tid): m for m in self.measured}.values())

    def seconds(self, kind: Kind, work: Work) -> float:
        """How long `work` takes."""
        step, frame, flop = self.rates[kind]
        return step * work.steps + frame * work.frames + flop * work.flops


def given_speed(device: str, gflops: float) -> Speed:
    """A speed of so many GFLOP/s for everything."""
    rates: dict[Kind, tuple[float, float, float]] = dict.fromkeys(KINDS, (0.0, 0.0, 1e-9 / gflops))
    return Speed(device, 0, rates)


def measure_speed(
    trials: Sequence[PlannedTrial], device: str, threads: int, seconds: float, progress: Progress
) -> Speed:
    """Time training steps, validation losses and evaluation passes of the median, smallest, largest network, ...

    Args:
        device: as torch names it. On a CPU `threads` of torch are used.
        seconds: how long it may take, about. What would take longer as it is trained is timed with fewer sequences
            or frames.

    Raises:
        UsageError: the device is not there, or a network doesn't fit into its memory.
    """
    try:
        find_device(device)
    except ModelError as error:
        raise UsageError(f"--device {device}: {error}, or plan without measuring: --no-measure") from error
    before, load = torch.get_num_threads(), os.getloadavg()[0]
    torch.set_num_threads(threads)
    try:
        measured = _measure_networks(trials, device, seconds, progress)
        overhead = _metrics_seconds(trials[0])
    finally:
        torch.set_num_threads(before)
    rates = {kind: fit_rates([m for m in measured if m.kind == kind]) for kind in KINDS}
    speed = Speed(device, threads, rates, overhead, tuple(measured))
    deviations = [abs(speed.seconds(m.kind, m.work) / m.seconds - 1) for m in measured]
    return replace(speed, error=max(deviations), load=load)


def fit_rates(measured: Sequence[Measured]) -> tuple[float, float, float]:
    """(seconds a time step, a frame, a FLOP), none negative, of the least relative squared error."""
    rows = np.array([[m.work.steps, m.work.frames, m.work.flops] for m in measured])
    scale = rows.max(axis=0)
    seconds = np.array([m.seconds for m in measured])
    rates, _ = nnls(rows / scale / seconds[:, None], np.ones(len(seconds)))
    step, frame, flop = (float(value) for value in rates / scale)
    return step, frame, flop


def order_of_measuring(trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    """Different networks by FLOPs a frame: the median, the smallest, the largest, then the quartiles."""
    ranked = sorted(trials, key=lambda trial: (trial.training.flops / trial.training.frames, trial.tid))
    last = len(ranked) - 1
    places = [round(share * last) for share in (0.5, 0.0, 1.0, 0.25, 0.75)]
    return [ranked[place] for place in dict.fromkeys(places)]


def _measure_networks(
    trials: Sequence[PlannedTrial], device: str, seconds: float, progress: Progress
) -> list[Measured]:
    chosen = order_of_measuring(trials)
    deadline = time.perf_counter() + seconds
    measured: list[Measured] = []
    for number, trial in enumerate(chosen):
        left = deadline - time.perf_counter()
        if number >= 3 and left < seconds / 4:
            break
        progress("measuring networks", number, len(chosen))
        try:
            measured += _measure(trial, device, max(left, 0.0) / max(1, 3 - number))
        except Exception as error:
            if not ran_out_of_memory(error):
                raise
            raise UsageError(
                f"out of memory on {device} while measuring the network of trial {trial.tid} with batch size "
                f"{trial.plan.batch_size}, which needs about {trial.device_bytes / 2**30:.1f} GiB: its trial would end "
                "in ERROR. Lower batch_size, or plan without measuring: --no-measure"
            ) from error
    progress("measuring networks", len(chosen), len(chosen))
    return measured


def _measure(trial: PlannedTrial, device: str, seconds: float) -> list[Measured]:
    """The timings of one network within about `seconds`."""
    trainer = Trainer(PredNet(trial.plan.network), trial.plan.training, device)
    config, rng = trial.config, np.random.default_rng(0)
    size = (config.data.height, config.data.width)
    whole = dict.fromkeys(KINDS, (trial.plan.batch_size, config.training.nt))
    whole["evaluation"] = (fitting_batch(trainer.model, *size), config.metrics.hms.frames)

    def run(kind: Kind, batch: int, frames: int) -> Callable[[], object]:
        pixels = rng.integers(0, 256, (batch, frames, *size, 3), dtype=np.uint8)
        if kind == "training":
            return lambda: trainer.step(pixels)
        if kind == "validation":
            return lambda: trainer.loss(pixels)
        return lambda: list(static_clip_features(trainer.model, pixels[:, 0], nt=frames))

    found: list[Measured] = []
    for kind in KINDS:
        allowed = seconds * SHARES[kind]
        previous: Measured | None = None
        for batch, frames in _sizes(*whole[kind]):
            work = trial.work(batch, frames, batch, training=kind == "training")
            if previous is not None and 2 * previous.seconds * work.flops / previous.work.flops > allowed:
                break
            started = time.perf_counter()
            median = _median_seconds(run(kind, batch, frames), device, allowed / 2)
            allowed -= time.perf_counter() - started
            previous = Measured(kind, trial.tid, batch, frames, work, median, (batch, frames) == whole[kind])
            found.append(previous)
    return found


def _sizes(batch: int, frames: int) -> list[tuple[int, int]]:
    """(sequences, frames) from a first probe to a whole batch, each at most about four times the one before."""
    growing = [4**power for power in range(batch.bit_length()) if 4**power < batch]
    return list(dict.fromkeys([(1, min(PROBE_FRAMES, frames)), *((n, frames) for n in growing), (batch, frames)]))


def _median_seconds(action: Callable[[], object], device: str, allowed: float) -> float:
    """Median of at least one and at most five timings after a warm-up, those on CUDA until the device is done."""
    on_gpu = device.startswith("cuda")
    for _ in range(2 if on_gpu else 1):  # the second step of a shape captures its graph
        action()
    seconds: list[float] = []
    while not seconds or (len(seconds) < REPEATS and sum(seconds) + max(seconds) < allowed):
        started = time.perf_counter()
        action()
        if on_gpu:
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _metrics_seconds(trial: PlannedTrial) -> float:
    """Seconds of one evaluation's arithmetic outside of the network: the RDM of random features of the right size."""
    config, network, stimuli = trial.config, trial.plan.network, trial.data.stimuli
    rng = np.random.default_rng(0)
    gram = StreamedGram(stimuli)
    started = time.perf_counter()
    drawing = 0.0
    for n in range(network.n_layers):
        began = time.perf_counter()
        units = network.r_stack_sizes[n] * (config.data.height >> n) * (config.data.width >> n)
        features = rng.random((stimuli, units), dtype=np.float32)
        drawing += time.perf_counter() - began
        gram.update(features)
    streaming = (time.perf_counter() - started - drawing) * (config.metrics.hms.frames - 1)
    started = time.perf_counter()
    labels = tuple(map(str, range(stimuli)))
    hms_from_gram(gram, gram.rdm(), labels=labels, reference_labels=labels)
    return streaming + time.perf_counter() - started
