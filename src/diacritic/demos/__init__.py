"""Demonstrations: recording, storage, the frozen binner, certificates from recordings, acceptance checks, exports."""

from diacritic.demos.binner import Binner, OnlineReader
from diacritic.demos.episodes import from_episodes
from diacritic.demos.readers import from_arrays, load
from diacritic.demos.record import record
from diacritic.demos.requirement import certify_recording
from diacritic.files.convention import Convention, Factor
from diacritic.files.demos import Demos, save

__all__ = [
    "Binner",
    "Convention",
    "Demos",
    "Factor",
    "OnlineReader",
    "certify_recording",
    "from_arrays",
    "from_episodes",
    "load",
    "record",
    "save",
]
