"""What a person does wrong: each mistake gets one clear message, the next command, and its exit code."""

import pytest


def refused(done, code, *words):
    assert done.code == code, (done.out, done.err)
    assert "Traceback" not in done.err + done.out
    for word in words:
        assert word in done.err, done.err


def test_a_typo_in_the_yaml(hms):
    hms.config.write_text(hms.config.read_text().replace("learning_rate", "leraning_rate"))
    refused(hms("run", str(hms.config)), 2, "did you mean `learning_rate`")


def test_a_missing_configuration(hms):
    refused(hms("run", "configs/none.yaml"), 2, "configs/none.yaml does not exist")


def test_an_unknown_option_and_command(hms):
    assert hms("run", str(hms.config), "--wrokers", "2").code == 2
    assert hms("rnu").code == 2


def test_a_store_that_does_not_answer(hms):
    hms.environment["HMS_MONGO"] = "mongodb://someone:pa55word@127.0.0.1:9/?serverSelectionTimeoutMS=500"
    done = hms("run", str(hms.config))
    refused(done, 3, "127.0.0.1:9", "--mongo")
    assert "pa55word" not in done.err + done.out


def test_no_uri_at_all(hms):
    refused(hms("run", str(hms.config), "--mongo", "localhost"), 2, "neither a mongodb:// URI nor a file: localhost")


def test_a_mistyped_uri_is_not_shown_with_its_password(hms):
    done = hms("status", "--mongo", "someone:pa55word@127.0.0.1:9")
    refused(done, 2, "--mongo is neither", "may hold a password")
    assert "pa55word" not in done.err + done.out


def test_a_certificate_file_that_does_not_exist(hms):
    uri = "mongodb://127.0.0.1:9/?tls=true&tlsCAFile=/nowhere.pem"
    refused(hms("status", "--mongo", uri), 2, "tlscafile file is not readable")


def test_a_results_folder_that_cannot_be_made(hms, tmp_path):
    (tmp_path / "file").write_text("")
    hms.environment["HMS_RESULTS"] = str(tmp_path / "file" / "results")
    refused(hms("status"), 2, "file/results")


@pytest.mark.parametrize(
    ("devices", "words"),
    [("gpu", "expected cpu, cuda or cuda:N"), ("cuda:99", "GPUs are visible"), (" , ", "names no device")],
)
def test_devices_that_are_not_there(hms, devices, words):
    refused(hms("run", str(hms.config), "--devices", devices), 2, words)


def test_a_device_of_another_class_is_refused_before_anything_is_stored(hms):
    done = hms("run", str(hms.config), "--set", "training.device=cuda", "--devices", "cpu")
    refused(done, 2, "--allow-mixed", "--set training.device=cpu")
    assert "no searches yet" in hms("status").out


@pytest.mark.parametrize("command", [("cancel",), ("retry", "--state", "failed"), ("export", "--format", "json")])
def test_a_name_that_the_store_does_not_hold(hms, command):
    refused(hms(command[0], "nothing", *command[1:]), 2, "no search named 'nothing'")


def test_data_that_are_not_prepared(hms, tmp_path):
    hms.environment["HMS_DATA"] = str(tmp_path / "empty")
    text = hms.config.read_text().replace("learner: toy, ", "") + "data: {dataset: kitti}\n"
    hms.config.write_text(text)
    refused(hms("run", str(hms.config)), 2, "hms data kitti DIR --name kitti")


def test_an_unreadable_hkl(hms, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    for name in ("X_train.hkl", "sources_train.hkl"):
        (folder / name).write_bytes(b"not an HDF5 file")
    hms.environment["HMS_DATA"] = str(tmp_path / "data")
    refused(hms("data", "hkl", str(folder)), 2, "X_train.hkl")


def test_a_folder_without_recordings(hms, tmp_path):
    hms.environment["HMS_DATA"] = str(tmp_path / "data")
    refused(hms("data", "kitti", str(tmp_path)), 2, str(tmp_path))


def test_a_worker_for_no_search(hms):
    refused(hms("worker", "--name", "nothing"), 2, "hms run CONFIG")


def test_weights_that_do_not_exist(hms, tmp_path):
    refused(hms("score", str(tmp_path / "network.pt")), 2, "does not exist")
