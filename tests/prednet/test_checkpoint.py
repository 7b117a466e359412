import hashlib
import pickle
import shutil

import pytest
import torch

from prednet.checkpoint import load_checkpoint, load_network, save_checkpoint
from prednet.errors import CheckpointDamaged, CheckpointError
from prednet.train import TrainConfig, Trainer


@pytest.fixture
def saved(tmp_path, small_model):
    """(path, sha256) of a checkpoint of a trainer."""
    path = tmp_path / "deep" / "last.pt"
    return path, save_checkpoint(path, {"trainer": Trainer(small_model, TrainConfig()).state_dict(), "epoch": 5})


def test_the_digest_is_that_of_the_file_and_nothing_else_is_left(saved):
    path, digest = saved
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    assert [entry.name for entry in path.parent.iterdir()] == ["last.pt"]


def test_payload_comes_back(saved):
    path, digest = saved
    payload = load_checkpoint(path, digest)
    assert payload["epoch"] == 5
    assert payload["trainer"]["train_config"]["learning_rate"] == 1e-3


def test_a_network_comes_back_as_it_was(saved, small_model):
    loaded = load_network(saved[0])
    assert loaded.config == small_model.config
    for name, weight in small_model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])


def test_random_state_is_restored_only_when_asked(tmp_path):
    path = tmp_path / "a.pt"
    torch.manual_seed(11)
    save_checkpoint(path, {})
    expected = torch.rand(3)
    state = torch.get_rng_state()
    load_checkpoint(path)
    assert torch.equal(torch.get_rng_state(), state)
    load_checkpoint(path, restore_rng=True)
    assert torch.equal(torch.rand(3), expected)


def test_a_failed_write_keeps_the_old_file(saved):
    path, digest = saved
    with pytest.raises((CheckpointError, AttributeError, pickle.PicklingError)):
        save_checkpoint(path, {"function": lambda: 0})
    assert load_checkpoint(path, digest)["epoch"] == 5
    assert [entry.name for entry in path.parent.iterdir()] == ["last.pt"]


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"can't write the checkpoint .*another folder"):
        save_checkpoint(tmp_path / "file" / "last.pt", {})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_checkpoint(tmp_path / "none.pt")


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_torn_file_is_refused(saved, kept):
    path, _ = saved
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(CheckpointError, match="torn or no checkpoint"):
        load_checkpoint(path)


def test_a_flipped_bit_is_refused_with_and_without_the_digest(saved):
    path, digest = saved
    content = bytearray(path.read_bytes())
    weight = load_checkpoint(path)["trainer"]["model"]["gates.1.weight"].numpy().tobytes()
    content[content.find(weight) + 10] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="was altered"):
        load_checkpoint(path, digest)
    with pytest.raises(CheckpointError, match="wrong checksum"):
        load_checkpoint(path)


def test_only_what_nobody_can_ever_read_is_called_damaged(saved, tmp_path):
    path, digest = saved
    shutil.copyfile(path, tmp_path / "newer.pt")
    torch.save({**torch.load(path, weights_only=True), "version": 99}, tmp_path / "newer.pt")
    (tmp_path / "loop.pt").symlink_to(tmp_path / "loop.pt")  # an error of the system that root gets too
    (tmp_path / "whole.pt").write_bytes(b"of a newer torch")
    whole = hashlib.sha256(b"of a newer torch").hexdigest()
    for name, sha256, words in (
        ("newer", None, "version 99"),
        ("loop", digest, "symbolic"),
        ("whole", whole, "torn or"),
    ):
        with pytest.raises(CheckpointError, match=words) as raised:
            load_checkpoint(tmp_path / f"{name}.pt", sha256)
        assert not isinstance(raised.value, CheckpointDamaged), name
    (tmp_path / "torn.pt").write_bytes(path.read_bytes()[:-50])
    for name, sha256 in (("none", None), ("none", digest), ("torn", None), ("torn", digest), ("newer", digest)):
        with pytest.raises(CheckpointDamaged):
            load_checkpoint(tmp_path / f"{name}.pt", sha256)


def test_code_in_a_file_is_not_run(tmp_path):
    class Payload:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    torch.save({"format": "hms-checkpoint", "version": 1, "payload": Payload()}, tmp_path / "evil.pt")
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "evil.pt")
    assert not (tmp_path / "ran").exists()


def test_other_files_and_versions_are_refused(tmp_path):
    torch.save({"weights": torch.zeros(2)}, tmp_path / "other.pt")
    with pytest.raises(CheckpointError, match="no checkpoint of this program"):
        load_checkpoint(tmp_path / "other.pt")
    torch.save({"format": "hms-checkpoint", "version": 99, "payload": {}}, tmp_path / "newer.pt")
    with pytest.raises(CheckpointError, match="version 99"):
        load_checkpoint(tmp_path / "newer.pt")
    save_checkpoint(tmp_path / "empty.pt", {"epoch": 1})
    with pytest.raises(CheckpointError, match="holds no network"):
        load_network(tmp_path / "empty.pt")
