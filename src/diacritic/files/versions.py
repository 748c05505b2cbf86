"""What a result was made with: the package's version, and a declared number for every room that decides results.

Raise a room's number by hand when a change in it can move a result, and say so in CHANGELOG.md. Runs and rows made with
another number are no longer taken for finished ones; moving a comment changes nothing.
"""

from collections.abc import Iterable

from diacritic._version import __version__

VERSIONS = {"memory": 3, "training": 7, "rollout": 1, "measure": 2}
TRAINED = ("memory", "training")
"""The rooms that decide what training gives."""


def code_version(rooms: Iterable[str] = TRAINED) -> str:
    """The declared numbers in words, such as `memory 2, training 5`."""
    return ", ".join(f"{room} {VERSIONS[room]}" for room in rooms)


def versions(**packages: str) -> dict[str, str]:
    """Versions of this package, of its rooms, and of others given with their versions, for rows and manifests."""
    rooms = {room: str(number) for room, number in VERSIONS.items()}
    short = {name: number.split("+")[0] for name, number in packages.items()}
    return {"diacritic": __version__, **rooms, **short}
