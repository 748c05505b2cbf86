"""Learners by name: every one trains, and unknown names get suggestions."""

import re
from dataclasses import replace

import pytest
import torch
from carrier_twin import symbols, vectors

from certify.errors import UserError
from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.memory.vector import VectorMemory
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import ALIASES, LEARNERS, learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=4, code_size=4, width=8)


@pytest.mark.parametrize("name", [name for name in LEARNERS if not LEARNERS[name].certified])
def test_every_learner_trains(name: str) -> None:
    """On vectors with the carousel, on symbols with the full gradient; every part moves. One is taught otherwise."""
    chosen = learner(name)
    for data, how in ((vectors(6, 3), "carousel"), (symbols(6, 3), "full")):
        used = replace(preset("carousel"), gradient=how)
        cohort = Cohort(Plan(chosen, used, (Run(1), Run(2)), 20, SMALL), data)
        before = {key: value.detach().clone() for key, value in cohort.parameters.items()}
        cohort.advance(2)
        assert cohort.losses.isfinite().all()
        assert not cohort.optimiser.diverged.any()
        for head in _heads(name):
            for run in range(2):
                moved = any(
                    not torch.equal(value[run], before[key][run])
                    for key, value in cohort.parameters.items()
                    if key.startswith(head)
                )
                assert moved, (head, run)


def _heads(name: str) -> list[str]:
    """The parameters that a learner must move, by the beginning of their names."""
    if name == "gru-code":
        return ["observe", "previous", "cell.input", "cell.state", "codebook", "act"]
    if name.startswith("gru"):
        return ["input", "cell", "head"]
    if name in ("full-history", "transformer"):
        codes = ["codebook"] if name == "full-history" else []
        return ["observe", "token", "block0", "block1", "positions", "state", "act", *codes]
    if isinstance(memory_of(learner(name).architecture(SMALL)), VectorMemory):
        return ["observe", "previous", "memory.in", "cell", "memory.out", "act"]
    heads = [
        "observe",
        "previous",
        "residual.observation",
        "residual.code",
        "residual.out",
        "act.observation",
        "act.out",
    ]
    parts = {
        "bfs": "bfs",
        "event-agnostic": "later" if "-all" in name else "future",
        "task-informed": "pending",
        "teacher": "teacher",
        "sysid": "identify",
        "dual": "identification",
        "inverse": "inverse",
        "open-loop": "ahead",
        "world": "world",
        "join": "join",
        "scaffold": "path",
        "bypass": "path",
        "gaussian": "gaussian",
        "matched": "symbol",
        "hierarchical": "choose",
        "intent": "choose",
    }
    heads += [head for part, head in parts.items() if part in name]
    heads = [head for head in heads if (name, head) != ("non-persistent", "residual.code")]  # no code ever enters
    if name in ("fsq", "lfq"):  # the lattice has a point at zero, where codes begin
        return [*(head for head in heads if (name, head) != ("fsq", "residual.code")), "lattice"]
    return heads if name == "gaussian" else [*heads, "codebook"]


def test_names_of_the_paper_are_accepted() -> None:
    for alias, name in ALIASES.items():
        assert learner(alias) is LEARNERS[name]


@pytest.mark.parametrize(
    ("name", "near"), [("event-agnostik", "event-agnostic"), ("plain+bsf", "plain+bfs"), ("gru-16", "gru-128")]
)
def test_unknown_names_get_suggestions(name: str, near: str) -> None:
    with pytest.raises(
        UserError, match=rf"^--learner: no learner is called '[^']*'; did you mean [^\n]*{re.escape(near)}"
    ) as refusal:
        learner(name)
    assert "\n" not in str(refusal.value)


def test_names_that_are_like_nothing_get_the_list() -> None:
    with pytest.raises(UserError, match="known: plain, plain\\+bfs, event-agnostic"):
        learner("xyzzy")


def test_a_learner_changes_the_carrier_it_needs() -> None:
    assert learner("non-persistent").architecture(SMALL).persistent is False
    assert learner("dual-detached").architecture(SMALL).detached
    assert learner("matched").architecture(SMALL).side == "symbol"
    assert learner("plain").architecture(SMALL) == SMALL


def test_a_name_may_change_sizes_of_the_carrier() -> None:
    changed = learner("gru-128:state_size=64,width=32")
    assert changed.name == "gru-128:state_size=64,width=32"
    assert replace(changed, name="gru-128", changes=changed.changes[:-2]) == learner("gru-128")
    carrier = changed.architecture(Architecture())
    assert (carrier.memory, carrier.state_size, carrier.width) == ("gru", 64, 32)
    for name in ("plain:code_size=0", "plain:memory=gru", "plain:width", "plain:width=1.5"):
        with pytest.raises(UserError, match=r"is not a size, as width=64 is; known: .*code_size"):
            learner(name)
