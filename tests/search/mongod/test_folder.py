import stat
from pathlib import Path

import pytest

from search.errors import UsageError
from search.mongod.folder import ServerFolder, network_filesystem, write_private

MOUNTS = """/dev/vda / ext4 rw 0 0
filer:/home /home nfs4 rw 0 0
/dev/sdb /home/local xfs rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
me@host: /remote fuse.sshfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/results", "nfs4"),
        ("/home/local/results", None),
        ("/mnt/my share/x", "cifs"),
        ("/remote", "fuse.sshfs"),
        ("/remotely", None),
        ("/srv", None),
    ],
)
def test_network_file_systems_are_known(path: str, kind: str | None) -> None:
    assert network_filesystem(Path(path), MOUNTS) == kind


def test_the_files_are_private_and_replaced_whole(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    folder.prepare()
    state = folder.read_state()
    assert len(state.password) >= 32 and state.password != ServerFolder(tmp_path / "b").root
    for path in (folder.state, folder.key):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700
    assert folder.read_state() == state
    write_private(folder.uri, "first")
    write_private(folder.uri, "second")
    assert folder.uri.read_text() == "second"
    assert sorted(path.name for path in folder.root.iterdir()) == ["keyfile", "server.json", "uri"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_private(path, "whole")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


def test_data_without_their_password_are_never_overwritten(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path)
    folder.data.mkdir(parents=True)
    (folder.data / "WiredTiger").write_text("data")
    with pytest.raises(UsageError, match=r"server\.json, with its password, is gone.*mv "):
        folder.read_state()
    assert (folder.data / "WiredTiger").read_text() == "data"
