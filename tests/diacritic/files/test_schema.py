"""Documents against types: what fits is read, what does not is named with its place."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from certify.errors import UserError
from diacritic.files.schema import FileName, Range, fits, read_as


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Range(1, 9)]
    pair: tuple[int, str] = (0, "")


@dataclass(frozen=True)
class Outer:
    kind: Literal["a", "b"]
    inner: tuple[Inner, ...]
    name: FileName = "x"
    bits: dict[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name == "odd":
            raise UserError("name", "is odd")


WHOLE: dict[str, Any] = {"kind": "a", "inner": [{"size": 3, "pair": [1, "z"]}], "bits": {"gap": 1, "late": None}}


def test_objects_become_dataclasses_and_lists_tuples():
    assert read_as(Outer, WHOLE, "p", "r") == Outer("a", (Inner(3, (1, "z")),), bits={"gap": 1.0, "late": None})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "c"}, "p: kind is 'c', but one of a, b is expected; r"),
        ({"kind": None}, "p: kind is None, but one of a, b is expected"),
        ({"inner": {}}, "p: inner is dict, but a list is expected"),
        ({"inner": [{"size": 0}]}, "p: inner: [0]: size is 0, but an integer from 1 to 9 is expected"),
        ({"inner": [{"size": True}]}, "p: inner: [0]: size is True, but an integer"),
        ({"inner": [{}]}, "p: inner: [0]: lacks 'size'"),
        ({"inner": [{"size": 1, "pair": [1]}]}, "p: inner: [0]: pair is list, but a list of 2 is expected"),
        ({"inner": [3]}, "p: inner: [0] is not a JSON object"),
        ({"bits": {"gap": float("inf")}}, "p: bits: gap is inf, but a finite number is expected"),
        ({"name": "../x"}, "p: name is '../x', but a name of letters, digits and ._+=,- is expected"),
        ({"name": "odd"}, "p: name: is odd; r"),
        ({"more": 1}, "p: has an unknown field 'more'"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], said: str):
    with pytest.raises(UserError) as problem:
        read_as(Outer, WHOLE | change, "p", "r")
    assert str(problem.value).startswith(said)


def test_an_object_of_named_fields_leaves_others_alone():
    kind = {"a": int, "b": float | None, "c": [{str: bool}]}
    assert read_as(kind, {"a": 1, "c": [{"x": True}], "d": 2}, "p", "r") == {"a": 1, "c": ({"x": True},), "d": 2}
    assert not fits(kind, {"b": None, "c": []})
    assert not fits(kind, {"a": 1, "c": [{"x": 1}]})
    assert not fits(kind, {"a": 2**60, "c": []})
