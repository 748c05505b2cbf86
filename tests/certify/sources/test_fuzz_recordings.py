"""Damaged recordings: episodes, laws and latents of any kind end in a model or in one line."""

import json
from typing import Any

from certify_fuzz import check_reader, damaged_documents

from certify.sources.recordings import from_recordings

EPISODES = [[["cue 0", "wait"], ["fork", "left"]], {"observations": ["cue 1", "fork"], "actions": ["wait", "right"]}]
LAWS = [["wait", {"left": "1"}], [{"wait": "1"}, {"right": "1/2", "left": "1/2"}]]
RECORDING = {"episodes": EPISODES, "laws": LAWS, "latents": [0, 1]}


def read(text: str) -> None:
    given: Any = json.loads(text)
    if isinstance(given, dict) and "episodes" in given:
        from_recordings(given["episodes"], laws=given.get("laws"), latents=given.get("latents")).model.to_json()


def test_damaged_fields() -> None:
    check_reader(read, damaged_documents(RECORDING, seed=10))
