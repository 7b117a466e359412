"""Ctrl-C before there is anything to report: said, with the command that continues; nothing is left in the way."""

import signal

import yaml


def test_while_data_are_prepared(hms, tmp_path, until):
    hms.environment["HMS_DATA"] = str(tmp_path / "data")
    config = yaml.safe_load(hms.config.read_text())
    config["training"] = {"learner": "prednet", "device": "cpu", "nt": 4}
    config["data"] = {"dataset": "demo", "height": 128, "width": 160}
    config["network"] = {"channels": [3, 4]}
    hms.config.write_text(yaml.safe_dump(config))
    process = hms.start("run", str(hms.config), "--workers", "1")
    until(lambda: list((tmp_path / "data" / "video").glob("*/.building/journal.jsonl")))
    process.send_signal(signal.SIGINT)
    done = hms.wait(process)
    assert done.code == 130 and "Traceback" not in done.err, done.err
    command = f"hms run {hms.config} --name toy"
    assert done.lines[-1] == f"interrupted; continue with: {command}"
    until(lambda: not hms.processes())

    hms.config.write_text(yaml.safe_dump(config | {"data": {"dataset": "demo", "height": 24, "width": 32}}))
    other = hms("run", str(hms.config), "--workers", "1")
    assert other.code == 2 and "data.height: 128 -> 24" in other.err  # the search is there, and no driver is in the way


def test_before_a_trial_has_ended_there_is_no_report(hms, until):
    slow = ("--workers", "1", "--set", "training.toy_seconds=1")
    process = hms.start("run", str(hms.config), *slow)
    until(lambda: "1 RUNNING" in hms("status", "toy").out)
    process.send_signal(signal.SIGINT)
    done = hms.wait(process)
    assert done.code == 130, done.err
    assert "interrupted; continue with: hms run" in done.lines[-1] and "report.html" not in done.out
    assert not list(hms.results.rglob("report.html"))
