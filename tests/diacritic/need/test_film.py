"""The witness film: pictures, or the channels that differ."""

import base64
import io
from pathlib import Path

import matplotlib.image
import numpy as np
from need_data import answered

import diacritic as dia
from diacritic.demos.readers import from_arrays
from diacritic.files.need import read_need
from diacritic.need.document import save
from diacritic.need.film import scenes


def test_pictures_of_both_episodes_where_they_differed_and_where_they_decide():
    rng = np.random.default_rng(0)
    cue = rng.integers(2, size=48)
    frames = rng.integers(256, size=(6, 48, 5, 4, 3)).astype(np.uint8)
    seen, acted = 0.02 * rng.standard_normal((6, 48, 2)), 0.02 * rng.standard_normal((6, 48, 1))
    seen[1, :, 0] += cue
    acted[4, :, 0] += cue
    (scene,) = scenes(dia.need(from_arrays(seen, acted, frames=frames), plants=0))
    assert [picture["step"] for picture in scene["pictures"]] == [2, 5] == [scene["last"], scene["step"]]
    for picture in scene["pictures"]:
        for image, episode in zip(picture["images"], scene["episodes"], strict=True):
            pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(image)), format="png")
            np.testing.assert_array_equal((pixels * 255).round(), frames[picture["step"] - 1, episode])


def test_channels_that_differ_without_pictures(tmp_path: Path):
    answer = answered("cues-1-of-2")
    (scene,) = scenes(answer)
    assert scene["pictures"] == []
    first, *_, action = scene["channels"]
    assert (first["kind"], first["number"], action["kind"]) == ("channel", 2, "action")
    one, two = (row[scene["last"] - 1] for row in first["values"])
    assert abs(one - two) > 0.5
    assert read_need(save(answer, tmp_path)[0])["film"][0]["channels"][0]["values"] == tuple(
        map(tuple, first["values"])
    )
    dia.report(answer, out=tmp_path / "need.html")
    text = (tmp_path / "need.html").read_text(encoding="utf-8")
    assert text.count("<polyline") == 2 * len(scene["channels"])
    assert f"episodes {scene['episodes'][0]} and {scene['episodes'][1]} look alike" in text
