import subprocess
import sys

import pytest

from search.errors import UsageError
from search.plan.speed import Measured, fit_rates, given_speed, measure_speed, order_of_measuring
from search.plan.trials import Work, planned_trials


def silent(what, done, total):
    pass


def test_the_fit_finds_rates_that_explain_the_timings():
    true = (2e-3, 5e-4, 1e-11)
    works = [Work(10, 10, 1e9), Work(10, 40, 2e10), Work(4, 8, 5e8), Work(10, 20, 9e9)]
    measured = [
        Measured("training", 0, 1, 1, work, true[0] * work.steps + true[1] * work.frames + true[2] * work.flops, True)
        for work in works
    ]
    assert fit_rates(measured) == pytest.approx(true, rel=1e-6)


def test_rates_are_never_negative():
    falling = [Measured("training", 0, 1, 1, Work(1, 1, flops), 1e9 / flops, True) for flops in (1e9, 2e9, 4e9)]
    assert min(fit_rates(falling)) >= 0


def test_the_median_network_is_measured_first_then_the_extremes(configured, facts):
    trials = planned_trials(configured(search={"max_trials": 9}), facts)
    costs = [t.training.flops / t.training.frames for t in order_of_measuring(trials)]
    every = sorted(t.training.flops / t.training.frames for t in trials)
    assert costs[:3] == [every[4], every[0], every[-1]]


def test_real_steps_are_measured_whole_when_there_is_time(configured, facts):
    trials = planned_trials(configured(), facts)
    speed = measure_speed(trials, "cpu", 1, 20.0, silent)
    assert {m.kind for m in speed.largest} == {"training", "validation", "evaluation"}
    assert all(m.whole and m.seconds > 0 for m in speed.largest)
    assert all(speed.seconds(kind, trials[0].training) > 0 for kind in ("training", "validation", "evaluation"))
    assert speed.metrics_seconds > 0


def test_what_would_take_too_long_is_measured_with_less(configured, facts):
    trials = planned_trials(configured(), facts)
    speed = measure_speed(trials, "cpu", 1, 1e-6, silent)
    assert not any(m.whole for m in speed.largest)
    assert all((m.batch, m.frames) == (1, 3) for m in speed.measured)


def test_a_device_that_is_not_there_is_refused(configured, facts):
    with pytest.raises(UsageError, match=r"--device cuda:99.*--no-measure"):
        measure_speed(planned_trials(configured(), facts), "cuda:99", 1, 1.0, silent)


def test_a_given_speed_counts_flops_alone():
    assert given_speed("cuda", 500.0).seconds("validation", Work(10, 10, 1e12)) == pytest.approx(2.0)


OUT_OF_MEMORY = """
import resource, sys
from search.config_reader import parse_config
from search.errors import UsageError
from search.plan.data import DataFacts
from search.plan.speed import measure_speed
from search.plan.trials import planned_trials

config = parse_config({
    "search": {"name": "large", "max_trials": 1},
    "space": {"learning_rate": {"choice": [0.001]}},
    "data": {"height": 64, "width": 64},
    "network": {"channels": [3, 16]},
    "training": {"batch_size": 128, "nt": 4, "device": "cpu"},
}, source="the test")
trials = planned_trials(config, DataFacts(1, 1, 1, prepared=False, stimuli=92, object_images=100))
trials[0].device_bytes  # loads what the message needs
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 200 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    measure_speed(trials, "cpu", 1, 1e9, lambda *_: None)
except UsageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_network_that_does_not_fit_is_refused_with_its_batch_size():
    done = subprocess.run([sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, timeout=120)
    assert "out of memory on cpu while measuring the network of trial 0 with batch size 128" in done.stdout, done.stderr
    assert "GiB" in done.stdout and "--no-measure" in done.stdout
