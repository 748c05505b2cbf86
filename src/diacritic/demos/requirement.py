"""From a recording to its certificate: Ō_t and the expert's symbolic actions, counted exactly, go to `certify`."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from certify import Answer, certify
from certify.errors import UserError
from certify.sources.adapter import Law
from certify.sources.coverage import Coverage, Recording
from certify.sources.recordings import from_recordings
from diacritic.demos.binner import Binner
from diacritic.files.demos import Demos
from diacritic.tasks.protocol import Ints, Latents
from diacritic.tasks.recorded import require_labels

SAME = 5e-4  # bits: equal to the three digits that the paper prints

Configuration = tuple[int, ...]
Tosses = dict[int, dict[Configuration, str]]
"""Of each step at which a coin decides: the action by the outcome of all coins."""


def configurations(demos: Demos) -> list[Configuration]:
    """The latent configuration of each episode: its values in the strata of the convention."""
    columns = [_latent(demos, name).tolist() for name in demos.convention.strata]
    return list(zip(*columns, strict=True)) if columns else [()] * demos.episodes


def all_configurations(demos: Demos) -> list[Configuration]:
    """Every latent configuration that the generating program can draw."""
    return list(product(*(range(size) for size in demos.convention.strata.values())))


def tosses(demos: Demos) -> Tosses:
    """The steps at which the expert's action is a draw of its own, which its coins decide and nothing else."""
    names = {name: _latent(demos, name) for name in demos.convention.coins}
    return coin_tosses(names, demos.choices, demos.choice_names)


def coin_tosses(coins: Latents, choices: Ints, names: tuple[str, ...]) -> Tosses:
    """The same of coins [N] and choices [T, N]."""
    if not coins:
        return {}
    outcomes = list(zip(*(values.tolist() for values in coins.values()), strict=True))
    decided: Tosses = {}
    for t, row in enumerate(choices.tolist()):
        pairs = set(zip(outcomes, row, strict=True))
        if len(set(row)) > 1 and len(pairs) == len(set(outcomes)):
            decided[t] = {outcome: names[action] for outcome, action in sorted(pairs)}
    return decided


def recording(demos: Demos) -> Recording:
    """The finite model that the recording induces, with exact counts; refused where the expert looks stochastic."""
    return model_of(demos, named_episodes(demos), configurations(demos) if demos.convention.strata else None)


def named_episodes(demos: Demos) -> list[list[tuple[str, str]]]:
    """Every episode as a list of (symbol, action) in words, as long as it runs."""
    require_labels(demos)
    shown, done = demos.symbol_names, demos.choice_names
    return [
        [(shown[s], done[a]) for s, a in zip(symbols[:length], choices[:length], strict=True)]
        for symbols, choices, length in zip(
            demos.symbols.T.tolist(), demos.choices.T.tolist(), demos.lengths.tolist(), strict=True
        )
    ]


def certify_recording(demos: Demos) -> Answer:
    """The certificate of the recorded episodes: H(G|Ō), H(Γ|Ō), H(Γˢ|Ō) and the checks, step by step."""
    return certify(recording(demos).model)


def coverage(demos: Demos) -> Coverage:
    """Which latent configurations were recorded, and the Good–Turing mass of those that were not."""
    return recording(demos).coverage(all_configurations(demos) if demos.convention.strata else None)


def nondeterministic(demos: Demos) -> list[Configuration]:
    """Configurations whose episodes differ in a symbol or an action that no coin decides; there must be none."""
    first, drawn = first_episodes(demos), tosses(demos)
    odd: dict[Configuration, None] = {}
    for episode, configuration in enumerate(configurations(demos)):
        donor = first[configuration]
        for values in (demos.symbols, np.delete(demos.choices, list(drawn), axis=0)):
            if (values[:, episode] != values[:, donor]).any():
                odd.setdefault(configuration)
    return list(odd)


def differences(one: Answer, two: Answer) -> list[str]:
    """In what two certificates differ: horizon, entropies to three digits, and the steps at which a check fails."""
    if one.model.horizon != two.model.horizon:
        return [f"horizons {one.model.horizon} and {two.model.horizon}"]
    lines: list[str] = []
    for a, b in zip(one.steps, two.steps, strict=True):
        for name, x, y in (
            ("H(G|Ō)", a.instantaneous, b.instantaneous),
            ("H(Γ|Ō)", a.classes, b.classes),
            ("H(Γˢ|Ō)", a.strong, b.strong),
            ("lower end", a.lower, b.lower),
            ("upper end", a.upper, b.upper),
        ):
            if (x is None) != (y is None) or (x is not None and y is not None and abs(x - y) >= SAME):
                lines.append(f"step {a.t}: {name} {_bits(x)} and {_bits(y)}")
        for name in ("a2", "a4", "transitive"):
            if getattr(a, name) != getattr(b, name):
                lines.append(f"step {a.t}: {name} {getattr(a, name)} and {getattr(b, name)}")
    return lines


def different_visibility(one: Binner, two: Binner) -> list[str]:
    """Steps at which one binner sees a factor and the other does not."""
    lines: list[str] = []
    for name, reading in one.readings.items():
        other = two.readings[name].visible
        if len(other) != len(reading.visible):
            return [f"{len(reading.visible)} and {len(other)} steps"]
        lines += [f"step {t + 1}: {name}" for t in np.flatnonzero(other != reading.visible)]
    return lines


def model_of(demos: Demos, episodes: list[list[tuple[str, str]]], latents: list[Configuration] | None) -> Recording:
    """The model of episodes of (symbol, action), each with its latent configuration."""
    return from_recordings(episodes, laws=laws_of(episodes, tosses(demos)), latents=latents, name=demos.task)


def laws_of(episodes: list[list[tuple[str, str]]], drawn: Tosses) -> list[list[Law]] | None:
    """The expert's law at every step: fair coins where they decide, else the action; none where no coin does."""
    fair: dict[int, Law] = {
        t: {action: Fraction(count, len(table)) for action, count in Counter(table.values()).items()}
        for t, table in drawn.items()
    }
    return [[fair.get(t, action) for t, (_, action) in enumerate(episode)] for episode in episodes] if fair else None


def first_episodes(demos: Demos) -> dict[Configuration, int]:
    """Of each recorded configuration, the first episode that has it."""
    first: dict[Configuration, int] = {}
    for episode, configuration in enumerate(configurations(demos)):
        first.setdefault(configuration, episode)
    return first


def _latent(demos: Demos, name: str) -> NDArray[np.int32]:
    if name not in demos.latents:
        raise UserError(f"latents[{name}]", f"was not recorded; known are {', '.join(demos.latents)}")
    return demos.latents[name]


def _bits(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
