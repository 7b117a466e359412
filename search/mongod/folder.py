"""The files of the embedded server: `RESULTS/.mongod/`, readable by their owner only."""

import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from search.errors import UsageError

NETWORK_FILESYSTEMS = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "lustre", "gpfs", "beegfs", "ceph"}
    | {"glusterfs", "panfs", "pvfs2", "orangefs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs"}
    | {"fuse.rclone", "fuse.gcsfuse", "fuse.beegfs"}
)


@dataclass(frozen=True)
class ServerState:
    """What must be known to find, check and restart the server.

    `port` is 0 before the first start; `pid` and `started` identify the process that was started last.
    """

    password: str = field(repr=False)
    replica_set: str
    port: int = 0
    pid: int = 0
    started: float = 0.0

    @property
    def address(self) -> str:
        """Host and port, as the replica set knows its member."""
        return f"127.0.0.1:{self.port}"

    @property
    def uri(self) -> str:
        """The URI of the server, with its password."""
        options = f"replicaSet={self.replica_set}&authSource=admin"
        return f"mongodb://hms:{self.password}@{self.address}/?{options}"


class ServerFolder:
    """Names and contents of the files; callers hold the lock file while they read or write."""

    def __init__(self, results: Path) -> None:
        self.root = results.expanduser().absolute() / ".mongod"
        self.data = self.root / "data"
        self.lock = self.root / "lock"
        self.users = self.root / "users.json"
        self.state = self.root / "server.json"
        self.uri = self.root / "uri"
        self.key = self.root / "keyfile"
        self.log = self.root / "mongod.log"

    def prepare(self) -> None:
        """Make the folder; refuse a network file system, on which MongoDB's files are not safe."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.root.chmod(0o700)  # mongod's own log in it is readable by all
        mounts = Path("/proc/mounts")
        kind = network_filesystem(self.root, mounts.read_text()) if mounts.exists() else None
        if kind:
            raise UsageError(
                f"{self.root} lies on a network file system ({kind}), where MongoDB can lose data. Put the results on "
                "a local disk: export HMS_RESULTS=/local/folder; or use a server that runs elsewhere: --mongo URI"
            )

    def read_state(self) -> ServerState:
        """The stored state; a fresh one, with a random password, for a folder that holds no data yet."""
        if self.state.exists():
            return ServerState(**json.loads(self.state.read_text()))
        if self.data.exists() and any(self.data.iterdir()):
            raise UsageError(
                f"{self.data} holds a database, but {self.state}, with its password, is gone. Restore that file; or, "
                f"if the trials are not needed, move the folder away: mv {self.root} {self.root}.old"
            )
        state = ServerState(secrets.token_urlsafe(24), f"hms-{secrets.token_hex(4)}")
        write_private(self.key, secrets.token_hex(256))
        self.write_state(state)
        return state

    def write_state(self, state: ServerState) -> None:
        """Replace the stored state."""
        write_private(self.state, json.dumps(asdict(state), indent=1))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, then rename it into place."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def network_filesystem(path: Path, mounts: str) -> str | None:
    """The type of the network file system that holds `path`, by the text of /proc/mounts; None for a local one."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split()
        point = Path(fields[1].replace("\\040", " "))
        # Later lines cover earlier ones at the same mount point.
        if path.resolve().is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind if kind in NETWORK_FILESYSTEMS else None
