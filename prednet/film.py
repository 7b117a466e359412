"""Pictures -> an MP4 file that browsers play: H.264, yuv420p, its index in front."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from prednet.errors import DataError

ENCODER = "libx264"


def save_film(path: Path, pictures: Iterable[NDArray[np.uint8]], *, rate: float) -> None:
    """Write a film; the file appears when it is complete.

    Args:
        path: of the `.mp4` file.
        pictures: (h, w, 3) uint8 of one size, h and w even; at least one.
        rate: pictures per second.

    Raises:
        DataError: this build of PyAV can't write H.264, or the file can't be written.
    """
    temporary = path.with_name(f".{path.stem}.part.mp4")
    try:
        with av.open(str(temporary), "w", options={"movflags": "faststart"}) as container:
            stream = container.add_stream(ENCODER, rate=Fraction(rate).limit_denominator(1001))
            assert isinstance(stream, av.VideoStream)
            stream.pix_fmt = "yuv420p"
            stream.options = {"crf": "18", "preset": "veryfast"}
            stream.codec_context.thread_count = 1  # with several, the same pictures come out differently each time
            for number, picture in enumerate(pictures):
                if number == 0:
                    stream.height, stream.width = picture.shape[:2]
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode(None))
        temporary.replace(path)
    except av.codec.codec.UnknownCodecError as error:
        raise DataError(f"this PyAV has no {ENCODER} encoder. Next: pip install --force-reinstall av") from error
    except (av.error.FFmpegError, OSError) as error:
        reason = error.strerror or error
        raise DataError(f"{path} can't be written ({reason}): free some space or choose another folder") from error
    finally:
        temporary.unlink(missing_ok=True)
