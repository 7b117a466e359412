"""From the tables and weights of a search to a study that builds."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from prednet.checkpoint import save_checkpoint
from prednet.config import PredNetConfig
from prednet.model import PredNet
from psychophysics.config_reader import load_study
from psychophysics.errors import StudyError
from psychophysics.from_search import draw_units, study_from_search, write_study
from psychophysics.networks import open_network
from psychophysics.units import Unit, choose_units
from search.cli import app
from search.errors import HmsError

FIXED = Path(__file__).parents[1] / "search" / "report" / "fixed"


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """A results folder with the small fixed search, whose finished trials have real networks."""
    folder = tmp_path / "results"
    shutil.copytree(FIXED, folder / "fixed" / "tables")
    trials = pd.read_csv(FIXED / "trials.csv")
    for tid in trials.loc[trials["state"] == "DONE", "tid"]:
        model = PredNet(PredNetConfig(stack_sizes=(3, 4, 6), r_stack_sizes=(3, 5, 6)), seed=int(tid))
        facts = {"config": model.config.to_dict(), "model": model.state_dict()}
        save_checkpoint(folder / "fixed" / "trials" / f"{tid:06d}" / "network.pt", facts)
    monkeypatch.setenv("HMS_RESULTS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_study_that_is_written_is_valid_and_holds_the_networks(results, tmp_path) -> None:
    made = study_from_search(results, "fixed", 6, 5, "photographs", "understood")
    write_study(made, tmp_path / "study.yaml")
    config = load_study(tmp_path / "study.yaml")
    assert config == made.config and config.study.search == "fixed"
    trials = pd.read_csv(FIXED / "trials.csv").set_index("tid")
    assert len(config.networks) == 6 and config.trials.main == 30 and made.participants == 100
    for section in config.networks:
        tid = int(section.name.removeprefix("trial-"))
        assert section.source == f"results/fixed/trials/{tid:06d}/network.pt"
        assert (section.hms, section.mse) == (trials.loc[tid, "hms"], trials.loc[tid, "mse"])
        network = open_network(section)
        assert (network.height, network.width) == (64, 80)
        units = choose_units(section.units, network.layers, seed=0, network=section.name)
        assert [unit.layer for unit in units] == ["R1"] * 2 + ["R2"] * 3
    hms = [section.hms for section in config.networks]
    assert hms == sorted(hms) and hms[-1] == trials.loc[trials["state"] == "DONE", "hms"].max()
    assert config.exclusions.total_seconds == (150, 1500)  # 30 trials in place of 18
    with pytest.raises(StudyError, match=r"study\.yaml is there already"):
        write_study(made, tmp_path / "study.yaml")


def test_units_are_drawn_evenly_over_the_layers_above_the_pixels() -> None:
    layers = {"R0": 3, "R1": 48, "R2": 96, "R3": 192}
    drawn = draw_units(layers, 7, seed=4, network="net")
    assert [unit.layer for unit in drawn] == ["R1", "R1", "R2", "R2", "R3", "R3", "R3"] and len(set(drawn)) == 7
    assert drawn == draw_units(layers, 7, seed=4, network="net") != draw_units(layers, 7, seed=5, network="net")
    assert [unit.layer for unit in draw_units(layers, 2, seed=4, network="net")] == ["R2", "R3"]
    assert draw_units({"R0": 3}, 3, seed=0, network="net") == [Unit("R0", channel) for channel in range(3)]
    with pytest.raises(StudyError, match=r"layer `R1` has 2 channels.*per_layer is 3"):
        draw_units({"R0": 3, "R1": 2}, 3, seed=0, network="net")


def invoke(*words: str):
    """Runs `hms study from-search`."""
    return CliRunner().invoke(app, ["study", "from-search", *words], env={"COLUMNS": "200"})


def test_the_command_says_number_and_power_before_it_writes(results, tmp_path) -> None:
    done = invoke("fixed", "--networks", "6", "--spread", "hms", "--units", "6")
    assert done.exit_code == 0, done.output
    out = " ".join(done.output.split())
    places = [out.index(text) for text in ("n = 6 networks", "MSE 0.0", "Power of Spearman's", "study-fixed.yaml: 6")]
    assert places == sorted(places)
    powers = [float(text) for text in re.findall(r"│ (0\.\d{3}) │", out)]
    assert len(powers) == 3 and powers == sorted(powers)
    assert load_study(tmp_path / "study-fixed.yaml").study.name == "study-fixed"


def test_fewer_than_six_networks_cannot_answer_and_the_command_says_so(results, tmp_path) -> None:
    done = invoke("fixed", "--networks", "5", "--units", "2", "--out", "few.yaml")
    assert done.exit_code == 0, done.output
    assert "5 networks: the question cannot be answered with fewer than 6." in done.output
    assert "Power" not in done.output
    assert len(load_study(tmp_path / "few.yaml").networks) == 5


def test_mistakes_are_told(results) -> None:
    for words, told in (
        (["fixd"], "did you mean `fixed`?"),
        (["fixed", "--networks", "40"], "40 networks are asked for, but of"),
        (["fixed", "--units", "40"], "has 5 channels"),
    ):
        done = invoke(*words)
        assert done.exit_code and isinstance(done.exception, HmsError) and told in str(done.exception)
