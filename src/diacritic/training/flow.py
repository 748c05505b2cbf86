"""What flows back along the state where rows are distinct contexts: values are hard, only the gradient is followed."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.quantise import look_up


@dataclass(frozen=True)
class Track:
    """Where every step of every episode is, and how the state hands its gradient on to the step before."""

    token: Tensor  # the row of every step, [S, T, N]
    share: Tensor  # what part of its row's weight a step is, likewise
    persistent: bool = True
    factor: Tensor | None = None  # where the state is bounded: 1 − tanh² of every row [S, R, d], or 1/‖ẽ‖ [S, R, 1] …
    sphere: Tensor | None = None  # … and its point on the unit sphere [S, R, d]
    layers: tuple[tuple[Tensor, Tensor], ...] = ()
    """The full gradient: where f's hidden layers are active [S, R, H], last first, each with the weights after it."""
    entering: Tensor | None = None  # … and W_code [S, d, H]

    def back(self, flow: Tensor) -> tuple[Tensor, Tensor]:
        """λ_t = J_t (g_t + λ_{t+1} + (∂f_{t+1}/∂e)ᵀ λ_{t+1}) from g [S, T, N, d], in its place; also of e₀, [S, N, d].

        J_t is the derivative of the bound.
        """
        later = torch.zeros_like(flow[:, 0])
        factors, points = self._of_steps(self.factor), self._of_steps(self.sphere)
        layers = [(self._of_steps(active), weight.mT) for active, weight in self.layers]
        for t in range(flow.shape[1] - 1, -1, -1):
            now = flow[:, t]
            now += later
            if factors is not None:
                now *= factors[:, t]
            if points is not None:
                point = points[:, t]
                now -= point * (point * now).sum(-1, keepdim=True)
            if not self.persistent:
                continue
            later = now
            if self.entering is not None:
                hidden = now
                for active, weight in layers:
                    hidden = torch.bmm(hidden, weight)
                    hidden = hidden if active is None else hidden.mul_(active[:, t])
                later = torch.baddbmm(now, hidden, self.entering.mT)
        return flow, later

    def _of_steps(self, values: Tensor | None) -> Tensor | None:
        """Values of all rows as values of all steps, [S, T, N, ·]."""
        return None if values is None else look_up(values, self.token.flatten(1)).unflatten(1, self.token.shape[1:])


class Path(torch.autograd.Function):
    """Two tensors without content, for rows [S, R, d] and for steps [S, T, N, d], from f of every row and from e₀.

    A row stands for the weighted mean of its steps and hands each its share; what flows into a step goes on to all
    steps before it, as the track says, and into f of the row where each of them is.
    """

    @staticmethod
    def forward(ctx, residual: Tensor, first: Tensor, track: Track) -> tuple[Tensor, Tensor]:
        ctx.track, ctx.shape = track, residual.shape
        ctx.set_materialize_grads(False)
        empty = residual.new_zeros(())
        return empty.expand(residual.shape), empty.expand(*track.token.shape, residual.shape[-1])

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, Tensor | None, None]:
        track, (S, R, d) = ctx.track, ctx.shape
        of_rows, of_steps = gradients
        index = (track.token + torch.arange(S, device=track.token.device).view(-1, 1, 1) * R).flatten()
        flow = None
        if of_rows is not None:
            flow = of_rows.reshape(S * R, d).index_select(0, index).view(*track.token.shape, d)
            flow *= track.share.unsqueeze(-1)
        if of_steps is not None:
            flow = of_steps.clone() if flow is None else flow.add_(of_steps)
        if flow is None:
            return None, None, None
        flow, first = track.back(flow)
        of_rows = flow.new_zeros(S * R, d).index_add_(0, index, flow.reshape(-1, d)).view(S, R, d)
        return of_rows, first.sum(1, keepdim=True), None
