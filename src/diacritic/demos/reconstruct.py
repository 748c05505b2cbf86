"""Configurations that were never recorded, rebuilt from donors: each part of a symbol depends on few latents."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.sources.coverage import Recording
from diacritic.demos.requirement import (
    Configuration,
    Tosses,
    all_configurations,
    configurations,
    first_episodes,
    model_of,
    named_episodes,
    tosses,
)
from diacritic.files.demos import Demos

Episode = list[tuple[str, str]]
Grouped = tuple[tuple[int, ...], NDArray[np.int64]]  # positions of a configuration, and each episode's group by them


class Rule(NamedTuple):
    """One part of what is seen or done at one step depends on these positions of the configuration alone."""

    step: int
    positions: tuple[int, ...]
    table: dict[Configuration, str]  # values at the positions → the part
    donors: dict[Configuration, set[Configuration]]  # values at the positions → who was recorded with them

    def chosen(self, configuration: Configuration) -> Configuration:
        return tuple(configuration[p] for p in self.positions)


def complete(demos: Demos) -> Recording:
    """The model of the generating program: every configuration once with every outcome of the expert's coins, the
    unrecorded ones rebuilt from donors."""
    first, recorded, drawn = first_episodes(demos), named_episodes(demos), tosses(demos)
    wanted = all_configurations(demos)
    rules = rules_of(demos) if len(first) < len(wanted) else []
    episodes = [recorded[first[item]] if item in first else _rebuilt(rules, item) for item in wanted]
    outcomes = sorted({outcome for table in drawn.values() for outcome in table}) or [()]
    every = [_tossed(episode, drawn, outcome) for outcome in outcomes for episode in episodes]
    return model_of(demos, every, wanted * len(outcomes))


def reproduced(demos: Demos) -> tuple[int, int]:
    """Recorded configurations that *other* recorded ones tell in full, and how many configurations were recorded."""
    rules, recorded = rules_of(demos), set(configurations(demos))
    told = [item for item in recorded if all(rule.donors[rule.chosen(item)] - {item} for row in rules for rule in row)]
    return len(told), len(recorded)


def rules_of(demos: Demos) -> list[list[Rule]]:
    """Of each step and each part (phase, probe channels, classes, action): the latents that determine it.

    An action that a coin decides is left blank.

    Of several such sets the one with the fewest values counts: a latent that never repeats determines everything.
    """
    recorded, drawn = configurations(demos), tosses(demos)
    size = len(demos.convention.strata)
    subsets = [part for length in range(size + 1) for part in combinations(range(size), length)]
    values = np.array(recorded, np.int64).reshape(demos.episodes, size)
    groups = [np.unique(values[:, list(part)], axis=0, return_inverse=True)[1].reshape(-1) for part in subsets]
    grouped = sorted(zip(subsets, groups, strict=True), key=lambda pair: int(pair[1].max()))
    return [
        [_rule(demos, t, recorded, grouped, column) for column in zip(*_parts(demos, t, t in drawn), strict=True)]
        for t in range(demos.steps)
    ]


def _parts(demos: Demos, t: int, drawn: bool) -> list[tuple[str, ...]]:
    """Of each episode: phase, every probe channel, every class, and the action at last."""
    split = [_split(name) for name in demos.symbol_names]
    shown, done = demos.symbols[t].tolist(), demos.choices[t].tolist()
    return [(*split[s], "" if drawn else demos.choice_names[a]) for s, a in zip(shown, done, strict=True)]


def _tossed(episode: Episode, drawn: Tosses, outcome: Configuration) -> Episode:
    """The episode with the actions that an outcome of the coins decides."""
    return [(seen, drawn[t][outcome] if t in drawn else done) for t, (seen, done) in enumerate(episode)]


def _split(symbol: str) -> tuple[str, ...]:
    phase, probe, *classes = symbol.split(" ")
    return (phase, *probe, *classes)


def _rule(demos: Demos, t: int, recorded: list[Configuration], grouped: list[Grouped], column: tuple[str, ...]) -> Rule:
    numbers = np.unique(column, return_inverse=True)[1]
    for positions, group in grouped:
        if len(np.unique(np.stack([group, numbers]), axis=1).T) > group.max() + 1:
            continue
        rule = Rule(t, positions, {}, {})
        for configuration, part in zip(recorded, column, strict=True):
            values = rule.chosen(configuration)
            rule.table[values] = part
            rule.donors.setdefault(values, set()).add(configuration)
        return rule
    raise UserError(f"step {t}", f"the latents of {demos.task} do not determine the symbol; it is not deterministic")


def _rebuilt(rules: list[list[Rule]], configuration: Configuration) -> Episode:
    episode: Episode = []
    for row in rules:
        for rule in row:
            if rule.chosen(configuration) not in rule.table:
                raise UserError(f"step {rule.step}", f"no recorded episode can stand in for {configuration}")
        phase, *middle, action = (rule.table[rule.chosen(configuration)] for rule in row)
        probe = [part for part in middle if len(part) == 1]  # a channel is one sign, a class is name=value
        classes = [part for part in middle if len(part) > 1]
        episode.append((" ".join([phase, "".join(probe), *classes]), action))
    return episode
