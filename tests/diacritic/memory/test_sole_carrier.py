"""The cell against the paper's formula spelled out row by row, and each variant by what it must and must not do."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import TINY, closest, lively, observed, one_of, proposal_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import sole_carrier
from diacritic.memory.kinds import memory_of
from diacritic.memory.protocol import Inputs, Record
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State

SHAPE = Shape(observation=4, action=2, symbols=5)
ROWS, STEPS = 4, 5


def _inputs(seed: int = 0, symbols: bool = False, rows: int = ROWS) -> list[Inputs]:
    made = torch.Generator().manual_seed(seed)
    shown = []
    for t in range(STEPS):
        observation = torch.randn(rows, 4, generator=made, dtype=torch.float64)
        previous = torch.randn(rows, 2, generator=made, dtype=torch.float64) * (t > 0)
        symbol = torch.eye(5, dtype=torch.float64)[torch.randint(5, (rows,), generator=made)]
        shown.append(Inputs(observation, previous, symbol if symbols else None))
    return shown


def _weights(architecture: Architecture, seeds: tuple[int, ...] = (1, 2)) -> dict[str, Tensor]:
    return lively(memory_of(architecture).weights(SHAPE, architecture), seeds)


def _run(
    parameters: dict[str, Tensor], architecture: Architecture, shown: list[Inputs], **how: object
) -> tuple[State, list[Record]]:
    state = sole_carrier.begin(parameters, architecture, len(shown[0].observation))
    records = []
    for inputs in shown:
        state, record = sole_carrier.step(parameters, architecture, state, inputs, **how)  # pyright: ignore[reportArgumentType]
        records.append(record)
    return state, records


def _codes(records: list[Record]) -> Tensor:
    return torch.stack([record.code for record in records])


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh"]),
    persistent=st.booleans(),
    side=st.sampled_from(["raw", "symbol"]),
    K=st.integers(1, 7),
)
def test_a_step_is_the_formula_of_the_paper(seed: int, bound: str, persistent: bool, side: str, K: int) -> None:
    architecture = replace(TINY, codes=K, bound=bound, persistent=persistent, side=side)
    parameters = _weights(architecture, (seed, seed + 1))
    shown = _inputs(seed, side == "symbol")
    _, records = _run(parameters, architecture, shown)
    for run in range(2):
        p = one_of(parameters, run)
        for row in range(ROWS):
            e = torch.zeros(3, dtype=torch.float64)
            for inputs, record in zip(shown, records, strict=True):
                symbol = None if inputs.symbol is None else inputs.symbol[row]
                proposal = proposal_of(p, architecture, e, inputs.observation[row], inputs.previous[row], symbol)
                code = closest(proposal, p["codebook"])
                e = p["codebook"][code]
                torch.testing.assert_close(record.proposal[run, row], proposal, rtol=0, atol=1e-12)
                assert int(record.code[run, row]) == code
                assert torch.equal(record.embedding[run, row], e)
                features = observed(p, inputs.observation[row])
                torch.testing.assert_close(record.features[run, row], features, rtol=0, atol=1e-12)


def test_many_codes_are_met() -> None:
    """Else the tests of this file would say little."""
    _, records = _run(_weights(TINY), TINY, _inputs())
    assert all(len(_codes(records)[:, run].unique()) >= 3 for run in range(2))


def test_before_the_first_step_there_is_no_code() -> None:
    state = sole_carrier.begin(_weights(TINY), TINY, 3)
    assert state.code.tolist() == [[6, 6, 6]] * 2
    assert state.embedding.abs().sum() == 0
    assert state.hidden is None
    assert state.identification is None


def test_the_state_after_a_step_is_the_code_and_its_vector() -> None:
    parameters = _weights(TINY)
    state, records = _run(parameters, TINY, _inputs())
    assert torch.equal(state.code, records[-1].code)
    assert torch.equal(state.embedding, records[-1].embedding)


def test_a_bounded_state_stays_within_one() -> None:
    bounded = replace(TINY, bound="tanh")
    parameters = _weights(bounded)
    parameters["residual.out.weight"] *= 50
    _, free = _run(parameters, TINY, _inputs())
    _, records = _run(parameters, bounded, _inputs())
    assert max(float(record.proposal.abs().max()) for record in free) > 1
    assert max(float(record.proposal.abs().max()) for record in records) <= 1


def test_without_persistence_the_past_is_gone() -> None:
    architecture = replace(TINY, persistent=False)
    parameters = _weights(architecture)
    first, second = _inputs(1), _inputs(2)
    state, _ = _run(parameters, architecture, first)
    other, _ = _run(parameters, architecture, second)
    assert not torch.equal(state.code, other.code)
    now = _inputs(3)[1]
    assert torch.equal(
        sole_carrier.step(parameters, architecture, state, now)[1].proposal,
        sole_carrier.step(parameters, architecture, other, now)[1].proposal,
    )
    kept = _weights(TINY)
    assert not torch.equal(
        sole_carrier.step(kept, TINY, state, now)[1].proposal, sole_carrier.step(kept, TINY, other, now)[1].proposal
    )


@pytest.mark.parametrize("gradient", ["full", "carousel"])
def test_the_carousel_stops_the_gradient_at_the_entry_into_f(gradient: str) -> None:
    """What remains is the residual path, whose derivative is the identity."""
    parameters = _weights(TINY)
    held = torch.randn(2, ROWS, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    state = State(held, torch.zeros(2, ROWS, dtype=torch.long))
    _, record = sole_carrier.step(parameters, TINY, state, _inputs()[1], gradient)
    pull = torch.randn(2, ROWS, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (flow,) = torch.autograd.grad((record.proposal * pull).sum(), held)
    assert torch.equal(flow, pull) == (gradient == "carousel")


def test_both_gradients_have_the_same_values() -> None:
    parameters = _weights(TINY)
    for one, two in zip(*(_run(parameters, TINY, _inputs(), gradient=g)[1] for g in ("full", "carousel")), strict=True):
        assert torch.equal(one.proposal, two.proposal)


def test_a_scaffold_that_is_taken_down_leaves_the_plain_carrier() -> None:
    architecture = replace(TINY, path="scaffold")
    parameters = _weights(architecture)
    parameters["path.out.weight"] *= 5
    plain = {name: value for name, value in parameters.items() if not name.startswith("path")}
    standing = _codes(_run(parameters, architecture, _inputs(), strength=1.0)[1])
    down = _codes(_run(parameters, architecture, _inputs(), strength=0.0)[1])
    assert torch.equal(down, _codes(_run(plain, TINY, _inputs())[1]))
    assert not torch.equal(standing, down)


def test_the_path_is_pytorchs_cell() -> None:
    architecture = replace(TINY, path="bypass", path_size=6)
    parameters, shown = _weights(architecture), _inputs()
    state, records = _run(parameters, architecture, shown)
    assert state.hidden is not None
    for run in range(2):
        p = one_of(parameters, run)
        cell = torch.nn.GRUCell(p["path.input.weight"].shape[0], 6, dtype=torch.float64)
        hidden = torch.zeros(ROWS, 6, dtype=torch.float64)
        with torch.no_grad():
            for theirs, ours in (("ih", "input"), ("hh", "state")):
                getattr(cell, f"weight_{theirs}").copy_(p[f"path.{ours}.weight"].T)
                getattr(cell, f"bias_{theirs}").copy_(p[f"path.{ours}.bias"])
            for inputs, record in zip(shown, records, strict=True):
                acted = (inputs.previous @ p["previous.weight"] + p["previous.bias"]).relu()
                hidden = cell(torch.cat([record.side[run], acted], -1), hidden)
        torch.testing.assert_close(state.hidden[run], hidden, rtol=0, atol=1e-12)


def test_the_strength_of_the_path_scales_what_it_adds() -> None:
    architecture = replace(TINY, path="bypass")
    parameters = _weights(architecture)
    first = [_run(parameters, architecture, _inputs()[:1], strength=a)[1][0].proposal for a in (0.0, 0.5, 1.0)]
    torch.testing.assert_close(first[1], (first[0] + first[2]) / 2, rtol=0, atol=1e-12)
    assert (first[2] - first[0]).abs().min() > 0


def test_a_bypass_remembers_beside_the_code() -> None:
    architecture = replace(TINY, path="bypass")
    parameters = _weights(architecture)
    state, _ = _run(parameters, architecture, _inputs(1))
    other, _ = _run(parameters, architecture, _inputs(2))
    assert state.hidden is not None
    mixed = replace(state, embedding=other.embedding, code=other.code)
    now = _inputs(3)[1]
    assert not torch.equal(
        sole_carrier.step(parameters, architecture, mixed, now)[1].proposal,
        sole_carrier.step(parameters, architecture, other, now)[1].proposal,
    )


def _dual(detached: bool, **more: object) -> tuple[dict[str, Tensor], list[Record], Architecture]:
    architecture = replace(TINY, identification=5, detached=detached, **more)
    parameters = {name: value.requires_grad_() for name, value in _weights(architecture).items()}
    return parameters, _run(parameters, architecture, _inputs())[1], architecture


def test_a_second_carrier_changes_nothing_in_the_first() -> None:
    parameters, records, _ = _dual(False)
    plain = {name: value for name, value in parameters.items() if not name.startswith("identification")}
    assert torch.equal(_codes(records), _codes(_run(plain, TINY, _inputs())[1]))


@pytest.mark.parametrize("more", [{}, {"bound": "tanh"}, {"persistent": False}])
def test_a_second_carrier_is_the_same_cell_with_its_own_weights(more: dict[str, object]) -> None:
    parameters, records, architecture = _dual(False, **more)
    own = {name: value for name, value in parameters.items() if not name.startswith("residual") and name != "codebook"}
    own = {name.replace("identification", "residual"): value for name, value in own.items()}
    own["codebook"] = own.pop("residual.codebook")
    alone = replace(architecture, codes=5, identification=0)
    _, wanted = _run(own, alone, _inputs())
    for record, twin in zip(records, wanted, strict=True):
        assert record.identification is not None
        assert torch.equal(record.identification.code, twin.code)
        torch.testing.assert_close(record.identification.proposal, twin.proposal, rtol=0, atol=1e-12)
    assert len(_codes(wanted).unique()) > 2


@pytest.mark.parametrize("detached", [False, True])
def test_a_detached_second_carrier_sends_nothing_into_the_encoders(detached: bool) -> None:
    parameters, records, _ = _dual(detached)
    second = records[-1].identification
    assert second is not None
    second.embedding.sum().backward()
    shared = {name for name in parameters if name.startswith(("observe", "previous"))}
    for name in shared:
        value = parameters[name].grad
        reached = value is not None and bool(value.abs().sum() > 0)
        assert reached is not detached, name
    own = parameters["identification.observation.weight"].grad
    assert own is not None
    assert own.abs().sum() > 0
    assert parameters["residual.observation.weight"].grad is None


def test_matched_side_information_reads_the_symbol_and_not_the_observation() -> None:
    architecture = replace(TINY, side="symbol")
    parameters = _weights(architecture)
    shown = _inputs(0, symbols=True)
    blind = [replace(inputs, observation=torch.randn_like(inputs.observation)) for inputs in shown]
    _, records = _run(parameters, architecture, shown)
    _, others = _run(parameters, architecture, blind)
    assert torch.equal(_codes(records), _codes(others))
    assert torch.equal(records[-1].side, others[-1].side)  # what the prior reads
    assert not torch.equal(records[-1].features, others[-1].features)  # what the action head reads
    assert not torch.equal(_codes(records), _codes(_run(parameters, architecture, _inputs(9, symbols=True))[1]))


def test_matched_side_information_without_a_symbol_is_refused() -> None:
    architecture = replace(TINY, side="symbol")
    with pytest.raises(UserError, match="symbol: this control reads the symbol"):
        _run(_weights(architecture), architecture, _inputs())
