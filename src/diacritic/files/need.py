"""What `diacritic need` writes: need.json (`diacritic-need/1`) and witnesses.json (`diacritic-witnesses/1`)."""

from pathlib import Path
from typing import Annotated, Any, Literal

from diacritic.files.atomic import read_json, write_json
from diacritic.files.schema import LARGEST, Range, read_as

FORMAT, WITNESSES = "diacritic-need/1", "diacritic-witnesses/1"
REMEDY = "run `diacritic need` again"
Kind = Literal["memory needed", "short history is enough", "no evidence of need", "cannot tell"]
_Steps = tuple[int, ...]
_DECISION = dict.fromkeys(("steps", "shown"), _Steps) | {"kind": str, "classes": int, "p": float, "told": float}
_STEP = {"step": int, **dict.fromkeys(("velocity", "filter", "actions", "recent", "older", "error"), float)}
_SCENE = {
    **dict.fromkeys(("decision", "step"), int),
    "last": int | None,
    "episodes": tuple[int, int],
    "pictures": [{"step": int, "images": tuple[str, str]}],
    "channels": [{"kind": str, "number": int, "values": tuple[tuple[float, ...], tuple[float, ...]]}],
}
_NEED = {
    "answer": Kind,
    **dict.fromkeys(("reason", "recording", "digest", "aligned"), str),
    **dict.fromkeys(("episodes", "steps", "channels", "actions"), int),
    "bits": tuple[float, ...],
    **dict.fromkeys(("notes", "lines"), tuple[str, ...]),
    "decisions": [_DECISION],
    "elsewhere": [_STEP],
    "film": [_SCENE],
}
_PAIR = {
    "decision": Annotated[int, Range(1, LARGEST)],
    "episodes": tuple[int, int],
    **dict.fromkeys(("distance", "nearer", "action"), float),
}
_WITNESSES = {
    "digest": str,
    "tolerance": float,
    "decisions": [dict.fromkeys(("episodes", "rows", "classes"), _Steps)],
    "pairs": [_PAIR],
}


def write_need(path: Path, document: dict[str, Any]) -> None:
    write_json(path, {"format": FORMAT, **document})


def write_witnesses(path: Path, document: dict[str, Any]) -> None:
    write_json(path, {"format": WITNESSES, **document})


def read_need(path: Path) -> dict[str, Any]:
    """A need.json, checked; one of before the witness film has none."""
    document = {"film": [], **read_json(path, FORMAT, REMEDY)}
    return read_as(_NEED, document, str(path), REMEDY)


def read_witnesses(path: Path) -> dict[str, Any]:
    """A witnesses.json, checked."""
    return read_as(_WITNESSES, read_json(path, WITNESSES, REMEDY), str(path), REMEDY)
