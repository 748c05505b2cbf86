"""What one model for all steps, as a policy is, predicts from the frame and from parts of the past."""

import numpy as np

from diacritic.files.demos import Demos
from diacritic.need.ridge import EMPTY, Floats, Ints

LAGS = (15, 30, 60, 120, 240)  # raw frames
FOLDS, FEATURES, PENALTY = 5, 256, 1e-3


def pooled_shares(demos: Demos) -> dict[str, float]:
    """Explained variance of all actions in episodes that the model has not seen; the last three add to the second."""
    seen, acted, episode = _rows(demos)
    now = _with_waves(seen[0])
    recent = [now, seen[1], seen[2]]
    parts = {
        "one frame": [now],
        "and two recent frames (velocity)": recent,
        f"these, and frames {', '.join(map(str, LAGS))} steps ago": [*recent, *(seen[lag] for lag in LAGS)],
        "these, and the share of the episode that is over (a clock)": [*recent, _with_waves(_clock(demos)[:, None])],
        "these, and the two previous actions": [*recent, acted[1], acted[2]],
    }
    return {name: _explained(np.concatenate(columns, 1), acted[0], episode) for name, columns in parts.items()}


def _rows(demos: Demos) -> tuple[dict[int, Floats], dict[int, Floats], Ints]:
    """Standardised frames and actions by lag, all steps of all episodes in a row, and the episode of each."""
    lengths = demos.lengths.tolist()
    steps = np.concatenate([np.arange(length) for length in lengths])
    episode = np.repeat(np.arange(demos.episodes), lengths)

    def lagged(values: Floats, lag: int) -> Floats:
        return values[np.maximum(steps - lag, 0), episode]

    both = []
    for values in (demos.observations, demos.actions.reshape(*demos.actions.shape[:2], -1)):
        rows = values[steps, episode].astype(np.float64)
        varying = rows.std(0) > EMPTY
        both.append((values[:, :, varying] - rows[:, varying].mean(0)) / rows[:, varying].std(0))
    seen = {lag: lagged(both[0], lag) for lag in (0, 1, 2, *LAGS)}
    return seen, {lag: lagged(both[1], lag) for lag in (0, 1, 2)}, episode


def _clock(demos: Demos) -> Floats:
    return np.concatenate([np.linspace(-1, 1, length) for length in demos.lengths.tolist()])


def _with_waves(columns: Floats) -> Floats:
    """The columns, and random Fourier features of them."""
    rng = np.random.default_rng(0)
    width = np.sqrt(columns.shape[1])
    turns = columns @ rng.standard_normal((columns.shape[1], FEATURES)) / width + rng.uniform(0, 2 * np.pi, FEATURES)
    return np.concatenate([columns, np.cos(turns)], 1)


def _explained(columns: Floats, targets: Floats, episode: Ints) -> float:
    """R² over all channels, each fold of episodes predicted by ridge regression on the others."""
    columns = np.concatenate([columns, np.ones((len(columns), 1))], 1)
    left = 0.0
    for fold in range(FOLDS):
        test = episode % FOLDS == fold
        some = columns[~test]
        gram = some.T @ some + PENALTY * len(some) * np.eye(columns.shape[1])
        weights = np.linalg.solve(gram, some.T @ targets[~test])
        left += float(((targets[test] - columns[test] @ weights) ** 2).sum())
    return 1 - left / float(((targets - targets.mean(0)) ** 2).sum())
