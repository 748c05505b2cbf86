"""Every way the arrays of an npz file can be wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify import Model, UserError


def load(path: Path) -> str:
    """The one-line refusal of a file."""
    with pytest.raises(UserError) as caught:
        Model.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


GOOD_ARRAYS: dict[str, Any] = {"observations": [[0, 1], [2, 1]], "actions": [[0, 0], [0, 1]]}


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"actions": [[0, 0, 0], [0, 1, 0]]}, "actions: shape (2, 3), but observations have shape (2, 2)"),
        ({"actions": [0, 1]}, "actions: expected 2 axes with at least one entry, not shape (2,)"),
        ({"actions": np.zeros((2, 0), int), "observations": np.zeros((2, 0), int)}, "observations: expected 2 axes"),
        ({"actions": [[0, 0], [0, -1]]}, "actions: the entry -1 is negative"),
        ({"actions": [[0.0, 0.0], [0.0, 1.0]]}, "actions: expected integers, not float64"),
        ({"observations": [[0, 1], [2**40, 1]]}, "observations: an id is too large; number the symbols from 0"),
        ({"weights": [1]}, "weights: 1 weights for 2 episodes"),
        ({"weights": [1, -1]}, "weights: the entry -1 is negative"),
        ({"weights": [0, 0]}, "weights: every weight is zero"),
        ({"weights": [0.5, 0.5]}, "weights: expected integers, not float64"),
        ({"laws": [[0, 0], [0, 0]]}, "law_table: missing, but laws are given"),
        ({"laws": [[0, 0], [0, 1]], "law_table": [[1, 1]]}, "laws: expected shape (2, 2) with entries below 1"),
        ({"laws": [[0, 0], [0, 0]], "law_table": [[0, 0]]}, "law_table[0]: the row is all zero"),
        (
            {"laws": [[0, 0], [0, 0]], "law_table": [[1, 0]]},
            "actions[1, 1]: action 1 is outside the support of its law",
        ),
        (
            {"laws": [[1, 0], [1, 0]], "law_table": [[1, 1], [1, 1]]},
            "episodes[0].steps[0]: after this history the episodes draw 'a0' with weight 1 of the whole",
        ),
        ({"observation_names": ["x"]}, "observation_names: expected 3 different names, not 1 with 1 different"),
        ({"observation_names": ["x", "x", "y"]}, "observation_names: expected 3 different names, not 3 with 2"),
        ({"extra": [1]}, 'unknown array "extra"; expected action_names, actions, '),
    ],
)
def test_bad_arrays(tmp_path: Path, extra: dict[str, Any], message: str) -> None:
    assert load(save(tmp_path / "model.npz", **GOOD_ARRAYS | extra)).startswith(message)


def test_the_good_arrays_are_good(tmp_path: Path) -> None:
    assert Model.load(save(tmp_path / "model.npz", **GOOD_ARRAYS)).horizon == 2


def test_npz_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(b"PK\x03\x04 and nothing")
    assert load(path).startswith("not an npz file of plain arrays: ")
    assert load(save(path, actions=[[0]])) == 'the array "observations" is missing'
    save(path, observations=np.array([[{}]], dtype=object), actions=[[0]])
    assert load(path).startswith("not an npz file of plain arrays: an array holds Python objects")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert load(tmp_path / "absent.npz") == "cannot be read: No such file or directory"
