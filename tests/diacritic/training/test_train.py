"""Training to the end: killed and resumed, watched, measured, and refused in one line."""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from carrier_twin import vectors

from certify.errors import UserError
from certify.zoo import build
from diacritic.files.lock import locked
from diacritic.files.tensors import read_tensors
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from diacritic.training.train import measure, train

PLAN = Plan(
    learner("event-agnostic-recorded"),
    replace(preset("carousel"), restarts=5),
    (Run(1), Run(2)),
    100,
    Architecture(codes=6, code_size=4, width=8),
    batch=16,
)
DATA = from_model(build("gap", gap1=1, gap2=1))
KILLED = """
import os, runpy, signal, sys
from pathlib import Path

import diacritic.training.train as trainer

folder, here = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(here.parents[2]))
names = runpy.run_path(str(here))


def deadly(work, last, before):  # at the last call the process kills itself, before or after the work
    calls = []

    def counted(*given):
        calls.append(given)
        if len(calls) == last and before:
            os.kill(os.getpid(), signal.SIGKILL)
        done = work(*given)
        if len(calls) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return counted


for attempt in range(5):
    child = os.fork()
    if child == 0:
        name = ("measure", "save_checkpoint")[attempt % 2]
        setattr(trainer, name, deadly(getattr(trainer, name), 4 + attempt, attempt < 3))
        names["train"](names["PLAN"], names["DATA"], folder=folder, every=0.0)
        os._exit(0)
    print(os.WIFSIGNALED(os.waitpid(child, 0)[1]), flush=True)
"""


def _lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]


def test_killed_again_and_again_it_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 5
    reached = int(read_tensors(tmp_path / "killed" / "checkpoint.safetensors")[1]["step"])
    assert 0 < reached < PLAN.steps
    with (tmp_path / "killed" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1')  # a line that was never finished
    resumed = train(PLAN, DATA, folder=tmp_path / "killed")
    whole = train(PLAN, DATA, folder=tmp_path / "whole")
    assert resumed.step == whole.step == PLAN.steps
    for key, value in whole.optimiser.state().items():
        assert torch.equal(resumed.optimiser.state()[key], value), key
    with torch.no_grad():
        assert torch.equal(resumed.trace().step_code, whole.trace().step_code)
    assert _lines(tmp_path / "killed") == _lines(tmp_path / "whole")
    assert [line["step"] for line in _lines(tmp_path / "whole")] == list(range(2, 101, 2))


def test_what_has_ended_is_not_trained_again(tmp_path: Path) -> None:
    first = train(replace(PLAN, steps=10), DATA, folder=tmp_path)
    before = (tmp_path / "metrics.jsonl").read_text()
    second = train(replace(PLAN, steps=10), DATA, folder=tmp_path)
    assert torch.equal(first.optimiser.flat, second.optimiser.flat)
    assert (tmp_path / "metrics.jsonl").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.safetensors", "metrics.jsonl"]


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(replace(PLAN, steps=3), DATA).step == 3
    assert list(tmp_path.iterdir()) == []


def test_a_judge_is_asked_every_tenth_of_training(tmp_path: Path) -> None:
    asked = []

    def judge(cohort: Cohort) -> list[bool]:
        asked.append(cohort.step)
        return [cohort.step > 50, True]

    train(PLAN, DATA, folder=tmp_path, judge=judge)
    assert asked == list(range(10, 101, 10))
    said = {line["step"]: line.get("sufficient") for line in _lines(tmp_path)}
    assert said[8] is None
    assert said[10] == said[58] == 1
    assert said[60] == said[100] == 2


def test_measures_are_over_the_whole_set() -> None:
    cohort = Cohort(replace(PLAN, runs=(Run(1), Run(2, code_scale=float("nan")))), vectors(5, 4))
    cohort.advance(2)
    measured = measure(cohort)
    assert measured["step"] == 2
    assert measured["diverged"] == [False, True]
    loss = measured["loss"]
    assert isinstance(loss, dict)
    assert set(loss) == {"Imitation", "Rate", "Quantisation", "FutureBehaviour"}
    assert loss["Quantisation"][1] is None  # no number
    codes = cohort.trace().step_code[0]
    share: dict[int, float] = {}
    for t in range(5):
        for n in range(4):
            code = int(codes[t, n])
            share[code] = share.get(code, 0.0) + float(cohort.data.weight[n]) / 5
    assert measured["codes_used"][0] == len(share)
    entropy = -sum(p * math.log(p) for p in share.values())
    assert measured["perplexity"][0] == pytest.approx(math.exp(entropy), rel=1e-4)
    json.dumps(measured, allow_nan=False)


def test_progress_says_how_many_are_sufficient(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    @contextmanager
    def working(text: str) -> Iterator[Callable[[str], None]]:
        said.append(text)
        yield said.append

    monkeypatch.setattr("diacritic.training.train.working", working)
    train(replace(PLAN, steps=20), DATA, judge=lambda cohort: [True, False])
    assert said[0] == "training event-agnostic-recorded, 2 runs"
    assert said[-1] == "20 of 20 updates, 1/2 sufficient"


def test_bad_input_is_refused_in_one_line(tmp_path: Path) -> None:
    broken = vectors(4, 3)
    broken.observation[0, 0] = float("nan")
    with pytest.raises(UserError, match=r"^data\.observation: holds a value that is not finite[^\n]*$"):
        train(PLAN, broken, folder=tmp_path)
    data = vectors(4, 3)
    with pytest.raises(UserError, match=r"^data\.weight: has shape \(2,\), but \(3,\) is needed$"):
        train(PLAN, replace(data, weight=data.weight[:2]), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    train(replace(PLAN, steps=2), DATA, folder=tmp_path)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: the checkpoint is of another configuration"):
        train(replace(PLAN, steps=3), DATA, folder=tmp_path)
    whole = (tmp_path / "checkpoint.safetensors").read_bytes()
    (tmp_path / "checkpoint.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: not a whole safetensors file[^\n]*$"):
        train(replace(PLAN, steps=2), DATA, folder=tmp_path)


def test_the_training_path_needs_torch_numpy_and_safetensors_alone() -> None:
    program = """
import sys

for name in sys.argv[1].split():
    sys.modules[name] = None  # as if it were not installed
import diacritic.training.checkpoint, diacritic.training.cohort, diacritic.rollout.trained_machines
from certify.zoo import build
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from diacritic.training.train import train
small = Architecture(codes=4, code_size=4, width=8)
train(Plan(learner("plain"), preset("carousel"), (Run(1),), 2, small), from_model(build("reveal")))
print("trained")
"""
    blocked = "rich gymnasium tyro duckdb tensorboard scipy sklearn pandas matplotlib ortools mujoco ray triton"
    command = [sys.executable, "-W", "error", "-c", program, blocked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "trained\n", done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_gets_the_mean_loss_of_every_term(tmp_path: Path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    data = from_model(build("passive-t-maze", L=2))
    train(replace(PLAN, steps=10), data, tensorboard=tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {f"loss/{type(term).__name__}" for term in PLAN.learner.terms}
    assert [event.step for event in events.Scalars("loss/Imitation")] == list(range(1, 11))


def test_a_second_training_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UserError, match="another runner is at work in this folder"):
        train(replace(PLAN, steps=1), DATA, folder=tmp_path)


def test_training_stops_once_every_run_stays_sufficient_and_goes_on_like_that_after_a_break(tmp_path: Path) -> None:
    plan = replace(PLAN, until_sufficient=True)

    def judge(cohort: Cohort) -> list[bool]:  # lost once at update 8, for good from 12 on
        return [cohort.step in (6, 12) or cohort.step > 12] * len(plan.runs)

    whole = train(plan, DATA, folder=tmp_path / "whole", judge=judge)
    assert whole.step == 16  # three looks, two updates apart
    assert [line["sufficient"] for line in _lines(tmp_path / "whole")] == [0, 0, 2, 0, 0, 2, 2, 2]

    def interrupted(cohort: Cohort) -> list[bool]:
        if cohort.step == 14:
            raise KeyboardInterrupt
        return judge(cohort)

    with pytest.raises(KeyboardInterrupt):
        train(plan, DATA, folder=tmp_path / "parts", judge=interrupted, every=0.0)
    parts = train(plan, DATA, folder=tmp_path / "parts", judge=judge)
    assert parts.step == 16
    assert all(torch.equal(value, whole.parameters[name]) for name, value in parts.parameters.items())
    assert train(plan, DATA, folder=tmp_path / "parts", judge=judge).step == 16  # nothing is left to do
    assert train(replace(plan, until_sufficient=False), DATA, judge=judge).step == plan.steps
    assert train(plan, DATA).step == plan.steps  # without a judge nobody knows
