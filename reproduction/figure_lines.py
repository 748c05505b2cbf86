"""Lines of results/figures/STUDY.jsonl: one measured figure each, by name; standard library alone."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from diacritic._version import __version__
from diacritic.files.atomic import write_text

Line = dict[str, Any]


def line(figure: str, value: Any, seconds: float, device: str) -> Line:
    """A figure as it is kept: what it is, how long that took, and where."""
    return {"figure": figure, "value": value, "seconds": round(seconds, 3), "device": device, "diacritic": __version__}


def enter(path: Path, lines: Iterable[Line], declared: Collection[str] | None = None) -> None:
    """Put lines in place of those of the same figures; others stay, as far as they are declared (none: all)."""
    before = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    kept = {old["figure"]: old for old in before if declared is None or old["figure"] in declared}
    kept |= {new["figure"]: new for new in lines}
    if kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, "".join(sorted(json.dumps(one, ensure_ascii=False) + "\n" for one in kept.values())))
