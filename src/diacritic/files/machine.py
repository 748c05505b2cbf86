"""A finite machine in one file (`diacritic-machine/1`), its tables written by names."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from certify.errors import UserError
from diacritic.files.atomic import read_json, write_json
from diacritic.files.schema import Range, read_as

FORMAT = "diacritic-machine/1"
REMEDY = "export it again with `diacritic export`"
_Count = Annotated[int, Range(1, 10_000_000)]  # codes, steps


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
        moves = [[*key, code] for key, code in sorted(self.moves.items())]
        acts = [[*key, action] for key, action in sorted(self.acts.items())]
        write_json(path, {"format": FORMAT, **vars(self), "moves": moves, "acts": acts})

    @classmethod
    def load(cls, path: Path) -> Self:
        """A machine from its file, every entry checked."""
        given: _Document = read_as(_Document, read_json(path, FORMAT, REMEDY), str(path), REMEDY)
        named = [*(row[0] for row in (*given.moves, *given.acts)), *(row[3] for row in given.moves)]
        odd = [code for code in (*named, *given.first.values()) if code >= given.codes]
        if odd:
            raise UserError(str(path), f"has {given.codes} codes, but also names the code {odd[0]}; {REMEDY}")
        moves = {(k, did, seen): code for k, did, seen, code in given.moves}
        acts = {(k, seen): did for k, seen, did in given.acts}
        own = {name: value for name, value in vars(given).items() if name != "format"}
        return cls(**{**own, "moves": moves, "acts": acts})


@dataclass(frozen=True)
class _Document:
    """The file, its tables as rows."""

    format: str
    task: str
    model_sha256: str
    horizon: _Count
    codes: _Count
    first: dict[str, int]
    moves: tuple[tuple[int, str, str, int], ...]
    acts: tuple[tuple[int, str, str], ...]
    bits: tuple[float, ...]
    minimal: bool
    equal: bool
    origin: dict[str, Any]
