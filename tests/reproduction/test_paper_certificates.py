"""What the paper certifies, against bsuite and the zoo and a stand-in with the interface of the real suite."""

from pathlib import Path

import pytest

from certify.errors import UserError
from reproduction.paper_certificates import print_certificates

CHAIN = '''
import numpy as np
from .base import TimeStep


class MemoryChain:
    """Same interface as the suite's: the cue is shown at reset and after the first step."""

    def __init__(self, memory_length, num_bits):
        self.length, self.bits = memory_length, num_bits

    def reset(self, seed=None):
        draw = np.random.RandomState(seed)
        self._context, self._query, self.t = draw.binomial(1, 0.5, self.bits), draw.randint(self.bits), 0
        return TimeStep(self.look(), False)

    def look(self):
        shown = self._context * 2.0 - 1 if self.t == 0 else np.zeros(self.bits)
        asked = self._query if self.t == self.length - 1 else 0
        return np.concatenate([[1 - self.t / self.length, asked], shown])[None]

    def step(self, action):
        seen = self.look()
        self.t += 1
        return TimeStep(seen, self.t > self.length)
'''
BASE = """
class TimeStep:
    def __init__(self, observation, ended):
        self.observation, self.ended = observation, ended

    def last(self):
        return self.ended
"""
MAZE = """
import numpy as np


class TMazeClassicPassive:
    def __init__(self, corridor_length):
        self.length = corridor_length

    def reset(self, seed=None):
        np.random.seed(seed)
        self.goal_y, self.x = np.random.choice([-1, 1]), 0
        return np.array([0.0, self.goal_y]), {}

    def step(self, action):
        self.x += action == 0
        shown = [1.0, 0.0] if self.x == self.length else [0.0, SECRET]
        return np.array(shown), 0.0, False, False, {}
"""


def stand_in(folder: Path, leak: bool = False) -> Path:
    """A checkout with the suite's layout whose package file must not be run."""
    files = {
        "__init__.py": "raise RuntimeError('the package file needs simulators')",
        "Bsuite/env/base.py": BASE,
        "Bsuite/env/memory_chain.py": CHAIN,
        "Passive_T_Maze/env/env_passive_t_maze.py": MAZE.replace("SECRET", "self.goal_y" if leak else "0.0"),
    }
    for name, text in files.items():
        path = folder / "mikasa_base" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_paper_with_bsuite_and_the_zoo(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_certificates(None) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 13 + 2 + 1
    assert [line.split()[-1] for line in lines[1:-1]] == ["yes"] * 15
    assert sum("bsuite" in line for line in lines) == 9
    assert "MIKASA" not in "".join(lines)
    assert "0 x2, 3 x98, 1" in lines[9]
    assert lines[-1].startswith("15 of 15 match")


def test_the_paper_with_a_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_certificates(stand_in(tmp_path)) == 0
    out = capsys.readouterr().out
    assert out.count("MIKASA-Base") == 13
    assert out.splitlines()[-1].startswith("15 of 15 match")


def test_a_row_that_does_not_match_fails_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_certificates(stand_in(tmp_path, leak=True)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if "T-maze" in line] == ["NO"] * 4


def test_a_folder_without_the_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give a checkout of MIKASA-Base"):
        print_certificates(tmp_path)
