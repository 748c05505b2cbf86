"""Films as files: .mp4 as they are, .gif smaller and with fewer frames; the time of every step travels with an .mp4."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.files.atomic import make_folder, path_atomic

Frame = NDArray[np.uint8]
GIF_WIDTH, GIF_RATE = 640, 10
_COLOURS = 128


def check_name(path: Path) -> None:
    """Refuse other suffixes before anything is filmed."""
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise UserError(str(path), "films are written as .gif or .mp4; give one of these suffixes")


def write_film(frames: Sequence[Frame], path: Path, rate: int = 30, times: Sequence[float] = ()) -> None:
    """Write by atomic rename; `times` are the seconds at which the steps begin."""
    check_name(path)
    make_folder(path.parent)
    with path_atomic(path) as partial:
        if path.suffix.lower() == ".gif":
            _write_gif(frames, partial, rate)
        else:
            _write_mp4(frames, partial, rate, times)


def read_times(path: Path) -> list[float]:
    """The seconds at which the steps of a film begin; none where it does not say."""
    if path.suffix.lower() != ".mp4":
        return []
    av: Any = import_optional("av", "report")
    try:
        with av.open(str(path)) as container:
            times = json.loads(container.metadata.get("comment", "[]"))
    except (av.FFmpegError, ValueError):
        return []
    sound = isinstance(times, list) and len(times) <= 100_000 and all(type(x) in (int, float) for x in times)
    return [float(x) for x in times] if sound else []


def _write_gif(frames: Sequence[Frame], path: Path, rate: int) -> None:
    every = max(1, round(rate / GIF_RATE))
    small = [_small(frame) for frame in frames[::every]]
    palette = Image.fromarray(np.concatenate([np.asarray(p) for p in small[:: max(1, len(small) // 6)]]))
    quantised = palette.quantize(_COLOURS)
    pictures = [picture.quantize(palette=quantised, dither=Image.Dither.NONE) for picture in small]
    duration = round(1000 * every / rate)
    pictures[0].save(path, "GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0, optimize=True)


def _small(frame: Frame) -> Image.Image:
    picture = Image.fromarray(frame)
    if picture.width <= GIF_WIDTH:
        return picture
    return picture.resize((GIF_WIDTH, round(picture.height * GIF_WIDTH / picture.width)), Image.Resampling.LANCZOS)


def _write_mp4(frames: Sequence[Frame], path: Path, rate: int, times: Sequence[float]) -> None:
    av: Any = import_optional("av", "report")
    with av.open(str(path), "w", format="mp4") as container:
        if times:
            container.metadata["comment"] = json.dumps([round(x, 3) for x in times])
        stream = container.add_stream("libx264", rate=rate, options={"crf": "23", "preset": "medium"})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
