import resource

import av
import numpy as np
import pytest

from prednet.errors import DataError
from prednet.film import save_film


def pictures(count, height=32, width=48):
    for number in range(count):
        yield np.full((height, width, 3), 10 * number, np.uint8)


@pytest.mark.parametrize("rate", [10.0, 30000 / 1001, 12.5])
def test_a_film_that_browsers_play(tmp_path, rate):
    save_film(tmp_path / "film.mp4", pictures(15), rate=rate)
    with av.open(str(tmp_path / "film.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert float(stream.average_rate) == pytest.approx(rate, rel=1e-6)
        found = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
    assert len(found) == 15
    for number, picture in enumerate(found):
        np.testing.assert_allclose(picture, 10 * number, atol=4)
    head = (tmp_path / "film.mp4").read_bytes()
    assert head.index(b"moov") < head.index(b"mdat"), "the index must stand in front"
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_the_same_pictures_give_the_same_film(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (6, 372, 976, 3), dtype=np.uint8)
    films = []
    for _ in range(4):
        save_film(tmp_path / "film.mp4", noise, rate=10)
        with av.open(str(tmp_path / "film.mp4")) as container:
            films.append(np.stack([frame.to_ndarray(format="yuv420p") for frame in container.decode(video=0)]))
    for film in films[1:]:
        # On a busy machine the encoder was seen to differ in a few pixels of a last row of blocks (91 of 3 million).
        assert (film != films[0]).mean() < 1e-3


def test_a_former_film_stays_when_the_new_one_fails(tmp_path):
    path = tmp_path / "film.mp4"
    save_film(path, pictures(2), rate=10)
    before = path.read_bytes()

    def broken():
        yield from pictures(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_film(path, broken(), rate=10)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_folders_that_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="can't be written"):
        save_film(tmp_path / "nowhere" / "film.mp4", pictures(2), rate=10)


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    """A limit on the size of files stands for the disk: the kernel refuses the write in the same way."""
    noise = np.random.default_rng(0).integers(0, 256, (40, 64, 64, 3), dtype=np.uint8)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"can't be written.*free some space"):
            save_film(tmp_path / "film.mp4", noise, rate=10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())
