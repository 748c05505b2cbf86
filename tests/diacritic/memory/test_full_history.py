"""Full history: causality, a literal twin of the attention, the two memories, and runs that do not mix."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import full_history
from diacritic.memory.act import act
from diacritic.memory.layers import Weight, linear, read, reader
from diacritic.memory.protocol import MEMORIES, Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.randomness import initial

T, N = 6, 3
HISTORY = MEMORIES["history"]


def _policy(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    features, d, width = architecture.feature_size, architecture.code_size, architecture.width
    return HISTORY.weights(shape, architecture) | reader("act", features, d, width, shape.action, hidden=2)


PLAIN = Architecture()
SMALL = _policy(Shape(5, 2, horizon=T), Architecture(codes=5, code_size=8, width=16))
PAPER = _policy(Shape(27, 7, horizon=47), Architecture())


def _inputs(*lead: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(7)
    observations = torch.randn(*lead, T, N, 5, generator=generator, dtype=torch.float64)
    return observations, torch.randn(*lead, T, N, 2, generator=generator, dtype=torch.float64)


def _literal(parameters: dict[str, Tensor], observations: Tensor, previous: Tensor) -> Tensor:
    """One run and one episode, step by step and head by head."""

    def layer(name: str, x: Tensor) -> Tensor:
        return x @ parameters[f"{name}.weight"] + parameters.get(f"{name}.bias", torch.zeros(()))

    def norm(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    look = layer("observe.second", layer("observe.first", observations).relu()).relu()
    acted = layer("previous", previous).relu()
    both = torch.cat([layer("token.observation", look), layer("token.previous", acted)], -1)
    x = layer("token.join", both) + parameters["positions"][: len(both)]
    for k in range(2):
        query, key, value = layer(f"block{k}.attention", norm(x)).chunk(3, -1)
        rows = []
        for t in range(len(x)):
            heads = []
            for part in torch.arange(16).chunk(4):
                score = query[t, part] @ key[: t + 1, part].T / math.sqrt(4)
                heads.append(score.softmax(-1) @ value[: t + 1, part])
            rows.append(torch.cat(heads))
        x = x + layer(f"block{k}.mix", torch.stack(rows))
        x = x + layer(f"block{k}.contract", layer(f"block{k}.expand", norm(x)).relu())
    return norm(x)


def _act(
    parameters: dict[str, Tensor], observations: Tensor, previous: Tensor, frames: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Codes and actions of whole sequences, [runs, T, N, …]."""
    record = HISTORY.unroll(parameters, PLAIN, Inputs(observations, previous, frame=frames))[0]
    action = read(parameters, "act", linear(parameters, "act.observation", record.features), record.embedding)
    shape = observations.shape[-3:-1]
    return record.code.unflatten(1, shape), action.unflatten(1, shape)


@pytest.mark.parametrize("lead", [(), (2,)])
def test_the_encoder_is_its_literal_twin(lead: tuple[int, ...]) -> None:
    parameters = initial(SMALL, [1, 2], torch.float64)
    observations, previous = _inputs(*lead)
    got = full_history.encode(parameters, observations, previous)
    for run in range(2):
        one = {name: value[run] for name, value in parameters.items()}
        o, p = (x[run] if lead else x for x in (observations, previous))
        for n in range(N):
            torch.testing.assert_close(got[run, :, n], _literal(one, o[:, n], p[:, n]), rtol=0, atol=1e-12)


RELEASED = Architecture(
    5, 8, 16, encoder="narrow", features=6, bound="sphere", prior_reads="observation", blocks="post"
)


def test_post_blocks_are_those_of_pytorch() -> None:
    """The authors' history: tokens straight from the encoders, PyTorch's own encoder layers, a state on the sphere."""
    layers = HISTORY.weights(Shape(5, 2, horizon=T), RELEASED)
    loud = {name: replace(weight, start="normal", scale=0.5) for name, weight in layers.items()}
    parameters = initial(loud, [1, 2], torch.float64)
    observations, previous = _inputs()
    record = HISTORY.unroll(parameters, RELEASED, Inputs(observations, previous))[0]
    assert record.prior_input is not None
    assert torch.equal(record.prior_input[0], observations.flatten(0, 1))
    for run in range(2):
        p = {name: value[run] for name, value in parameters.items()}
        look, acted = (
            (x @ p[f"{name}.first.weight"] + p[f"{name}.first.bias"]).relu() @ p[f"{name}.out.weight"]
            + p[f"{name}.out.bias"]
            for name, x in (("observe", observations), ("previous", previous))
        )
        x = torch.cat([look, acted], -1) @ p["token.join.weight"] + p["token.join.bias"] + p["positions"].unsqueeze(1)
        blind = torch.nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)
        for k in range(2):
            one = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, dtype=torch.float64)
            names = {"self_attn.in_proj": "attention", "self_attn.out_proj": "mix", "linear1": "expand"}
            names |= {"linear2": "contract", "norm1": "norm1", "norm2": "norm2"}
            state = {}
            for theirs, ours in names.items():
                joint = "_" if theirs.endswith("in_proj") else "."
                kind = "gain" if ours.startswith("norm") else "weight"
                state[f"{theirs}{joint}weight"] = p[f"block{k}.{ours}.{kind}"].movedim(0, -1)
                state[f"{theirs}{joint}bias"] = p[f"block{k}.{ours}.bias"]
            one.load_state_dict(state)
            x = one(x, blind)
        wanted = x @ p["state.weight"] + p["state.bias"]
        wanted = wanted / wanted.norm(dim=-1, keepdim=True)
        torch.testing.assert_close(record.proposal[run], wanted.flatten(0, 1), rtol=0, atol=1e-12)


def test_post_blocks_start_as_those_of_pytorch() -> None:
    layers = full_history.weights(Shape(5, 2, horizon=T), RELEASED)
    ours = initial({name: value for name, value in layers.items() if name.startswith("block0")}, [0])
    theirs = torch.nn.TransformerEncoderLayer(16, 4, 32)
    assert sum(value.numel() for value in ours.values()) == sum(value.numel() for value in theirs.parameters())
    wanted = theirs.self_attn.in_proj_weight.detach().abs().max()
    assert float(ours["block0.attention.weight"].abs().max()) == pytest.approx(float(wanted), rel=0.05)
    for name in ("attention.bias", "mix.bias", "norm1.bias", "norm2.bias"):
        assert not ours[f"block0.{name}"].any()
    assert (ours["block0.norm1.gain"] == 1).all()


@settings(max_examples=10, deadline=None)
@given(t=st.integers(0, T - 1), n=st.integers(0, N - 1), of_action=st.booleans())
def test_a_change_shows_from_its_step_on_and_in_its_episode_only(t: int, n: int, of_action: bool) -> None:
    parameters = initial(SMALL, [1], torch.float64)
    inputs = _inputs()
    before = full_history.encode(parameters, *inputs)
    inputs[of_action][t, n] += 1.0
    moved = (full_history.encode(parameters, *inputs) - before).abs().amax(-1)[0] > 1e-13
    expected = torch.zeros(T, N, dtype=torch.bool)
    expected[t:, n] = True
    assert torch.equal(moved, expected)


@pytest.mark.parametrize(("lead", "post"), [((), False), ((2,), False), ((2,), True)])
def test_steps_with_a_cache_equal_the_whole_sequence(lead: tuple[int, ...], post: bool) -> None:
    layers = _policy(Shape(5, 2, horizon=T), replace(RELEASED, bound="none")) if post else SMALL
    parameters = initial(layers, [1, 2], torch.float64)
    observations, previous = _inputs(*lead)
    code, action = _act(parameters, observations, previous)
    memory = HISTORY.start(parameters, PLAIN, N)
    for t in range(T):
        now = Inputs(observations[..., t, :, :], previous[..., t, :, :])
        memory, record = HISTORY.step(parameters, PLAIN, memory, now)
        assert torch.equal(record.code, code[:, t])
        torch.testing.assert_close(act(parameters, Architecture(), record), action[:, t], rtol=0, atol=1e-12)
    assert len(code.unique()) > 1  # else equal codes say little


def test_footprints_at_the_widths_of_the_paper() -> None:
    parameters = initial(PAPER, [0])
    memory = HISTORY.start(parameters, PLAIN, 1)
    for _ in range(32):
        memory, _ = HISTORY.step(parameters, PLAIN, memory, Inputs(torch.zeros(1, 27), torch.zeros(1, 7)))
    kept = [part for pair in memory.kept for part in pair]
    assert sum(part.nbytes for part in kept) == 2 * 2 * 32 * 128 * 4  # keys and values, layers, steps, width
    assert (
        full_history.tokens(parameters, torch.zeros(1, 1, 128), torch.zeros(1, 7)).nbytes == 64 * 4
    )  # of each step, where everything is encoded again


def test_size_at_the_widths_of_the_paper() -> None:
    size = sum(math.prod(weight.shape) for weight in PAPER.values())
    assert 0.47e6 < size < 0.50e6  # the paper's has 0.49 million


def test_runs_do_not_mix_and_gradients_reach_everything() -> None:
    parameters = {name: value.requires_grad_() for name, value in initial(SMALL, [1, 2, 3], torch.float64).items()}
    inputs = _inputs()
    code, action = _act(parameters, *inputs)
    alone = _act(initial(SMALL, [2], torch.float64), *inputs)
    assert torch.equal(code[1:2], alone[0])
    torch.testing.assert_close(action[1:2], alone[1], rtol=0, atol=1e-12)
    (action[1].square().sum() + parameters["codebook"][1][code[1]].sum()).backward()
    for name, value in parameters.items():
        assert value.grad is not None
        assert value.grad[1].abs().sum() > 0, name
        assert value.grad[[0, 2]].abs().sum() == 0, name


def test_the_gradient_passes_straight_through_the_code() -> None:
    parameters = initial(SMALL, [1], torch.float64)
    given = {name: value.requires_grad_() for name, value in parameters.items()}
    record = HISTORY.unroll(given, PLAIN, Inputs(*_inputs()))[0]
    assert torch.equal(record.embedding[0], parameters["codebook"][0][record.code[0]])
    bias, codebook = parameters["state.bias"], parameters["codebook"]
    past, none = torch.autograd.grad(record.embedding.sum(), (bias, codebook), allow_unused=True)
    torch.testing.assert_close(past, torch.full_like(bias, T * N))  # one for each row
    assert none is None


def test_steps_see_the_frames_that_sequences_see() -> None:
    parameters = initial(_policy(Shape(2, 2, horizon=2, frames=True), Architecture(width=16)), [1, 2], torch.float64)
    shade = torch.tensor([0, 128, 255], dtype=torch.uint8)
    frames = shade.view(1, N, 1, 1, 1).expand(2, N, 64, 64, 3)
    still = torch.zeros(2, N, 2, dtype=torch.float64)
    _, whole = _act(parameters, still, still, frames)
    memory = HISTORY.start(parameters, PLAIN, N)
    for t in range(2):
        memory, record = HISTORY.step(parameters, PLAIN, memory, Inputs(still[t], still[t], frame=frames[t]))
        action = act(parameters, Architecture(), record)
        torch.testing.assert_close(action, whole[:, t], rtol=0, atol=1e-12)
    assert (whole[:, :, 0] - whole[:, :, 1]).abs().min() > 1e-6  # all else is equal: the frames tell them apart


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="width 30: must be a multiple of the 4 heads"):
        full_history.weights(Shape(5, 2, horizon=T), Architecture(width=30))
    parameters = initial(SMALL, [1])
    with pytest.raises(ValueError, match="step 7 is beyond its 6 positions"):
        full_history.encode(parameters, torch.zeros(7, N, 5), torch.zeros(7, N, 2))


def test_lower_precision_leaves_the_codes_alone() -> None:
    low = HISTORY.lowered(initial(SMALL, [1]), torch.bfloat16)
    assert low["codebook"].dtype == torch.float32
    assert low["state.weight"].dtype == torch.bfloat16
    inputs = [x.float() for x in _inputs()]
    _, action = _act(dict(low), inputs[0], inputs[1])
    assert action.dtype == torch.float32
    assert action.isfinite().all()
