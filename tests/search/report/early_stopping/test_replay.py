import html
import re
import time

import numpy as np
import pytest

from search.report import analyse
from search.report.drawings import drawings
from search.report.early_stopping.replay import early_stopping, replayed_settings
from search.report.exports import export_tables
from search.report.page import render

FIGURES = {f"early_stopping_{name}" for name in ("saved", "budget", "thresholds", "networks")}


def walks(count: int, *, last: int = 100, seed: int = 0) -> list[dict]:
    """Networks whose metrics rise, with noise, to an end of their own."""
    rng, networks = np.random.default_rng(seed), []
    for _ in range(count):
        epochs = range(0, 5 * int(rng.integers(2, last // 5 + 1)) + 1, 5)
        skill, grown = rng.uniform(0, 0.2), [1 - np.exp(-e / 20) for e in epochs]
        hms = {e: float(skill * g + rng.normal(0, 0.006)) for e, g in zip(epochs, grown, strict=True)}
        accuracy = {e: float(2 * skill * g + rng.normal(0, 0.02)) for e, g in zip(epochs, grown, strict=True)}
        mse = {e: float(0.1 - 0.4 * skill * g + rng.normal(0, 0.001)) for e, g in zip(epochs, grown, strict=True)}
        networks.append({"hms": hms, "mse": mse, "accuracy": accuracy})
    return networks


def section(analysis) -> str:
    """The text of the page's section, without tags."""
    page = render(analysis, [])
    found = re.search(r'<section id="early_stopping">(.*?)</section>', page, re.S)
    assert found
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found.group(1))).split())


def test_rules_and_controls_on_a_whole_search(written, tmp_path) -> None:
    tables = written(walks(40))
    early = early_stopping(tables)
    own = early.rules[early.rules["target"] == "hms"]
    rules = own[own["kind"] == "rule"]
    assert rules["rule"].tolist() == ["none", *["stability"] * 3, *["threshold"] * 3, "median", "asha", "asha"]
    assert rules["metric"].tolist()[:4] == ["", "hms", "mse", "accuracy"]
    controls = own[own["kind"] == "control"].groupby("control_of")["rule"].apply(list)
    assert set(controls.index) == set(rules["label"]) - {"no stopping"}
    assert all(found == ["fixed_epoch", "random"] for found in controls)
    assert set(early.rules["target"]) == {"hms", "mse", "accuracy"}
    fixed = own[own["rule"] == "fixed_epoch"].set_index("control_of")["time_share"]
    for label, saved in rules.set_index("label")["time_share"].drop("no stopping").items():
        assert fixed[label] == pytest.approx(saved, abs=0.06)  # as near as a step of evaluation comes
    written_tables = {path.stem for path in export_tables(analyse(tables), tmp_path)}
    names = {"early_stopping_rules", "early_stopping_thresholds", "early_stopping_budget", "early_stopping_sensitivity"}
    assert names | {"stability_holds", "stabilisation"} <= written_tables
    for name in names | {"stability_holds"}:
        assert {"n", "method"} <= set(early.tables[name].columns)


def test_equal_tables_give_equal_numbers(written) -> None:
    tables = written(walks(30))
    first, second = early_stopping(tables), early_stopping(tables)
    for name, table in first.tables.items():
        assert table.equals(second.tables[name]), name


@pytest.mark.parametrize(
    ("networks", "options", "sentence", "drawn"),
    [
        (walks(40), {}, "All 40 finished networks were trained to their own end and can be replayed.", FIGURES),
        (walks(9), {}, "Illustrative: 9 networks are fewer than 30.", FIGURES),
        ([], {}, "No network has finished yet: there is nothing to replay.", set()),
        ([{}], {}, "No network has finished yet", set()),
        ([{"hms": {0: 0.1, 5: "diverged"}}] * 3, {}, "All 3 finished networks", set()),
        (walks(4), {"seconds": {2: None}}, "1 network has no measured time", FIGURES),
        (walks(4), {"seconds": dict.fromkeys(range(4))}, "Epochs saved", FIGURES),
        ([{"hms": {0: 0.1, 5: 0.2}}], {}, "Too short", {"early_stopping_networks"}),
    ],
)
def test_the_section_says_what_can_be_replayed(written, networks, options, sentence, drawn) -> None:
    analysis = analyse(written(networks, **options))
    assert sentence in section(analysis)
    found = {drawing.name: drawing for drawing in drawings(analysis) if drawing.name.startswith("early_stopping")}
    assert drawn <= set(found)
    for drawing in found.values():
        assert drawing.interactive(drawing.data)["data"]
        assert drawing.printed(drawing.data).axes


def test_a_search_that_its_own_rule_cut_short_is_not_replayed(written) -> None:
    cut = dict.fromkeys(range(5), "hms_stable")
    analysis = analyse(written(walks(40), finish=cut, planned=dict.fromkeys(range(5), 200)))
    text = section(analysis)
    assert "35 of 40 finished networks were trained to their own end." in text
    assert "so a replay is not possible for those." in text
    assert "stopping.rule=none" in text
    assert analysis.early_stopping.rules.empty and not analysis.early_stopping.possible
    assert len(analysis.early_stopping.stabilisation) == 120  # when each was stable is known all the same


def test_few_runs_cut_short_are_named_and_left_out(written) -> None:
    cut = dict.fromkeys(range(3), "hms_stable")
    analysis = analyse(written(walks(40), finish=cut, planned=dict.fromkeys(range(3), 200)))
    assert "The 3 networks that the search's own rule ended are missing here: a truncated sample." in section(analysis)
    assert set(analysis.early_stopping.rules["n"]) == {37}


def test_the_papers_numbers_stand_beside_a_random_sample_only(written) -> None:
    for algorithm, shown in (("rand", True), ("tpe", False)):
        text = section(analyse(written(walks(40), record={"algorithm": algorithm})))
        assert ("Paper, HMS stable different data 67 %" in text) is shown
        assert ("66.5 (36)" in text) is shown


def test_the_settings_are_the_searchs_own(written) -> None:
    own = written([], record={"stopping": {"rule": "none", "window": 50, "tolerance": 0.02, "ddof": 1, "unknown": 3}})
    settings = replayed_settings(own, 5)
    assert (settings.window, settings.tolerance, settings.ddof, settings.metric) == (50, 0.02, 1, "hms")
    assert replayed_settings(written([], record={"stopping": {}}), 4).window == 20  # six evaluations


def test_another_guide_is_what_networks_are_judged_by(written) -> None:
    record = {"config": {"metrics": {"every": 5}, "search": {"guide": "mse"}}}
    analysis = analyse(written(walks(30), record=record))
    early = analysis.early_stopping
    drawn = next(drawing.data for drawing in drawings(analysis) if drawing.name == "early_stopping_budget")
    assert drawn.banded == {"no stopping", "MSE stable"} <= {label for label, _, _ in drawn.lines}
    assert early.guide == "mse"
    assert set(early.budget["target"]) == {"mse"}
    assert early.budget.loc[early.budget["rule"] == "none", "best"].is_monotonic_decreasing


def test_two_thousand_networks_of_thirty_evaluations_take_seconds(written) -> None:
    rng = np.random.default_rng(0)
    curves = np.cumsum(rng.normal(0, 0.008, (2000, 3, 30)), axis=2).tolist()
    names, epochs = ("hms", "mse", "accuracy"), range(0, 150, 5)
    networks = [
        {name: dict(zip(epochs, curve, strict=True)) for name, curve in zip(names, walk, strict=True)}
        for walk in curves
    ]
    tables = written(networks)
    started = time.process_time()
    early = early_stopping(tables)
    assert time.process_time() - started < 5
    assert early.usable.n == 2000
