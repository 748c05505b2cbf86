"""Carriers spelled out row by row, and tiny data and weights to try them on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Weight
from diacritic.memory.shape import Architecture, Shape
from diacritic.training import reference
from diacritic.training.data import Data, from_arrays
from diacritic.training.learner import Learner, learner
from diacritic.training.objectives.base import Term
from diacritic.training.preset import preset
from diacritic.training.randomness import initial
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace

One = Mapping[str, Tensor]  # the parameters of one run
TINY = Architecture(codes=6, code_size=3, width=8)
NARROW = preset("release").architecture(replace(TINY, features=4, offset_size=2))
NARROW = replace(NARROW, path_size=5, offset_size=2)
"""The authors' carrier on the arm, and on symbols."""
TABLE = replace(NARROW, encoder="table", prior_reads="table", bound="tanh", action_layers=1)


def lively(layers: Mapping[str, Weight], seeds: Sequence[int], dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Random weights large enough for codes to be many and to change."""
    loud = ("observe", "previous", "symbol", "path", "residual", "identification")
    strong = {
        name: replace(weight, start="normal", scale=1.0 if name.endswith("codebook") else 3 * weight.scale)
        for name, weight in layers.items()
        if name.endswith("codebook") or name.startswith(loud)
    }
    parameters = initial({**layers, **strong}, seeds, dtype)
    for name in ("residual.out", "identification.out"):
        if f"{name}.weight" in parameters:  # units in pairs of opposite sign, so that f has no common direction
            first, second = parameters[f"{name}.weight"].chunk(2, 1)
            second.copy_(-first)
            parameters[f"{name}.bias"] *= 0.1
    return parameters


def one_of(parameters: Mapping[str, Tensor], run: int) -> dict[str, Tensor]:
    return {name: value[run] for name, value in parameters.items()}


def layer(p: One, name: str, x: Tensor) -> Tensor:
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def head(p: One, name: str, features: Tensor, vector: Tensor, extra: Tensor | float = 0.0) -> Tensor:
    """A head on the joined inputs (features, vector) with one first matrix, for one row."""
    matrix = torch.cat([p[f"{name}.observation.weight"], p[f"{name}.code.weight"]])
    h = (torch.cat([features, vector]) @ matrix + p[f"{name}.observation.bias"] + extra).relu()
    for k in (1, 2):
        if f"{name}.hidden{k}.weight" in p:
            h = layer(p, f"{name}.hidden{k}", h).relu()
    return layer(p, f"{name}.out", h)


def closest(x: Tensor, codebook: Tensor) -> int:
    """The nearest code, by the distances themselves; of equals the first."""
    best = 0
    for k in range(len(codebook)):
        if (x - codebook[k]).square().sum() < (x - codebook[best]).square().sum():
            best = k
    return best


def proposal_of(
    p: One, architecture: Architecture, e: Tensor, seen: Tensor, did: Tensor, symbol: Tensor | None
) -> Tensor:
    """ẽ_t = e + f([e, g_o(O_t), g_a(A_{t−1})]) for one row: joined inputs and one matrix."""
    side = observed(p, seen) if symbol is None else named(p, symbol)
    e = e if architecture.persistent else torch.zeros_like(e)
    joined = torch.cat([e, side, acted(p, did)])
    parts = ("code", "observation", "action")
    matrix = torch.cat([p[f"residual.{part}.weight"] for part in parts])
    h = (joined @ matrix + p["residual.observation.bias"]).relu()
    if "residual.hidden1.weight" in p:
        h = layer(p, "residual.hidden1", h).relu()
    proposal = e + layer(p, "residual.out", h)
    if architecture.bound == "sphere":
        return proposal / proposal.norm()
    return proposal.tanh() if architecture.bound == "tanh" else proposal


def code_rows(p: One, architecture: Architecture) -> Tensor:
    """The vectors that codes stand for."""
    book = p["codebook"]
    return torch.stack([row / row.norm() for row in book]) if architecture.bound == "sphere" else book


def first_row(p: One, architecture: Architecture) -> Tensor:
    """e₀."""
    first = code_rows(p, architecture)[0]
    return torch.zeros_like(first) if architecture.start == "zero" else first


def acted(p: One, did: Tensor) -> Tensor:
    """g_a(A_{t−1}) for one row."""
    if "previous.table.weight" in p:
        return p["previous.table.weight"][int(did.argmax())] if did.any() else p["previous.none"]
    if "previous.out.weight" in p:
        return layer(p, "previous.out", layer(p, "previous.first", did).relu())
    return layer(p, "previous", did).relu()


def named(p: One, symbol: Tensor) -> Tensor:
    """g_s(Ō_t) for one row."""
    if "symbol.out.weight" in p:
        return layer(p, "symbol.out", layer(p, "symbol.first", symbol).relu())
    return layer(p, "symbol", symbol).relu()


def observed(p: One, seen: Tensor) -> Tensor:
    """g_o(O_t) for one row."""
    if "observe.table.weight" in p:
        return p["observe.table.weight"][int(seen.argmax())]
    if "observe.out.weight" in p:
        return layer(p, "observe.out", layer(p, "observe.first", seen).relu())
    return layer(p, "observe.second", layer(p, "observe.first", seen).relu()).relu()


def vectors(T: int, N: int, seed: int = 0, observation: int = 3, action: int = 2) -> Data:
    """Random recorded episodes with everything that any term may ask for."""
    made = torch.Generator().manual_seed(seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=made, dtype=torch.float64)

    weight = torch.rand(N, generator=made, dtype=torch.float64) + 0.1
    data = from_arrays(normal(T, N, observation), normal(T, N, action), weight)
    return _everything(data, made)


def symbols(T: int, N: int, seed: int = 0, observations: int = 4, actions: int = 3) -> Data:
    """Random symbolic episodes; the expert is certain at some steps and not at others."""
    made = torch.Generator().manual_seed(seed)
    laws = torch.cat(
        [torch.eye(actions, dtype=torch.float64), torch.full((1, actions), 1 / actions, dtype=torch.float64)]
    )
    did = torch.randint(actions, (T, N), generator=made)
    taught = torch.where(torch.rand(T, N, generator=made) < 0.3, torch.full_like(did, actions), did)
    weight = torch.rand(N, generator=made, dtype=torch.float64) + 0.1
    data = Data(
        Shape(observations, actions, True, horizon=T),
        torch.eye(observations, dtype=torch.float64),
        torch.randint(observations, (T, N), generator=made),
        torch.cat([torch.zeros(1, actions, dtype=torch.float64), torch.eye(actions, dtype=torch.float64)]),
        torch.cat([torch.zeros(1, N, dtype=torch.long), did[:-1] + 1]),
        weight / weight.sum(),
        laws[taught],
    )
    return _everything(data, made)


def _everything(data: Data, made: torch.Generator) -> Data:
    T, N, A = data.target.shape

    def values(*size: int) -> Tensor:
        raw = torch.randn(size, generator=made, dtype=torch.float64)
        return raw.softmax(-1) if data.shape.symbolic else raw

    symbol = torch.randint(5, (T, N), generator=made)
    return replace(
        data,
        shape=replace(data.shape, symbols=5, classes=3, labels=3, joint=4),
        symbol=symbol,
        classes=torch.randint(3, (T, N), generator=made),
        label=torch.randint(3, (N,), generator=made),
        joint=torch.randint(-1, 4, (T, N), generator=made),
        teacher=torch.randn(1, T, N, 32, generator=made, dtype=torch.float64),
        forecast=values(1, T, N, T - 1, A),
        pending=values(1, T, N, 2, A),
        decisions=(T // 2, T - 1),
        last_reveal=1,
    )


def schedule_at(runs: int, step: int = 0, steps: int = 10, **more: object) -> Schedule:
    """Runs with seeds 7, 8, …, β = 0.1, 0.2, … and auxiliary weights 1, 2, …"""
    number = torch.arange(1, runs + 1, dtype=torch.float64)
    made = Schedule(torch.tensor(step), steps, torch.arange(runs) + 7, 0.1 * number, number)
    return replace(made, **more)


@dataclass(frozen=True)
class Scene:
    """One term on a trace of two runs, with an accessor for everything a literal loop needs."""

    trace: Trace
    data: Data
    schedule: Schedule
    parameters: dict[str, Tensor]

    @property
    def steps(self) -> list[tuple[int, int, int]]:
        """(run, t, n) of all steps."""
        runs, T, N = self.trace.step_code.shape
        return [(s, t, n) for s in range(runs) for t in range(T) for n in range(N)]

    def features(self, s: int, t: int, n: int) -> Tensor:
        return self.trace.step_features[s, t, n]

    def vector(self, s: int, t: int, n: int) -> Tensor:
        return self.trace.step_embedding[s, t, n]

    def weight(self, n: int) -> Tensor:
        """The weight of one step of episode n."""
        return self.data.weight[n] / self.data.horizon

    def literal(self, value: "dict[tuple[int, int, int], Tensor]") -> Tensor:
        """The weighted sum over steps, one number a run."""
        runs = self.trace.step_code.shape[0]
        total = [torch.zeros((), dtype=torch.float64) for _ in range(runs)]
        for (s, _, n), number in value.items():
            total[s] = total[s] + self.weight(n) * number
        return torch.stack(total)


def scene(
    terms: Sequence[Term], data: Data, architecture: Architecture = TINY, schedule: Schedule | None = None
) -> Scene:
    """Two runs of random weights for the cell and these terms, traced step by step."""
    layers = memory_of(architecture).weights(data.shape, architecture)
    for term in terms:
        layers |= term.weights(data.shape, architecture)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, [1, 2]).items()}
    weight = data.weight.expand(2, -1)
    trace = reference.trace(parameters, architecture, data, weight, "full")
    return Scene(trace, data, schedule_at(2) if schedule is None else schedule, parameters)


def error(prediction: Tensor, target: Tensor, symbolic: bool) -> Tensor:
    """ℓ for one row."""
    if symbolic:
        return -(target * prediction.log_softmax(-1)).sum()
    return (prediction - target).square().mean()


def gradients(loss: Tensor, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The gradient of a sum, zero where nothing flows."""
    flow = torch.autograd.grad(loss.sum(), list(parameters.values()), allow_unused=True, retain_graph=True)
    return {
        name: torch.zeros_like(value) if gradient is None else gradient
        for (name, value), gradient in zip(parameters.items(), flow, strict=True)
    }


LEARNERS = (
    "plain",
    "plain+bfs",
    "event-agnostic",
    "event-agnostic-all-recorded",
    "task-informed",
    "teacher-state",
    "sysid",
    "inverse-only+rate",
    "inverse+imitation",
    "open-loop-world",
    "join",
    "unconditional",
)
"""Learners that between them have every term of a plain carrier."""

Engine = Callable[[Mapping[str, Tensor], Architecture, Data, Tensor], Trace]


def assert_engine_agrees(
    engine: Engine,
    gradient: str,
    name: str,
    architecture: Architecture,
    data: Data,
    seeds: Sequence[int],
    form: Callable[[Learner], Learner] = lambda same: same,
) -> None:
    """Codes equal to those of the reference, losses to 1e-12, gradients to 1e-10, in double precision."""
    chosen = form(learner(name))
    carrier = chosen.architecture(architecture)
    layers = memory_of(carrier).weights(data.shape, carrier)
    for term in chosen.terms:
        layers |= term.weights(data.shape, carrier)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, seeds).items()}
    made = torch.Generator().manual_seed(sum(seeds))
    counts = torch.randint(0, 4, (len(seeds), data.episodes), generator=made).double()  # some episodes are not drawn
    counts[:, 0] += 1
    weight = counts / counts.sum(1, keepdim=True)
    pull = torch.rand(len(seeds), generator=made, dtype=torch.float64) + 0.5
    schedule = schedule_at(len(seeds))
    actual = []

    def loop(p: Mapping[str, Tensor], a: Architecture, d: Data, w: Tensor) -> Trace:
        return reference.trace(p, a, d, w, gradient)

    for one in (loop, engine):
        trace = one(parameters, carrier, data, weight)
        losses = torch.stack([term.loss(trace, data, schedule) for term in chosen.terms])
        second = [] if trace.identification is None else [trace.identification.step_code]
        actual.append((torch.stack([trace.step_code, *second]), losses, gradients(losses * pull, parameters)))
    (codes, losses, flow), (other_codes, other_losses, other_flow) = actual
    assert torch.equal(codes, other_codes)
    torch.testing.assert_close(other_losses, losses, rtol=1e-12, atol=1e-12)
    for name in parameters:
        torch.testing.assert_close(
            other_flow[name], flow[name], rtol=1e-10, atol=1e-10, msg=lambda text, n=name: f"{n}: {text}"
        )
