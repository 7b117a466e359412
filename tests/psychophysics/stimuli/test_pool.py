import numpy as np
import pytest
from PIL import Image

from prednet.errors import DataError
from psychophysics.config import ImagesSection
from psychophysics.errors import StimuliError
from psychophysics.stimuli.photographs import collect_photographs
from psychophysics.stimuli.pool import open_pool


@pytest.fixture
def folder(tmp_path):
    """Two photographs in class folders: a horizontal ramp of 400 x 300 and a vertical one of 300 x 500 pixels."""
    ramp = np.linspace(0, 255, 400)[None, :, None].repeat(300, 0).repeat(3, 2).astype(np.uint8)
    tall = np.linspace(0, 255, 500)[:, None, None].repeat(300, 1).repeat(3, 2).astype(np.uint8)
    for name, pixels in (("cat/wide.png", ramp), ("dog/tall.jpg", tall)):
        (tmp_path / "pool" / name).parent.mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "pool" / name)
    return tmp_path / "pool"


def pool_of(folder, **section):
    return open_pool(ImagesSection(pool=str(folder), **section), 3, folder.parent / "study")


def test_the_first_crop_is_central_and_224_of_256(folder):
    pool = pool_of(folder)
    assert pool.photos == ("cat/wide.png", "dog/tall.jpg") and len(pool) == 2
    with Image.open(folder / "cat/wide.png") as image:
        scaled = np.asarray(image.resize((341, 256), Image.Resampling.BILINEAR), float)
    left = (341 - 224) // 2
    expected = scaled[16:240, left : left + 224]
    assert np.abs(pool.load([0], 224, 224)[0] - expected).max() <= 2
    assert [pool.folder_label(image) for image in range(2)] == ["cat", "dog"]


def test_pixels_are_never_stretched(folder):
    # The ramps rise by 255 over 400 and 500 pixels; a crop of share s of the side shows that slope, whatever its shape.
    pool = pool_of(folder, crops_per_photo=6)
    for height, width in ((128, 160), (100, 100), (90, 60)):
        for image in range(6):
            wide, tall = pool.load([image, 6 + image], height, width).astype(float)
            box = pool._box(0, image, (300, 400), height / width)
            slope = (wide[0, -1, 0] - wide[0, 0, 0]) / (width - 1)
            assert slope == pytest.approx(255 / 399 * (box[2] - box[0]) / width, rel=0.05)
            box = pool._box(1, image, (500, 300), height / width)
            slope = (tall[-1, 0, 0] - tall[0, 0, 0]) / (height - 1)
            assert slope == pytest.approx(255 / 499 * (box[3] - box[1]) / height, rel=0.05)


def test_crops_are_known_by_their_photograph_and_fixed_by_the_seed(folder):
    pool = pool_of(folder, crops_per_photo=3)
    assert pool.photo_of.tolist() == [0, 0, 0, 1, 1, 1] and pool.name(4) == "dog/tall.jpg#1"
    images = pool.load(range(6), 32, 32)
    assert (images == pool_of(folder, crops_per_photo=3).load(range(6), 32, 32)).all()
    assert len({image.tobytes() for image in images}) == 6
    assert pool.fingerprint != pool_of(folder, crops_per_photo=4).fingerprint


def test_photographs_that_are_gone_damaged_or_none_are_named(folder, tmp_path):
    pool = pool_of(folder)
    (folder / "cat/wide.png").unlink()
    with pytest.raises(StimuliError, match=r"wide\.png is missing"):
        pool.load([0], 32, 32)
    (folder / "dog/tall.jpg").write_bytes((folder / "dog/tall.jpg").read_bytes()[:900])
    with pytest.raises(DataError, match=r"tall\.jpg"):
        pool.load([1], 32, 32)
    with pytest.raises(StimuliError, match="which is no folder"):
        pool_of(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StimuliError, match="holds no images"):
        pool_of(tmp_path / "empty")


def test_packaged_photographs_need_no_download(tmp_path):
    pytest.importorskip("skimage")
    folder = collect_photographs(tmp_path / "photographs")
    names = sorted(path.stem for path in folder.iterdir())
    assert len(names) == 17 and {"chelsea", "coffee", "china", "flower", "bikes-000"} <= set(names)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    collect_photographs(folder)
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}
