"""`diacritic need --check`: whether witnesses.json says the truth about a recording."""

from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.need.classes import GAP
from diacritic.need.ridge import scaled
from diacritic.need.witnesses import alike, squared_distances

CLOSE = 1e-6
NEAR = 0.01  # share of like pairs that must be at least as far as a pair that counts as alike


def check_witnesses(document: dict[str, Any], demos: Demos) -> list[str]:
    """Everything that is wrong; nothing where each pair looks alike and acts differently, as stated."""
    if document["digest"] != demos.digest:
        raise UserError(demos.task, "is not the recording of these witnesses; give that one")
    actions = demos.actions.reshape(*demos.actions.shape[:2], -1).astype(np.float64)
    running = np.arange(demos.steps)[:, None] < demos.lengths[None]
    spread = actions[running].std(0)
    spread = np.where(spread > 0, spread, np.inf) * document["tolerance"]
    problems = []
    for k, pair in enumerate(document["pairs"]):
        if pair["decision"] > len(document["decisions"]):
            raise UserError(f"pairs[{k}]", f"names decision {pair['decision']}, which the file does not have")
        decision = document["decisions"][pair["decision"] - 1]
        episodes, rows, labels = (np.array(decision[name], np.int64) for name in ("episodes", "rows", "classes"))
        if len(set(map(len, (episodes, rows, labels)))) > 1 or not _inside(episodes, rows, demos):
            raise UserError(f"decisions[{pair['decision'] - 1}]", "names episodes or rows that are not recorded")
        seen = scaled(demos.observations[rows, episodes].astype(np.float64))
        try:
            one, two = (episodes.tolist().index(episode) for episode in pair["episodes"])
        except ValueError:
            raise UserError(f"pairs[{k}]", "names an episode that its decision does not have") from None
        distance, nearer = alike(squared_distances(seen), labels, (one, two), seen.shape[1])
        acted = actions[rows, episodes] / spread
        action = float(np.linalg.norm(acted[one] - acted[two]))
        truths = {"distance": distance, "nearer": nearer, "action": action}
        wrong = [name for name, truth in truths.items() if abs(truth - pair[name]) > CLOSE * (1 + abs(truth))]
        if wrong:
            problems.append(f"pairs[{k}]: {wrong[0]} is {truths[wrong[0]]:.6g}, not {pair[wrong[0]]:.6g}")
        elif labels[one] == labels[two] or action < GAP:
            problems.append(f"pairs[{k}]: the two episodes act alike")
        elif nearer < NEAR:
            problems.append(f"pairs[{k}]: the frames are farther apart than all frames of one class")
    return problems


def _inside(episodes: np.ndarray, rows: np.ndarray, demos: Demos) -> bool:
    inside = (episodes >= 0) & (episodes < demos.episodes)
    return bool(inside.all() and ((rows >= 0) & (rows < demos.lengths[episodes])).all())
