"""The cohort: S runs as one program, with their own seeds, learning rates, β, weights and initial scales."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.kernels.launch import compiled_ahead
from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Weight
from diacritic.memory.shape import Architecture
from diacritic.training import codebook_restart, histories, parallel, reference, refinement, tables, unrolled
from diacritic.training.captured import captured
from diacritic.training.codebook_restart import LastBatch
from diacritic.training.data import Data, check
from diacritic.training.learner import Learner
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.identification import Identification
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.vq import Quantisation
from diacritic.training.optimiser import Adam
from diacritic.training.preset import Preset
from diacritic.training.randomness import initial, normal
from diacritic.training.released import formed
from diacritic.training.schedule import STREAMS, Schedule
from diacritic.training.threads import threads_for
from diacritic.training.trace import Trace, own_episodes

SEPARATE = (Imitation, Rate, Quantisation)
"""Terms that read a run's own episodes and nothing else, wherever those are in the data."""
MODEL = ("act", "choose", "control", "prior", "identification", "bfs")
"""Heads that belong to the model: those that a policy keeps, the priors, and the decoder of BFS."""
KERNELS = ("parallel", "unrolled")
"""Engines that are kernels on CUDA."""


@dataclass(frozen=True)
class Run:
    """What may differ between the runs of a cohort; unset numbers come from learner and preset."""

    seed: int
    beta: float = 1e-3
    rate: float | None = None
    auxiliary: float | None = None
    code_scale: float | None = None
    residual_scale: float | None = None


@dataclass(frozen=True)
class Plan:
    """Everything that decides the outcome of a cohort, except the data."""

    learner: Learner
    preset: Preset
    runs: tuple[Run, ...]
    steps: int = 10_000
    architecture: Architecture = field(default_factory=Architecture)
    batch: int | None = None
    """Episodes drawn for each update; none: every episode with its weight."""
    engine: str = "fast"
    """`fast`, or `reference`, which takes every step in turn."""
    precision: torch.dtype = torch.float32
    low: torch.dtype | None = None
    """Precision of everything but the code scan: bf16 on CUDA, say. fp32 there means TF32: products round factors."""

    warm_start: tuple[str, ...] = ()
    """Names of the runs whose weights training starts from."""
    until_sufficient: bool = False
    """Stop before the last update once every run is sufficient and stays so."""

    @property
    def carrier(self) -> Architecture:
        return self.learner.architecture(self.base)

    @property
    def base(self) -> Architecture:
        """The carrier before the learner's changes."""
        return self.preset.architecture(self.architecture)

    @property
    def terms(self) -> tuple[Term, ...]:
        """What is minimised: the learner's terms in the preset's form."""
        return formed(self.learner, self.preset).terms


def initial_weights(plan: Plan, data: Data) -> dict[str, Weight]:
    """Parameters of the carrier and of every head."""
    carrier = plan.carrier
    layers = memory_of(carrier).weights(data.shape, carrier)
    for term in plan.terms:
        layers |= term.weights(data.shape, carrier)
    return layers


def start(plan: Plan, data: Data) -> dict[str, Tensor]:
    """The parameters of all runs before training: the persistent start is a matter of two scales."""
    layers = initial_weights(plan, data)
    preset = plan.preset
    codebooks = [name for name in layers if name.endswith("codebook")]
    for name in codebooks:
        layers[name] = replace(layers[name], start=preset.code_start, scale=1.0)
    parameters = initial(layers, [run.seed for run in plan.runs], plan.precision)

    def vector(chosen: list[float | None], default: float) -> Tensor:
        return torch.tensor([default if value is None else value for value in chosen], dtype=plan.precision)

    code = vector([run.code_scale for run in plan.runs], preset.code_scale)
    residual = vector([run.residual_scale for run in plan.runs], preset.residual_scale)
    for name in codebooks:
        parameters[name] *= code.view(-1, 1, 1)
    for name in layers:
        if name.startswith(("residual.out.", "identification.out.")):
            parameters[name] *= residual.view(-1, *[1] * (parameters[name].dim() - 1))
    return parameters


class Cohort:
    """S runs in training. `advance` takes updates, `trace` looks at the codes, `parameters` are the stacked weights."""

    def __init__(
        self, plan: Plan, data: Data, device: str = "cpu", parameters: dict[str, Tensor] | None = None
    ) -> None:
        check(data)
        if data.own is not None and not separable(plan, data):
            raise UserError("data.own", f"{plan.learner.name} needs one recording for all runs; train them apart")
        if data.mask is not None and not all(isinstance(term, (*SEPARATE, Identification)) for term in plan.terms):
            reason = "learns from later steps and needs episodes of one length; plain and sysid take any"
            raise UserError("--learner", f"{plan.learner.name} {reason}")
        self.plan, self.given, self.device = plan, data, torch.device(device)
        self.data = data.to(self.device, plan.precision)
        begun = start(plan, data) if parameters is None else parameters
        preset = plan.preset
        rates = torch.tensor([preset.rate if run.rate is None else run.rate for run in plan.runs])
        placed = {name: value.to(self.device) for name, value in begun.items()}
        self.optimiser = Adam(placed, rates.to(self.device), preset.clip, unclipped=unclipped(plan, data, begun))
        auxiliary = [plan.learner.auxiliary if run.auxiliary is None else run.auxiliary for run in plan.runs]
        self.schedule = Schedule(
            torch.zeros((), dtype=torch.int64, device=self.device),
            plan.steps,
            torch.tensor([run.seed for run in plan.runs], device=self.device),
            torch.tensor([run.beta for run in plan.runs], dtype=plan.precision, device=self.device),
            torch.tensor(auxiliary, dtype=plan.precision, device=self.device),
            preset.pressure,
            preset.pressure_updates,
        )
        self.engine = choose(plan, self.data)
        self._inputs = parallel.tokens(self.data)
        self._tables = tables.prepare(self.data) if self.engine == "tables" else None
        window = memory_of(plan.carrier).window
        self._repeats = histories.prepare(self.data, window) if self.engine == "histories" else None
        weight, own = self.data.weight, self.data.own
        self._weight = weight if own is None else weight[own]  # [n] or [S, n]
        # Row by row: a run draws the same to the last bit, whatever others draw.
        self._cumulative = weight.cumsum(0) if own is None else torch.stack([row.cumsum(0) for row in self._weight])
        self._slots = self._computed()
        self.losses = torch.zeros(len(plan.terms), len(plan.runs), dtype=plan.precision, device=self.device)
        self.last_batch = LastBatch.of(self.parameters) if preset.restart_from == "used codes" else None
        self._graph: torch.cuda.CUDAGraph | None = None
        self.step = 0  # as in the schedule, but known without asking the device

    @property
    def parameters(self) -> dict[str, Tensor]:
        return self.optimiser.parameters

    def resume_at(self, step: int) -> None:
        """Go to a step of the schedule, after a saved state has been loaded."""
        self.step = step
        self.schedule.step.fill_(step)

    @property
    def batch(self) -> int | None:
        """Episodes drawn for each update; none: all of them."""
        drawn, preset = self.plan.batch, self.plan.preset
        counted = preset.batch_within and not self.data.shape.symbolic  # those of a model are merged with their weights
        return min(drawn, self._weight.shape[-1]) if drawn is not None and counted else drawn

    def episode_weight(self) -> Tensor:
        """The weight of each episode in this update, [S, n]: its own, or a multinomial count of `batch` draws.

        The n episodes are all of the data, or each run's own.
        """
        runs, batch, episodes = len(self.plan.runs), self.batch, self._weight.shape[-1]
        if batch is None:
            return self._weight.expand(runs, -1)
        drawn = torch.searchsorted(
            self._cumulative, self.schedule.uniform(STREAMS["batch"], batch).to(self._cumulative.dtype)
        )
        ones = torch.full_like(drawn, 1.0, dtype=self.plan.precision)
        counts = torch.zeros(runs, episodes, dtype=self.plan.precision, device=self.device)
        return counts.scatter_add(1, drawn.clamp(max=episodes - 1), ones) / batch

    def _computed(self) -> int | None:
        """How many episodes an update computes, where it leaves out some that it does not draw: on CUDA, if all terms
        ask which episodes a run sees. Context tables have all of them at once."""
        if self.engine == "tables" or not parallel.on_gpu(self._inputs):
            return None
        from diacritic.training.kernels.drawn import slots

        return slots(self.batch, self._weight.shape[-1], self.plan.terms)

    def trace(self, episode_weight: Tensor | None = None, sampled: bool = True) -> Trace:
        """One pass over the episodes with the engine of the plan; with weights, over those that have one.

        A memory with noise is sampled as in training, or else takes its means, as where it plays.
        """
        trace = self._trace(episode_weight, sampled)
        return trace if self.data.mask is None else trace.until_the_end(self.data.mask)

    def _trace(self, episode_weight: Tensor | None, sampled: bool) -> Trace:
        weight = self._weight.expand(len(self.plan.runs), -1) if episode_weight is None else episode_weight
        plan, carrier, shown, drawn = self.plan, self.plan.carrier, self._inputs, self.data.own
        if episode_weight is not None and self._slots is not None:
            from diacritic.training.kernels.drawn import choose as choose_drawn

            chosen, weight = choose_drawn(weight, self._slots)
            drawn = chosen if drawn is None else drawn.gather(1, chosen)
        if self.engine == "tables" and self._tables is not None:
            full = plan.preset.gradient == "full"
            return tables.trace(self.parameters, carrier, self.data, self._tables, weight, full, self.strength())
        if self.engine == "parallel":
            code = parallel.codes(self.parameters, carrier, self.data, shown, drawn)
            return parallel.trace(self.parameters, carrier, self.data, weight, shown, code, plan.low, drawn)
        if self.engine == "unrolled":
            exact = episode_weight is None and plan.low == plan.precision  # products are rounded in updates alone
            low, gradient = None if exact else plan.low, plan.preset.gradient
            flow = low, drawn, gradient, self.strength()
            return unrolled.trace(self.parameters, carrier, self.data, weight, shown, *flow)
        if self._repeats is not None and episode_weight is not None:
            return histories.trace(self.parameters, carrier, self.data, self._repeats, weight, plan.preset.gradient)
        noise = None
        if sampled and memory_of(carrier).noisy:  # standard normal numbers, [S, T, N, d]
            size = (2, self.data.horizon, self.data.episodes, carrier.code_size)
            noise = normal(self.schedule.uniform(STREAMS["noise"], *size).to(plan.precision))
            noise = noise if drawn is None else own_episodes(noise, drawn)
        flow = plan.preset.gradient, self.strength(), noise, plan.low
        return reference.trace(self.parameters, carrier, self.data, weight, *flow, shown, drawn)

    def strength(self) -> Tensor | float:
        """α of the continuous path: 1 in a bypass; in a scaffold it falls to 0 as the preset says."""
        carrier, preset, steps = self.plan.carrier, self.plan.preset, self.plan.steps
        if not memory_of(carrier).annealed(carrier):
            return 1.0
        if preset.scaffold_updates is None:
            return self.schedule.falling(*preset.scaffold)
        held, gone = preset.scaffold_updates
        return self.schedule.falling(held / steps, gone / steps)

    def update(self) -> None:
        """One step of training, on tensors alone."""
        with rounded_products(self.plan.low == self.plan.precision == torch.float32 and self.device.type == "cuda"):
            self._update()

    def _update(self) -> None:
        trace = replace(self.trace(self.episode_weight()), draws=self.batch)
        losses = torch.stack([term.loss(trace, self.data, self.schedule) for term in self.plan.terms])
        self.losses.copy_(losses.detach())
        if self.last_batch is not None:
            self.last_batch.note(trace)
        self.optimiser.descend(losses.sum())
        self.schedule.step.add_(1)

    @property
    def numbers(self) -> int:
        """Numbers in the activations of one hidden layer, of all runs: how large an update is."""
        rows = self.data.horizon * self._weight.shape[-1] if self._repeats is None else len(self._repeats.last)
        if self._tables is not None:
            rows = min(rows, self._tables.count(self.plan.carrier.codes))
        return len(self.plan.runs) * rows * self.plan.carrier.width

    def advance(self, steps: int) -> None:
        """`steps` updates, with the restarts that fall due among them."""
        if self.plan.learner.certified:
            raise UserError("--learner", f"{self.plan.learner.name} needs a finite model with its certificate")
        if self.device.type == "cuda" and self._graph is None:
            self._capture()
        with threads_for(self.numbers):
            for _ in range(steps):
                self._advance()

    def _advance(self) -> None:
        if self.last_batch is None and self.step > 0 and self._restarts():
            codebook_restart.restart(self)
        split = refinement.refine(self) if refinement.due(self) else None
        if self._graph is None:
            self.update()
        else:
            self._graph.replay()
        if split is not None:
            self.optimiser.replace("codebook", *split, moments=False)
        if self.last_batch is not None and self._restarts():
            codebook_restart.restart_used(self, self.last_batch)
        self.step += 1

    def _restarts(self) -> bool:
        """Whether unused codes move at this step of training."""
        preset = self.plan.preset
        early = self.step < preset.restart_until * self.plan.steps
        if not preset.restarts or not early or self.step % preset.restarts:
            return False
        memory = memory_of(self.plan.carrier)
        learned = bool(memory.codebooks(self.plan.carrier))  # the codes of a lattice are where they are
        return learned and (memory.measured == "code" or (memory.measured == "readout" and preset.released))

    def _capture(self) -> None:
        """Record one update as a CUDA graph; the warm-up that this needs leaves no trace."""
        saved = {name: value.clone() for name, value in self.optimiser.state().items()}
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            if self.engine in KERNELS:
                with compiled_ahead():
                    self.update()
            for _ in range(2):
                self.update()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = captured(self.update)
        self.optimiser.load(saved)
        self.resume_at(self.step)


@contextmanager
def rounded_products(allowed: bool) -> Iterator[None]:
    """Within, the tensor cores may round the factors of fp32 products (TF32), where that is allowed."""
    before = torch.get_float32_matmul_precision()
    if allowed:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        if allowed:
            torch.set_float32_matmul_precision(before)


def unclipped(plan: Plan, data: Data, parameters: Mapping[str, Tensor]) -> set[str]:
    """Parameters whose gradient is neither counted nor clipped: heads that only training reads, in some presets."""
    if plan.preset.clip_heads:
        return set()
    own = memory_of(plan.carrier).weights(data.shape, plan.carrier)
    return {name for name in parameters if name not in own and name.split(".")[0] not in MODEL}


def choose(plan: Plan, data: Data) -> str:
    """The engine that computes this plan: `tables`, `histories`, `parallel`, `unrolled` or `reference`."""
    carrier = plan.carrier
    if plan.engine not in ("fast", "reference"):
        raise UserError("engine", f"no engine is called {plan.engine!r}; known: fast, reference")
    memory, symbolic, on_gpu = memory_of(carrier), data.shape.symbolic, data.observation.is_cuda
    if plan.engine == "reference":
        return "reference"
    if not memory.fast(carrier):
        shared = symbolic and carrier.side == "raw" and not on_gpu and memory.shares and data.mask is None
        simple = all(isinstance(term, SEPARATE) for term in plan.terms) and not plan.learner.refine
        return "histories" if shared and simple and plan.low is None else "reference"
    usual = carrier.usual and carrier.path == "none"
    if carrier.identification:  # the second carrier is computed in parallel, or step by step
        return "parallel" if plan.preset.gradient == "carousel" and usual else "reference"
    if carrier.path != "none" and symbolic:
        return "tables" if memory.annealed(carrier) and carrier.side == "raw" and not on_gpu else "reference"
    if symbolic and carrier.side == "raw" and (carrier.usual or not on_gpu):
        return "tables"
    return "parallel" if plan.preset.gradient == "carousel" and usual else "unrolled"


def separable(plan: Plan, data: Data) -> bool:
    """Whether each run can learn from its own episodes of data that hold more, exactly as it would without the rest."""
    learner = plan.learner
    alone = all(isinstance(term, SEPARATE) for term in plan.terms) and not learner.refine
    unchanged = plan.carrier == plan.base and data.frames is None and data.mask is None
    return alone and unchanged and choose(plan, data) in KERNELS
