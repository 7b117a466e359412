import subprocess
import sys
import time

from search.logs import rotate, tail

WRITER = """
import os, time
number = 0
while os.getppid() != 1:
    print(f"line {number}", flush=True)
    number += 1
    time.sleep(0.001)
"""


def grown(log, size):
    deadline = time.monotonic() + 20
    while log.stat().st_size <= size:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_small_log_stays(tmp_path):
    log = tmp_path / "worker-0.log"
    rotate(log)
    log.write_text("a line\n")
    rotate(log)
    assert [path.name for path in tmp_path.iterdir()] == ["worker-0.log"]


def test_a_log_rotates_under_its_writer_and_the_oldest_goes(tmp_path):
    log = tmp_path / "worker-0.log"
    with log.open("ab") as file:
        writer = subprocess.Popen([sys.executable, "-c", WRITER], stdout=file)
    try:
        for _ in range(5):
            grown(log, 1000)
            rotate(log, limit=1000)
            assert log.stat().st_size < 1000
        grown(log, 100)
    finally:
        writer.kill()
        writer.wait()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"worker-0.log", "worker-0.log.1", "worker-0.log.2", "worker-0.log.3"}
    ages = [log, *(tmp_path / f"worker-0.log.{number}" for number in (1, 2, 3))]
    firsts = [int(path.read_text().splitlines()[1].removeprefix("line ")) for path in ages]
    assert firsts == sorted(firsts, reverse=True)
    assert b"\0" not in log.read_bytes()


def test_the_tail_of_a_log(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * 3_000_000 + b"\n" + b"\xff\n" + b"last\n")
    assert tail(log, 2) == ["\ufffd", "last"]
    assert tail(log, 0) == []
    assert len(tail(log, 100)) == 3
