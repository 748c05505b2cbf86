"""Which part of the past helps: velocity, a filter, previous actions, or older frames given all of these."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from diacritic.need.aligned import Aligned
from diacritic.need.ridge import Floats, Ridge, linear_kernel


@dataclass(frozen=True)
class Gains:
    """Nats by which squared errors fall, over the channels that the present leaves open."""

    velocity: float
    filter: float
    actions: float
    recent: float  # all three together
    older: float  # these and the best older frame
    p_older: float  # of no older frame helping, given all recent ones; corrected for columns, not for steps
    frame: int  # the step of the older frame that helps most
    column: Floats  # its channel

    @property
    def memory(self) -> float:
        """What only older frames give."""
        return self.older - self.recent


def dependence(residuals: Floats, columns: Floats) -> tuple[float, int]:
    """Generalised covariance measure, the largest over all pairs of columns: Bonferroni p, and the column."""
    rows, most, best = len(residuals), 0.0, 0
    for residual in residuals.T:
        product = residual[:, None] * columns
        size = np.sqrt((product**2).mean(0)) + 1e-12  # a product that never varies is the strongest evidence there is
        spread = np.maximum(product.std(0), 1e-3 * size)
        statistic = np.abs(product.mean(0)) / spread * np.sqrt(rows) * (size > 1e-9)
        if len(statistic) and statistic.max() > most:
            most, best = float(statistic.max()), int(statistic.argmax())
    tests = residuals.shape[1] * max(columns.shape[1], 1)
    return min(1.0, 2 * float(student.sf(most, rows - 1)) * tests), best


def nested_gains(data: Aligned, s: int, targets: Floats, errors: Floats) -> Gains:
    """Gains of each part of the past in predicting `targets`, whose present squared errors are given."""
    frame = data.frames[s]

    def gain(ridge: Ridge) -> float:
        left = ((targets - ridge.leave_one_out(targets)) ** 2).mean(0)
        return float(0.5 * np.log((1 + errors) / (1 + np.minimum(errors, left))).sum())

    recent, moves = data.recent(s, data.observations), data.recent(s, data.actions)
    context = np.concatenate([*recent, *moves, *data.averages(s)], 1)
    forecast = Ridge(linear_kernel(context)).leave_one_out(frame.columns)  # all that a filter can say of the present
    parts = {
        "velocity": linear_kernel(np.concatenate(recent, 1)),
        "filter": linear_kernel(forecast),
        "actions": linear_kernel(np.concatenate(moves, 1)),
    }
    gains = {name: gain(Ridge(frame.rich + kernel)) for name, kernel in parts.items()}
    everything = frame.rich + sum(parts.values())
    ridge = Ridge(everything)
    best = max(gain(ridge), *gains.values())
    columns, when = data.past(data.older(s))
    if not columns.shape[1]:
        return Gains(**gains, recent=best, older=best, p_older=1.0, frame=0, column=np.zeros((len(targets), 1)))
    p, k = dependence(targets - ridge.leave_one_out(targets), columns - ridge.leave_one_out(columns))
    old = data.frames[int(when[k])]
    plain = linear_kernel(old.columns)
    ways = (everything + plain, everything + old.rich, frame.rich + plain)
    older = max(best, *(gain(Ridge(way)) for way in ways))
    return Gains(**gains, recent=best, older=older, p_older=p, frame=int(when[k]), column=columns[:, [k]])
