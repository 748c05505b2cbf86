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
    factor: Tensor | None = None  # 1 − tanh² of every row, [S, R, d], where the state is bounded
    through: tuple[Tensor, Tensor, Tensor] | None = None
    """The full gradient: where f's hidden layer is active [S, R, H], W_out [S, H, d] and W_code [S, d, H]."""

    def back(self, flow: Tensor) -> Tensor:
        """λ_t = γ_t (g_t + λ_{t+1} + ((λ_{t+1} W_outᵀ) ⊙ 1[h_{t+1} > 0]) W_codeᵀ) from g [S, T, N, d], in its place."""
        if not self.persistent:
            return flow if self.factor is None else flow * self._of_steps(self.factor)
        later = torch.zeros_like(flow[:, 0])
        for t in range(flow.shape[1] - 1, -1, -1):
            now = flow[:, t]
            now += later
            if self.factor is not None:
                now *= look_up(self.factor, self.token[:, t])
            later = now
            if self.through is not None:
                active, leaving, entering = self.through
                hidden = torch.bmm(now, leaving.mT) * look_up(active, self.token[:, t])
                later = torch.baddbmm(now, hidden, entering.mT)
        return flow

    def _of_steps(self, rows: Tensor) -> Tensor:
        return look_up(rows, self.token.flatten(1)).view(*self.token.shape, -1)


class Path(torch.autograd.Function):
    """Two tensors without content, for rows [S, R, d] and for steps [S, T, N, d], from f of every row.

    A row stands for the weighted mean of its steps and hands each its share; what flows into a step goes on to all
    steps before it, as the track says, and into f of the row where each of them is.
    """

    @staticmethod
    def forward(ctx, residual: Tensor, track: Track) -> tuple[Tensor, Tensor]:
        ctx.track, ctx.shape = track, residual.shape
        ctx.set_materialize_grads(False)
        empty = residual.new_zeros(())
        return empty.expand(residual.shape), empty.expand(*track.token.shape, residual.shape[-1])

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, None]:
        track, (S, R, d) = ctx.track, ctx.shape
        of_rows, of_steps = gradients
        place = (track.token + torch.arange(S, device=track.token.device).view(-1, 1, 1) * R).flatten()
        flow = None
        if of_rows is not None:
            flow = of_rows.reshape(S * R, d).index_select(0, place).view(*track.token.shape, d)
            flow *= track.share.unsqueeze(-1)
        if of_steps is not None:
            flow = of_steps.clone() if flow is None else flow.add_(of_steps)
        if flow is None:
            return None, None
        flow = track.back(flow).reshape(-1, d)
        return flow.new_zeros(S * R, d).index_add_(0, place, flow).view(S, R, d), None
