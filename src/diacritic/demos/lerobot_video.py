"""Videos of LeRobot folders, v2.1 (one file an episode) and v3 (many episodes a file), as small frames."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.episodes import PICTURE, padded

Spans = list[tuple[Path, float]]  # of each episode: its file, and the second in it at which the episode begins


def video_frames(
    path: Path, info: Mapping[str, Any], camera: str, lengths: NDArray[np.int64], episodes: Mapping[str, Any]
) -> NDArray[np.uint8]:
    """[T, N, height, width, 3] of one camera; `episodes` has the columns of meta/episodes in v3, and none in v2.1."""
    cameras = [name for name, entry in info["features"].items() if entry.get("dtype") == "video"]
    if camera not in cameras:
        raise UserError("--camera", f"{camera!r} is not a video of {path}: {', '.join(cameras) or 'none'}")
    parts = []
    for n, (file, start) in enumerate(_spans(path, info, camera, len(lengths), episodes)):
        if not file.is_file():
            raise UserError(str(file), f"the video of episode {n} is missing; copy the dataset again")
        frames = list(_decoded(file, start, int(lengths[n])))
        if len(frames) != lengths[n]:
            said = f"holds {len(frames)} of the {lengths[n]} frames of episode {n}"
            raise UserError(str(file), f"{said}; copy the dataset again")
        parts.append(np.stack(frames))
    return padded(np.concatenate(parts), lengths)


def _spans(path: Path, info: Mapping[str, Any], camera: str, count: int, episodes: Mapping[str, Any]) -> Spans:
    template = info.get("video_path")
    if not isinstance(template, str):
        raise UserError(str(path), "says no video_path; export the dataset again")
    results: Spans = []
    try:
        for n in range(count):
            if episodes:
                key = f"videos/{camera}"
                where = {name: int(episodes[f"{key}/{name}"][n]) for name in ("chunk_index", "file_index")}
                start = float(episodes[f"{key}/from_timestamp"][n])
            else:
                where = {"episode_chunk": n // int(info.get("chunks_size", 1000)), "episode_index": n}
                start = 0.0
            results.append((path / template.format(video_key=camera, **where), start))
    except (KeyError, IndexError, ValueError):
        raise UserError(str(path), f"does not say where the videos of {camera!r} are; export it again") from None
    return results


def _decoded(file: Path, start: float, count: int) -> Iterator[NDArray[np.uint8]]:
    """Frames from a second on, scaled down."""
    av = import_optional("av", "report")
    try:
        with av.open(str(file)) as container:
            stream = container.streams.video[0]
            if start > 0:
                container.seek(int(start / stream.time_base), stream=stream)
            given = 0
            for frame in container.decode(stream):
                if frame.time is not None and frame.time < start - 1e-4:
                    continue
                if given == count:
                    return
                size = min(frame.width, PICTURE), min(frame.height, PICTURE)
                yield frame.reformat(*size, format="rgb24").to_ndarray()
                given += 1
    except (av.error.FFmpegError, IndexError):
        raise UserError(str(file), "is damaged or not a video; copy the dataset again") from None
