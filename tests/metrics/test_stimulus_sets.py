from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.distance import pdist, squareform

from metrics.baselines import baselines, image_rdms
from metrics.hms import hms
from metrics.rdm import correlation_rdm
from metrics.references import load_reference
from metrics.stimuli92 import LABELS92, Stimuli92
from metrics.stimulus_images import load_images
from metrics.stimulus_sets import (
    REFERENCES92,
    brain_problems,
    open_reference,
    open_stimuli,
    prepare_brain,
    references92,
)

LABELS = ("b.png", "a", "stim10", "stim2")


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (4, 20, 30, 3), dtype=np.uint8)


@pytest.fixture
def source(tmp_path: Path, images: np.ndarray) -> Path:
    rdms = np.stack([squareform(pdist(np.random.default_rng(seed).normal(size=(4, 3)))) for seed in range(3)])
    np.savez(tmp_path / "rdms.npz", rdms=rdms, labels=np.array(LABELS), subjects=["x", "y", "y"], measure="euclidean")
    (tmp_path / "shown").mkdir()
    for label, image in zip(LABELS, images, strict=True):
        Image.fromarray(image).save(tmp_path / "shown" / (label if "." in label else f"{label}.PNG"), format="png")
    return tmp_path / "rdms.npz"


def test_prepared_images_and_rdms_come_back(tmp_path: Path, source: Path, images: np.ndarray) -> None:
    folder = prepare_brain(tmp_path / "brains", source, name="mine", images=tmp_path / "shown")
    found, given = open_stimuli(folder), load_reference(source)
    np.testing.assert_array_equal(found.images, images)
    np.testing.assert_array_equal(found.reference.rdms, given.rdms)
    assert found.labels == LABELS and found.name == "mine" and found.reference.digest == given.digest
    assert found.reference.measure == "euclidean" and found.reference.source == str(source)
    np.testing.assert_array_equal(found.human_rdm, given.rdm)
    assert found.human_rdms.shape == (2, 1, 4, 4) and len(found.categories) == 4
    assert list(tmp_path.glob("brains/mine/*")) == [folder / "brain.npz"] and brain_problems(folder) == []


def test_again_changes_nothing_and_other_data_replace_it(tmp_path: Path, source: Path) -> None:
    root, shown = tmp_path / "brains", tmp_path / "shown"
    file = prepare_brain(root, source, name="mine", images=shown) / "brain.npz"
    before, digest = file.stat(), open_stimuli(file.parent).digest
    prepare_brain(root, source, name="mine", images=shown)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    Image.new("RGB", (30, 20)).save(shown / "a.PNG", format="png")
    prepare_brain(root, source, name="mine", images=shown)
    assert open_stimuli(file.parent).digest != digest
    prepare_brain(root, source, name="mine")
    assert open_reference(file.parent).labels == LABELS
    assert list(file.parent.iterdir()) == [file]


def test_a_torn_file_is_found_and_mended(tmp_path: Path, source: Path) -> None:
    folder = prepare_brain(tmp_path / "brains", source, name="mine")
    whole = (folder / "brain.npz").read_bytes()
    (folder / "brain.npz").write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in brain_problems(folder)[0] and "hms data brain PATH --name mine" in brain_problems(folder)[0]
    prepare_brain(tmp_path / "brains", source, name="mine")
    assert brain_problems(folder) == []


def test_images_of_other_modes(tmp_path: Path) -> None:
    Image.new("L", (9, 8), 77).save(tmp_path / "gray.png")
    Image.new("RGBA", (9, 8), (200, 0, 0, 0)).save(tmp_path / "clear.png")
    turned = Image.new("RGB", (8, 9), (1, 2, 3))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.jpeg", exif=exif, quality=100)
    found = load_images(tmp_path, ("gray", "clear", "turned"))
    assert found.shape == (3, 8, 9, 3) and found.dtype == np.uint8
    assert (found[0] == 77).all() and (found[1] == 128).all() and found[2].max() < 8


def test_image_baselines_of_other_stimuli(tmp_path: Path, source: Path, images: np.ndarray) -> None:
    stimuli = open_stimuli(prepare_brain(tmp_path / "brains", source, name="mine", images=tmp_path / "shown"))
    found = baselines(stimuli, image_rdms(stimuli))
    assert list(found) == ["pixels", "grey", "blurred pixels", "pooled pixels"]  # noise has no silhouette
    assert found["pixels"] == hms(correlation_rdm(images.reshape(4, -1)), stimuli.human_rdm).value


def test_references_that_come_with_the_92_stimuli(stimuli92: Stimuli92) -> None:
    found = references92(stimuli92)
    assert tuple(found) == REFERENCES92
    assert all(reference.labels == LABELS92 for reference in found.values())
    np.testing.assert_allclose(found["human_it"].rdm, stimuli92.human_rdm, rtol=0, atol=1e-15)
    assert len(found["human_it"].people) == 4 and len(found["human_it_3"].rdms) == 2
    np.testing.assert_array_equal(found["human_it_3"].rdms, stimuli92.human_rdms[2])
    scores = {name: hms(reference.rdm, stimuli92.human_rdm).value for name, reference in found.items()}
    assert scores["monkey_it"] == pytest.approx(0.43892380943522, abs=1e-10)
    assert scores["animacy"] == pytest.approx(0.5881890102443562, abs=1e-10)
    assert scores["four_categories"] == pytest.approx(0.4052818479139105, abs=1e-10)


def test_unlabelled_rdms_in_the_order_of_the_92_stimuli(tmp_path: Path, human92: Path) -> None:
    folder = prepare_brain(tmp_path, human92 / "92_brainRDMs.mat", name="people", labels=Path("stimuli92"))
    assert open_reference(folder).labels == LABELS92
