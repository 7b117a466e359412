"""RDMs come back from every format as they were; oracles are the arrays themselves and files by other programs."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image
from scipy.spatial.distance import pdist, squareform

from metrics.errors import StimuliError
from metrics.hms import hms
from metrics.noise_ceiling import noise_ceiling
from metrics.references import Reference, load_reference, make_reference
from metrics.stimuli92 import LABELS92, Stimuli92
from metrics.stimulus_images import load_images

FILES = Path(__file__).parent / "reference_files"
LABELS = ("zebra", "apfel", "Ä-1", "stim10", "stim2")
SUBJECTS = ("s1", "s1", "s2")


def rdms(seed: int = 0, count: int = 3, n: int = 5) -> np.ndarray:
    """(count, n, n) Euclidean distances of random points: of no fixed range."""
    points = np.random.default_rng(seed).normal(0, 30, (count, n, 4))
    return np.stack([squareform(pdist(own)) for own in points])


def table(path: Path, rdm: np.ndarray, labels: tuple[str, ...] = LABELS, separator: str = ",") -> None:
    rows = [separator.join([label, *map(repr, map(float, row))]) for label, row in zip(labels, rdm, strict=True)]
    path.write_text("\n".join([separator.join(["", *labels]), *rows]) + "\n", encoding="utf-8")


def pairs_table(
    path: Path, stack: np.ndarray, columns: str = "stimulus1,stimulus2,dissimilarity,subject,session"
) -> None:
    lines = [columns]
    for k, rdm in enumerate(stack):
        for i, j in zip(*np.triu_indices(len(LABELS), 1), strict=True):
            lines.append(f"{LABELS[j]},{LABELS[i]},{float(rdm[i, j])!r},{SUBJECTS[k]},{k}")
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")


def cells(texts: tuple[str, ...]) -> np.ndarray:
    return np.array(texts, dtype=object)


def mat_cube(path: Path, stack: np.ndarray) -> None:
    scipy.io.savemat(path, {"d": np.moveaxis(stack, 0, -1), "labels": cells(LABELS), "subjects": cells(SUBJECTS)})


def mat_vectors(path: Path, stack: np.ndarray) -> None:
    values = {"dissimilarities": np.stack([squareform(rdm) for rdm in stack]), "other": np.zeros((5, 5))}
    scipy.io.savemat(path, values | {"conditions": cells(LABELS), "subject": cells(SUBJECTS)})


def npz_cube(path: Path, stack: np.ndarray) -> None:
    np.savez(path, rdms=stack, labels=np.array(LABELS), subjects=np.array(SUBJECTS), measure="euclidean")


def npz_vectors(path: Path, stack: np.ndarray) -> None:
    np.savez(path, v=np.stack([squareform(rdm) for rdm in stack]), stimuli=np.array(LABELS), subjects=list(SUBJECTS))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("cube.mat", mat_cube),
        ("vectors.mat", mat_vectors),
        ("cube.npz", npz_cube),
        ("vectors.npz", npz_vectors),
        ("pairs.csv", pairs_table),
    ],
)
def test_several_subjects_come_back_as_written(
    tmp_path: Path, name: str, write: Callable[[Path, np.ndarray], None]
) -> None:
    stack = rdms()
    write(tmp_path / name, stack)
    # A list of pairs names its stimuli in the order in which they first come.
    found = load_reference(tmp_path / name).aligned(LABELS)
    assert (found.name, found.labels, found.subjects) == (Path(name).stem, LABELS, SUBJECTS)
    np.testing.assert_array_equal(found.rdms, stack)
    np.testing.assert_array_equal(found.person_rdms, [(stack[0] + stack[1]) / 2, stack[2]])
    np.testing.assert_allclose(found.rdm, (stack[0] + stack[1]) / 4 + stack[2] / 2, rtol=1e-15)
    assert found.measure == ("euclidean" if name == "cube.npz" else None)
    assert len(found.digest) == 64 and not found.rdms.flags.writeable


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_square_table_in_any_order_of_its_columns(tmp_path: Path, separator: str) -> None:
    rdm = rdms(1)[0]
    table(tmp_path / "square.csv", rdm, separator=separator)
    found = load_reference(tmp_path / "square.csv")
    assert found.labels == LABELS and found.subjects == ("subject1",)
    np.testing.assert_array_equal(found.rdms[0], rdm)
    lines = [line.split(separator) for line in (tmp_path / "square.csv").read_text(encoding="utf-8").splitlines()]
    turned = [separator.join([line[0], *line[:0:-1]]) for line in lines]
    (tmp_path / "turned.csv").write_text("\n".join(turned), encoding="utf-8")
    np.testing.assert_array_equal(load_reference(tmp_path / "turned.csv").rdms, found.rdms)


def test_half_a_table_is_enough(tmp_path: Path) -> None:
    (tmp_path / "half.csv").write_text(",a,b,c\na,,1,2\nb,,,3\nc,,,\n")
    assert load_reference(tmp_path / "half.csv").rdms.tolist() == [[[0, 1, 2], [1, 0, 3], [2, 3, 0]]]


def test_matlab_struct_arrays_by_subject_and_session(tmp_path: Path) -> None:
    stack = rdms(2, 4)
    entry = [("RDM", object), ("name", object), ("color", object)]
    grid = np.array([(rdm, f"IT | {index}", [0, 0, 1]) for index, rdm in enumerate(stack)], dtype=entry)
    scipy.io.savemat(tmp_path / "x.mat", {"RDMs": grid.reshape(1, 2, 2), "labels": cells(LABELS)})
    found = load_reference(tmp_path / "x.mat")
    assert found.subjects == ("subject1", "subject1", "subject2", "subject2")
    np.testing.assert_array_equal(found.rdms, stack)
    one = load_reference(tmp_path / "x.mat", variable="RDMs/IT | 2")
    assert one.subjects == ("IT | 2",)
    np.testing.assert_array_equal(one.rdms, stack[2:3])
    scipy.io.savemat(tmp_path / "y.mat", {"RDMs": grid.reshape(4, 1), "labels": np.array(LABELS)})
    assert load_reference(tmp_path / "y.mat").subjects == ("IT | 0", "IT | 1", "IT | 2", "IT | 3")


@pytest.mark.parametrize(
    ("variable", "subjects"),
    [(None, ("subject1", "subject2", "subject3")), ("people", ("ann", "bob", "cy")), ("people/bob", ("bob",))],
)
def test_matlab_73_as_written_by_hdf5storage(variable: str | None, subjects: tuple[str, ...]) -> None:
    found = load_reference(FILES / "matlab73.mat", variable=variable)
    assert found.labels == ("dog", "cat", "house", "face") and found.measure == "crossnobis"
    assert found.subjects == subjects
    expected = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1.5], [2, 4, 6, 1, 3, 5]]) / 8
    if variable == "people/bob":
        expected = expected[1:2]
    np.testing.assert_array_equal([squareform(rdm) for rdm in found.rdms], expected)


def test_matlab_strings_are_no_labels(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.mat", "w") as file:
        file["rdm"] = rdms()[0]
        file["labels"] = np.arange(5, dtype=np.uint32)
        file["labels"].attrs["MATLAB_class"] = np.bytes_("string")
    with pytest.raises(StimuliError, match="5 stimuli without labels"):
        load_reference(tmp_path / "x.mat")


def test_accents_are_the_same_in_either_spelling(tmp_path: Path) -> None:
    composed, decomposed = "Ä", "A\u0308"
    reference = make_reference("x", (decomposed, "b", "c"), rdms(n=3))
    assert reference.labels == (composed, "b", "c")
    for name in (decomposed, "b", "c"):
        Image.new("RGB", (9, 8)).save(tmp_path / f"{name}.png")
    assert load_images(tmp_path, reference.labels).shape == (3, 8, 9, 3)


def test_hdf5_as_written_by_rsatoolbox_is_read_without_it() -> None:
    found = load_reference(FILES / "rsatoolbox.h5")
    assert found.labels == ("dog", "cat", "house", "face") and found.subjects == ("ann", "ann", "bob")
    assert found.measure == "correlation"
    np.testing.assert_array_equal(squareform(found.rdms[1]), np.array([6, 5, 4, 3, 2, 1.5]) / 8)


def test_a_folder_of_subjects_is_aligned_by_label(tmp_path: Path) -> None:
    stack = rdms(3)
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "README.txt").write_text("not an RDM")
    order = [3, 1, 4, 0, 2]
    table(folder / "sub-2_ses-1.csv", stack[0])
    np.savez(folder / "sub-2_ses-2.npz", rdm=stack[1][np.ix_(order, order)], labels=[LABELS[i] for i in order])
    scipy.io.savemat(folder / "sub-10.mat", {"rdm": stack[2], "labels": cells(LABELS)})
    found = load_reference(folder)
    assert found.subjects == ("sub-2", "sub-2", "sub-10") and found.name == "people"
    np.testing.assert_array_equal(found.rdms, stack)


def test_labels_from_a_file_or_a_folders_own(tmp_path: Path) -> None:
    stack = rdms(4)
    (tmp_path / "labels.txt").write_text("\n".join(LABELS) + "\n\n", encoding="utf-8")
    for name, rdm in zip(("a", "b"), stack, strict=False):
        np.savez(tmp_path / f"{name}.npz", rdm=rdm)
    found = load_reference(tmp_path)
    assert found.labels == LABELS and found.subjects == ("a", "b")
    one = load_reference(tmp_path / "a.npz", labels=tmp_path / "labels.txt")
    assert one.labels == LABELS
    assert load_reference(tmp_path / "a.npz", labels=LABELS).digest == one.digest
    assert load_reference(tmp_path / "b.npz", labels=LABELS).digest != one.digest


def test_alignment_names_what_differs() -> None:
    reference = make_reference("x", LABELS, rdms())
    turned = reference.aligned(LABELS[::-1])
    np.testing.assert_array_equal(turned.rdms, reference.rdms[:, ::-1, ::-1])
    assert turned.digest != reference.digest and turned.aligned(LABELS).digest == reference.digest
    with pytest.raises(StimuliError, match=r"1 \('dog'\) missing, 1 \('zebra'\) additional"):
        reference.aligned(("dog", *LABELS[1:]))


def test_rounding_is_mended_and_inputs_stay(tmp_path: Path) -> None:
    stack = rdms().astype(np.float32)
    stack[0, 0, 1] *= np.float32(1 + 2e-7)
    before = stack.copy()
    found = make_reference("x", LABELS, stack)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.rdms, found.rdms.transpose(0, 2, 1))
    np.testing.assert_array_equal(stack, before)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_only_the_order_of_distances_counts(scale: float) -> None:
    """Distances of any unit, and negative ones as cross-validation gives them, rank as they are."""
    model = np.corrcoef(np.random.default_rng(5).normal(size=(5, 9)))
    distances = rdms(6)[0] - 20 * (1 - np.eye(5))
    reference = make_reference("x", LABELS, distances[None] * scale)
    expected = scipy.stats.spearmanr(squareform(1 - model, checks=False), squareform(distances)).statistic
    assert hms(1 - model, reference.rdm).value == pytest.approx(expected, abs=1e-12)


def test_the_human_and_monkey_files_of_the_92_stimuli(human92: Path, stimuli92: Stimuli92) -> None:
    people = load_reference(human92 / "92_brainRDMs.mat", labels=LABELS92)
    assert people.people == ("subject1", "subject2", "subject3", "subject4") and len(people.rdms) == 8
    np.testing.assert_array_equal(people.rdms, stimuli92.human_rdms.reshape(8, 92, 92))
    np.testing.assert_allclose(people.rdm, stimuli92.human_rdm, rtol=0, atol=1e-15)
    assert noise_ceiling(people.person_rdms[:, None]) == noise_ceiling(stimuli92.human_rdms)
    supplement = human92 / "Kriegeskorte_Neuron2008_supplementalData.mat"
    monkey = load_reference(supplement, variable="RDMs_mIT_hIT_fig1/mIT_674neurons", labels=LABELS92)
    assert hms(monkey.rdm, people.rdm).value == pytest.approx(0.43892380943522, abs=1e-10)
    published = load_reference(human92 / "ave_hum_rdm.mat", labels=LABELS92)
    np.testing.assert_allclose(published.rdm, people.rdm, rtol=0, atol=1.3e-7)


def test_a_reference_is_frozen() -> None:
    reference: Reference = make_reference("x", LABELS, rdms())
    with pytest.raises(AttributeError):
        reference.name = "y"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        reference.rdms[0, 0, 1] = 3.0
