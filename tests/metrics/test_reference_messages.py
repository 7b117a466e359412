"""Every bad input gets the message that docs/brains.md promises, word for word."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from metrics.errors import StimuliError
from metrics.references import load_reference
from metrics.stimulus_sets import open_reference, open_stimuli, prepare_brain

DOCS = Path(__file__).parents[2] / "docs" / "brains.md"
RDM = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0.0]])
ABC = np.array(["a", "b", "c"])


def changed(value: float, *places: tuple[int, int]) -> np.ndarray:
    rdm = RDM.copy()
    for place in places:
        rdm[place] = value
    return rdm


def from_arrays(**arrays: object) -> Callable[[], object]:
    def act() -> object:
        np.savez("it.npz", **arrays)  # type: ignore[arg-type]
        return load_reference(Path("it.npz"))

    return act


def from_text(text: str) -> Callable[[], object]:
    def act() -> object:
        Path("it.csv").write_text(text)
        return load_reference(Path("it.csv"))

    return act


def of_bytes(name: str, content: bytes) -> Callable[[], object]:
    def act() -> object:
        Path(name).write_bytes(content)
        return load_reference(Path(name))

    return act


def given_labels(arrays: dict[str, object], text: str) -> Callable[[], object]:
    def act() -> object:
        np.savez("it.npz", **arrays)  # type: ignore[arg-type]
        Path("labels.txt").write_text(text)
        return load_reference(Path("it.npz"), labels=Path("labels.txt"))

    return act


def struct_array() -> object:
    entries = np.array([(RDM,)] * 8, dtype=[("RDM", object)]).reshape(2, 2, 2)
    scipy.io.savemat("it.mat", {"RDMs": entries})
    return load_reference(Path("it.mat"))


def hdf5(**arrays: object) -> Callable[[], object]:
    def act() -> object:
        with h5py.File("it.h5", "w") as file:
            for name, value in arrays.items():
                file[name.replace("__", "/")] = value
        return load_reference(Path("it.h5"))

    return act


def subjects(**files: dict[str, object]) -> Callable[[], object]:
    def act() -> object:
        Path("people").mkdir()
        for name, arrays in files.items():
            np.savez(f"people/{name}.npz", **arrays)  # type: ignore[arg-type]
        return load_reference(Path("people"))

    return act


def stray_file() -> object:
    Path("people").mkdir()
    Path("people/notes.docx").write_text("x")
    return load_reference(Path("people"))


def pictures(*names: str, size: tuple[int, int] = (9, 8), last: tuple[int, int] | None = None) -> Callable[[], object]:
    def act() -> object:
        Path("shown").mkdir()
        for name in names:
            Image.new("RGB", last if last and name == names[-1] else size).save(f"shown/{name}")
        np.savez("it.npz", rdm=RDM, labels=ABC)
        return prepare_brain(Path("brains"), Path("it.npz"), name="mine", images=Path("shown"))

    return act


def broken_picture() -> object:
    Path("shown").mkdir()
    for name in "abc":
        Image.new("RGB", (9, 8)).save(f"shown/{name}.png")
    Path("shown/b.png").write_bytes(Path("shown/b.png").read_bytes()[:40])
    np.savez("it.npz", rdm=RDM, labels=ABC)
    return prepare_brain(Path("brains"), Path("it.npz"), name="mine", images=Path("shown"))


def without_images() -> object:
    np.savez("it.npz", rdm=RDM, labels=ABC)
    return open_stimuli(prepare_brain(Path("brains"), Path("it.npz"), name="mine"))


def named(name: str) -> Callable[[], object]:
    return lambda: prepare_brain(Path("brains"), Path("it.npz"), name=name)


def altered() -> object:
    np.savez("it.npz", rdm=RDM, labels=ABC)
    file = prepare_brain(Path("brains"), Path("it.npz"), name="mine") / "brain.npz"
    with np.load(file) as archive:
        arrays = dict(archive)
    np.savez(file, **arrays | {"rdms": arrays["rdms"] * 2})
    return open_reference(file.parent)


class Pickled:
    """Opening its pickle would run code."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("opened"),)  # type: ignore[return-value]


CASES: dict[str, Callable[[], object]] = {
    "no such path": lambda: load_reference(Path("it.mat")),
    "another kind of file": of_bytes("it.xlsx", b"PK"),
    "a pickle": of_bytes("it.pkl", pickle.dumps(Pickled())),
    "texts saved as objects": from_arrays(rdm=RDM, labels=ABC.astype(object)),
    "no archive": of_bytes("it.npz", b"nothing"),
    "a torn `.mat`": of_bytes("it.mat", b"MATLAB 5.0 MAT-file"),
    "HDF5 not by rsatoolbox": hdf5(weights=np.zeros(3)),
    "no labels": from_arrays(rdm=RDM),
    "positions as labels": from_text(",0,1,2\n0,0,1,2\n1,1,0,3\n2,2,3,0\n"),
    "rsatoolbox, only `index`": hdf5(
        dissimilarities=[[1.0, 2, 3]], pattern_descriptors__index=[0, 1, 2], rdm_descriptors__index=[0]
    ),
    "rsatoolbox, two descriptors": hdf5(
        dissimilarities=[[1.0, 2, 3]], pattern_descriptors__img=["a", "b", "c"], pattern_descriptors__de=["x", "y", "z"]
    ),
    "too few labels": given_labels({"rdm": RDM}, "a\nb\n"),
    "other labels than the file's": given_labels({"rdm": RDM, "labels": ABC}, "a\nb\nd\n"),
    "an empty labels file": given_labels({"rdm": RDM}, "\n"),
    "an empty label": from_arrays(rdm=RDM, labels=["a", "", "c"]),
    "labels that repeat": from_arrays(rdm=RDM, labels=["a", "b", "a"]),
    "not a number": from_arrays(rdm=changed(np.nan, (0, 2), (2, 0)), labels=ABC),
    "not symmetric": from_arrays(rdm=changed(5, (0, 1)), labels=ABC),
    "similarities": from_arrays(rdm=np.eye(3), labels=ABC),
    "a diagonal that is not 0": from_arrays(rdm=changed(0.5, (1, 1)), labels=ABC),
    "all distances alike": from_arrays(rdm=1 - np.eye(3), labels=ABC),
    "two stimuli": from_text(",a,b\na,0,1\nb,1,0\n"),
    "no RDM": from_arrays(features=np.zeros((3, 8)), labels=ABC),
    "several arrays": from_arrays(v1=RDM, it=RDM, labels=ABC),
    "a wrong number of pairs": hdf5(dissimilarities=np.arange(5.0), pattern_descriptors__stimulus=["a", "b", "c"]),
    "subjects that do not fit": from_arrays(rdm=RDM, labels=ABC, subjects=["x", "y"]),
    "MATLAB, regions x subjects x sessions": struct_array,
    "a table with other rows": from_text(",a,b,c\na,0,1,2\nb,1,0,3\nd,2,3,0\n"),
    "a table that is not square": from_text(",a,b,c\na,0,1,2\nb,1,0,3\n"),
    "a cell that is no number": from_text(";a;b;c\na;0;0,5;2\nb;0,5;0;3\nc;2;3;0\n"),
    "pairs that are missing": from_text("stimulus1,stimulus2,dissimilarity\na,b,1\nb,c,2\n"),
    "a pair given twice": from_text("stimulus1,stimulus2,dissimilarity\na,b,1\na,c,3\nb,c,2\nb,a,4\n"),
    "pairs with another column": from_text("stimulus1,stimulus2,dissimilarity,who\na,b,1,x\n"),
    "subjects with other stimuli": subjects(
        ann={"rdm": RDM, "labels": ABC}, bob={"rdm": RDM, "labels": np.array(["a", "b", "d"])}
    ),
    "subjects in other measures": subjects(
        ann={"rdm": RDM, "labels": ABC, "measure": "correlation"}, bob={"rdm": RDM, "labels": ABC}
    ),
    "a folder with other files": stray_file,
    "images and labels that differ": pictures("a.png", "b.png", "d.jpg"),
    "two images of one label": pictures("a.png", "a.jpg", "b.png", "c.png"),
    "images of several sizes": pictures("a.png", "b.png", "c.png", last=(16, 8)),
    "images that are too small": pictures("a.png", "b.png", "c.png", size=(4, 4)),
    "a broken image": broken_picture,
    "stimuli without images": without_images,
    "a name that is taken": named("monkey_it"),
    "a name that is none": named("a/b"),
    "a brain that is not prepared": lambda: open_reference(Path("brains/mine")),
    "a prepared file that was altered": altered,
}


def message(act: Callable[[], object], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    with pytest.raises(StimuliError) as caught:
        act()
    return str(caught.value)


def documented() -> dict[str, str]:
    return dict(re.findall(r"^\| ([^|]+?) \| `` (.+?) `` \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("case", CASES)
def test_message_is_the_documented_one(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert message(CASES[case], tmp_path, monkeypatch) == documented()[case]


def test_the_table_holds_these_cases_and_no_other() -> None:
    assert list(documented()) == list(CASES)


def test_a_pickle_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "stay closed" in message(CASES["a pickle"], tmp_path, monkeypatch)
    assert not (tmp_path / "opened").exists()
