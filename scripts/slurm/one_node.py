"""A real Slurm of one node, for tests and for trying things out: munged, slurmctld and slurmd in a folder of their own.

    python scripts/slurm/one_node.py FOLDER [--cpus 6]

It prints `export SLURM_CONF=...` when jobs can be submitted, runs until Ctrl-C, SIGTERM or the end of the process that
started it, and then takes everything down. It needs `apt-get install slurm-wlm munge`; exit code 2 and one line say why
it cannot run here. The node claims more cores than the machine may have, and two GPUs that are none (two device files
stand in), so that requests and CUDA_VISIBLE_DEVICES can be tried without hardware. Jobs of the partition `high` are
urgent to those of `low`, which get SIGTERM, then 10 s, and go back into the queue.
"""

import argparse
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
START_SECONDS = 30.0
CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=15
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 Gres=gpu:2
PartitionName=low Nodes={host} Default=YES PriorityTier=1 GraceTime=10 PreemptMode=REQUEUE
PartitionName=high Nodes={host} PriorityTier=10 PreemptMode=OFF
"""
# Character devices that every machine has: Slurm checks that a GPU's file is one, and never opens it here.
GPUS = "Name=gpu File=/dev/zero\nName=gpu File=/dev/full\n"


class CannotRun(Exception):
    """Why this machine runs no Slurm."""


def prepare(folder: Path, cpus: int) -> None:
    """Write configuration and munge key."""
    for part in (folder, folder / "state", folder / "spool"):
        part.mkdir(parents=True, exist_ok=True)
        part.chmod(0o755)
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(128))
    text = CONFIGURATION.format(
        folder=folder,
        host=socket.gethostname().partition(".")[0],
        user=getpass.getuser(),
        controller_port=free_port(),
        node_port=free_port(),
        cpus=cpus,
    )
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(GPUS)


def start(folder: Path) -> None:
    """Start the three daemons and wait until the node takes jobs.

    Raises:
        CannotRun: with the daemon's own words.
    """
    found = {name: shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") for name in DAEMONS}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise CannotRun(f"{', '.join(missing)} not found: apt-get install slurm-wlm munge")
    configuration = ["-f", str(folder / "slurm.conf")]
    munge = [f"--{key}={folder}/munge.{key.split('-')[0]}" for key in ("socket", "key-file", "seed-file", "log-file")]
    options = {
        "munged": ["--force", f"--pid-file={folder}/munged.pid", *munge],
        "slurmctld": [*configuration, "-c"],
        "slurmd": configuration,
    }
    for name in DAEMONS:
        done = subprocess.run([found[name] or name, *options[name]], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(f"{name} does not start: {done.stderr.strip() or last_line(folder / f'{name}.log')}")
    deadline = time.monotonic() + START_SECONDS
    while (state := slurm(folder, "sinfo", "--noheader", "--partition=low", "--format=%T")) != "idle":
        if time.monotonic() > deadline:
            words = last_line(folder / "slurmd.log")
            raise CannotRun(f"the node is {state or 'unknown'} after {START_SECONDS:g} s; slurmd: {words}")
        time.sleep(0.1)


def stop(folder: Path) -> None:
    """Kill all jobs, then the daemons by their pid files."""
    slurm(folder, "scancel", "--signal=KILL", "--full", f"--user={os.getuid()}")
    slurm(folder, "scancel", f"--user={os.getuid()}")
    deadline = time.monotonic() + 20
    while slurm(folder, "squeue", "--noheader") and time.monotonic() < deadline:
        time.sleep(0.2)
    pids = []
    for name in reversed(DAEMONS):
        try:
            pids.append(int((folder / f"{name}.pid").read_text()))
            os.kill(pids[-1], signal.SIGTERM)
        except (OSError, ValueError):
            continue
    while any(runs(pid) for pid in pids) and time.monotonic() < deadline + 10:
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether the process lives; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def slurm(folder: Path, *command: str) -> str:
    """What a Slurm command prints; nothing when it fails."""
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.stdout.strip()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def last_line(log: Path) -> str:
    """The end of a daemon's log."""
    return (log.read_text(errors="replace").strip().splitlines() or [""])[-1] if log.exists() else "no log"


def main() -> None:
    """Run one until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cpus", type=int, default=6)
    given = parser.parse_args()
    folder, parent = given.folder.absolute(), os.getppid()
    told = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: told.append(True))
    try:
        prepare(folder, given.cpus)
        start(folder)
        print(f"export SLURM_CONF={folder}/slurm.conf", flush=True)
        while not told and os.getppid() == parent:
            time.sleep(0.2)
    except CannotRun as error:
        print(f"no Slurm here: {error}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None
    finally:
        stop(folder)


if __name__ == "__main__":
    main()
