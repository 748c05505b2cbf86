"""Machines to play with, and the closed loop and occupancy spelled out history by history."""

from fractions import Fraction
from itertools import product

import numpy as np
from certify_twin import LAWS, History, Row, Twin
from hypothesis import strategies as st

from certify import Model
from certify.core.graph import Names
from diacritic.rollout.machine import CodeMachine


def names_of(names: Names) -> list[str]:
    return [names[k] for k in range(len(names))]


def random_machine(model: Model, codes: int, seed: int, determined: float = 0.5) -> CodeMachine:
    """Random tables that depend on the names of the symbols, not on their numbers; some rows act with certainty."""
    random = np.random.default_rng(seed)
    seen, done = names_of(model.graph.observations), names_of(model.graph.actions)
    move = random.integers(0, codes, (codes + 1, len(seen), len(done) + 1))
    act = random.dirichlet(np.ones(len(done)), (codes, len(seen)))
    certain = random.random((codes, len(seen))) < determined
    act[certain] = np.eye(len(done))[act[certain].argmax(axis=1)]
    rank, choice = np.argsort(np.argsort(seen)), np.argsort(np.argsort(done))
    return CodeMachine(move[:, rank][:, :, [*choice, len(done)]], act[:, rank][:, :, choice])


class Reader:
    """A machine that reads names."""

    def __init__(self, machine: CodeMachine, model: Model) -> None:
        self.machine = machine
        self.seen = {name: k for k, name in enumerate(names_of(model.graph.observations))}
        self.done = {name: k for k, name in enumerate(names_of(model.graph.actions))}

    def code(self, history: History) -> int:
        """C_t after O_1, A_1, …, O_t, one step after the other."""
        machine = self.machine
        code = int(machine.move[machine.codes, self.seen[history[0]], machine.actions])
        for action, observation in zip(history[1::2], history[2::2], strict=True):
            code = int(machine.move[code, self.seen[observation], self.done[action]])
        return code

    def law(self, history: History) -> dict[str, float]:
        row = self.machine.act[self.code(history), self.seen[history[-1]]]
        return {name: float(row[k]) for name, k in self.done.items()}


def recorded_loop(reader: Reader, twin: Twin) -> tuple[float, float, list[dict[History, float]]]:
    """Success, expected correct actions, and P(history) under the machine, where only recorded actions are answered."""
    levels: list[dict[History, float]] = [{h: float(facts.mass) for h, facts in twin.levels[0].items()}]
    correct = last = 0.0
    for t, facts in enumerate(twin.levels):
        last = sum(p * sum(reader.law(h)[a] for a, _ in facts[h].law) for h, p in levels[t].items())
        correct += last
        if t + 1 < twin.horizon:
            following: dict[History, float] = {}
            for h, p in levels[t].items():
                for action, observation in facts[h].support:
                    answers = [(*h, action, o) for a, o in facts[h].support if a == action]
                    whole = sum(twin.levels[t + 1][k].mass for k in answers)
                    share = twin.levels[t + 1][(*h, action, observation)].mass / whole
                    following[(*h, action, observation)] = p * reader.law(h)[action] * float(share)
            levels.append(following)
    return last, correct, levels


Latents = list[tuple[Fraction, tuple[Row, ...]]]


def latent_step(rows: tuple[Row, ...], actions: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """What a latent of `certify_twin` shows after some actions, and its law."""
    first, second, law = rows[len(actions)]
    return (second if actions and actions[-1] == "b" else first), LAWS[law]


@st.composite
def latent_models(draw: st.DrawFn) -> tuple[Model, Latents]:
    """Random latents of up to four steps with both actions in use, and the model that they make."""
    horizon = draw(st.integers(1, 4))
    words = st.sampled_from(["x", "y", "z"])
    rows = st.tuples(words, words, st.integers(0, 4))
    drawn = draw(st.lists(st.tuples(st.integers(1, 3), st.tuples(*[rows] * horizon)), min_size=1, max_size=4))
    latents = [(weight, row) for weight, row in drawn]
    latents.append((1, ((("x", "x", 3),) * horizon)))  # so that every machine knows two actions
    total = sum(weight for weight, _ in latents)
    exact = [(Fraction(weight, total), row) for weight, row in latents]
    return Model.from_latents(horizon, [(row, weight) for weight, row in exact], latent_step), exact


def living_loop(reader: Reader, latents: Latents, horizon: int) -> tuple[float, float]:
    """Success and expected correct actions, over every latent and every sequence of actions."""
    success = correct = 0.0
    for (weight, rows), actions in product(latents, product("ab", repeat=horizon)):
        history: History = ()
        p, right, clean, cut = float(weight), 0, True, 0
        for t, action in enumerate(actions):
            shown, law = latent_step(rows, actions[:t])
            if shown not in reader.seen:  # the episode is over, whatever would follow
                cut = horizon - t
                break
            history = (*history, shown)
            good = Fraction(law.get(action, "0")) > 0
            p, right, clean = p * reader.law(history)[action], right + good, clean and good
            history = (*history, action)
        p /= 2**cut  # as many sequences share this beginning
        correct += p * right
        success += p * (clean and not cut)
    return success, correct
