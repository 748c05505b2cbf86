"""A finite machine in one file (`diacritic-machine/1`), its tables written by names."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from diacritic.files.atomic import read_json, write_json
from diacritic.files.fields import Fields

FORMAT = "diacritic-machine/1"
REMEDY = "export it again with `diacritic export`"
_MANY = 10_000_000  # codes, steps


@dataclass(frozen=True)
class MachineFile:
    """C_1 = first[O_1], then C_t = moves[C_{t−1}, A_{t−1}, O_t]; A_t = acts[C_t, O_t]. A code is all it remembers."""

    task: str
    model_sha256: str
    horizon: int
    codes: int
    first: dict[str, int]
    moves: dict[tuple[int, str, str], int]
    acts: dict[tuple[int, str], str]
    bits: tuple[float, ...]  # H(C_t | O_t)
    minimal: bool  # these bits are the certified minimum at every step
    equal: bool  # it does what the expert does; else the expert chooses at random, and it makes one of those choices
    origin: dict[str, Any] = field(default_factory=dict)  # where it was learned

    def save(self, path: Path) -> None:
        document = {
            "format": FORMAT,
            "task": self.task,
            "model_sha256": self.model_sha256,
            "horizon": self.horizon,
            "codes": self.codes,
            "first": self.first,
            "moves": [[*key, code] for key, code in sorted(self.moves.items())],
            "acts": [[*key, action] for key, action in sorted(self.acts.items())],
            "bits": list(self.bits),
            "minimal": self.minimal,
            "equal": self.equal,
            "origin": self.origin,
        }
        write_json(path, document)

    @classmethod
    def load(cls, path: Path) -> Self:
        """A machine from its file, every entry checked."""
        given = Fields(read_json(path, FORMAT, REMEDY), str(path), REMEDY)
        given.only("format", *MachineFile.__dataclass_fields__)
        codes, first = given.integer("codes", 1, _MANY), given.inner("first")
        moves = _rows(given, "moves", (int, str, str, int))
        acts = _rows(given, "acts", (int, str, str))
        named = [*(row[0] for row in (*moves, *acts)), *(row[3] for row in moves)]
        odd = [code for code in (*named, *first.values.values()) if type(code) is not int or not 0 <= code < codes]
        if odd:
            raise given.refusal("codes", f"a number of codes to which {str(odd[0])[:20]} belongs")
        bits = given.numbers("bits")
        if None in bits:
            raise given.refusal("bits", "a list of numbers")
        return cls(
            given.text("task"),
            given.text("model_sha256"),
            given.integer("horizon", 1, _MANY),
            codes,
            dict(first.values),
            {(k, did, seen): code for k, did, seen, code in moves},
            {(k, seen): did for k, seen, did in acts},
            tuple(float(value) for value in bits if value is not None),
            given.flag("minimal"),
            given.flag("equal"),
            given.object("origin"),
        )


def _rows(given: Fields, name: str, kinds: tuple[type, ...]) -> list[tuple[Any, ...]]:
    """A table of rows whose entries have these types."""
    rows = given.items(name)
    for row in rows:
        if not isinstance(row, list) or [type(entry) for entry in row] != list(kinds):
            raise given.refusal(name, f"a list of rows of {', '.join(kind.__name__ for kind in kinds)}")
    return [tuple(row) for row in rows]
