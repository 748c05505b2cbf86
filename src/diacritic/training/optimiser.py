"""Adam for S stacked runs: learning rates, clipping and freezing are vectors over runs."""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """Adam on one flat row a run; `parameters` are views of the rows, by name.

    On the CPU PyTorch's fused kernel updates row by row; on CUDA one kernel updates all rows at once.
    A run with a number in its gradient (or a rate) that is not finite is frozen at its last finite values and marked in
    `diverged`; it harms no other. A finite gradient with a norm beyond the largest number is clipped to nothing, as
    PyTorch's own clipping does.
    Nothing leaves the device, so that a step can be captured in a CUDA graph.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        rates: Tensor,
        clip: float | None = None,
        unclipped: Collection[str] = (),
    ) -> None:
        ordered = sorted(parameters, key=lambda name: name in unclipped)  # those that are clipped come first
        parameters = {name: parameters[name] for name in ordered}
        self.clipped = sum(value[0].numel() for name, value in parameters.items() if name not in unclipped)
        self.shapes = {name: tuple(value.shape[1:]) for name, value in parameters.items()}
        self.flat = torch.cat([value.detach().flatten(1) for value in parameters.values()], 1)
        self.parameters = {name: view.requires_grad_() for name, view in self.views(self.flat.detach()).items()}
        self.gradient, self.mean, self.square = (torch.zeros_like(self.flat) for _ in range(3))
        self.count = torch.zeros(len(rates), dtype=torch.float32, device=self.flat.device)
        self.rates, self.clip = rates.to(self.flat), clip
        self.diverged = ~self.rates.isfinite()
        self._rate = self.rates.clone()  # what the update reads
        self._rows = None if self.flat.is_cuda else self._row_by_row()

    def _row_by_row(self) -> torch.optim.Adam:
        """PyTorch's optimiser over rows that share this one's buffers."""
        rows = list(self.flat.unbind(0))
        for row, gradient in zip(rows, self.gradient.unbind(0), strict=True):
            row.grad = gradient
        groups = [{"params": [row], "lr": rate} for row, rate in zip(rows, self._rate.unbind(0), strict=True)]
        adam = torch.optim.Adam(groups, betas=BETAS, eps=EPSILON, fused=True)
        for run, row in enumerate(rows):
            adam.state[row] = {"step": self.count[run], "exp_avg": self.mean[run], "exp_avg_sq": self.square[run]}
        return adam

    def views(self, buffer: Tensor) -> dict[str, Tensor]:
        """A [S, P] buffer as named tensors that share its memory."""
        sizes = [int(torch.Size(shape).numel()) for shape in self.shapes.values()]
        return {
            name: part.unflatten(1, self.shapes[name])
            for name, part in zip(self.shapes, buffer.split(sizes, 1), strict=True)
        }

    def descend(self, loss: Tensor) -> None:
        """One update against the gradient of a loss summed over runs."""
        gradients = torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True)
        with torch.no_grad():
            filled = [
                torch.zeros_like(value) if gradient is None else gradient
                for value, gradient in zip(self.parameters.values(), gradients, strict=True)
            ]
            torch.cat([gradient.flatten(1) for gradient in filled], 1, out=self.gradient)
            self._step()

    def _step(self) -> None:
        norm = self.gradient[:, : self.clipped].norm(dim=1)
        # A sum takes a fraction of the time, and is not finite where a number is not.
        if self._rows is None or not bool(self.gradient.sum(1).isfinite().all()):
            self.diverged |= ~self.gradient.isfinite().all(1)
        factor = torch.ones_like(norm) if self.clip is None else self.clip / norm.clamp(min=self.clip)
        self._rate.copy_(self.rates.masked_fill(self.diverged, 0.0))
        if self._rows is None:
            self._in_one_pass(factor)
            return
        # Asking costs less than two passes that change nothing.
        if bool(((factor != 1) | self.diverged).any()):
            self.gradient[:, : self.clipped].mul_(factor.unsqueeze(1))
            self.gradient.masked_fill_(self.diverged.unsqueeze(1), 0.0)
        self._rows.step()

    def _in_one_pass(self, factor: Tensor) -> None:
        from diacritic.training.kernels.adam import descend_cuda

        rate, floor = self._corrected()
        buffers = self.flat, self.gradient, self.mean, self.square
        descend_cuda(buffers, factor, self.diverged, rate, floor, BETAS, self.clipped)

    def _corrected(self) -> tuple[Tensor, Tensor]:
        """Rate and ε of the next step, [S] each, corrected for the bias of mean and square."""
        first, second = BETAS
        self.count += 1
        unbias = (1 - second ** self.count.double()).sqrt()
        rate = self._rate * unbias / (1 - first ** self.count.double())
        return rate.to(self.flat.dtype), (EPSILON * unbias).to(self.flat.dtype)

    @torch.no_grad()
    def replace(self, name: str, value: Tensor, changed: Tensor, moments: bool = True) -> None:
        """Set some entries of a parameter and forget their `moments`; `changed` is a mask over [S, …]."""
        here = self.views(self.flat)[name]
        here.copy_(torch.where(changed, value, here))
        if not moments:
            return
        for buffer in (self.mean, self.square):
            moment = self.views(buffer)[name]
            moment.masked_fill_(changed.expand_as(moment), 0.0)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed cohort needs."""
        moments = {"mean": self.mean, "square": self.square, "count": self.count}
        return {"flat": self.flat, **moments, "diverged": self.diverged}

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a saved state."""
        for key, value in self.state().items():
            value.copy_(state[key])
