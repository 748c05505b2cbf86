"""`check_policy`: is the code really the only memory? By construction, and by intervention."""

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.kinds import memory_of
from diacritic.memory.module import Carrier
from diacritic.memory.sole_carrier import State


@dataclass(frozen=True)
class PolicyCheck:
    """What the check found; `sole_carrier` when nothing speaks against it."""

    sole_carrier: bool
    findings: tuple[str, ...]


@torch.no_grad()
def check_policy(carrier: Carrier, observations: Tensor, actions: Tensor, symbols: Tensor | None = None) -> PolicyCheck:
    """Watch a carrier on episodes [T, N, ·] (N ≥ 2, actions as it reads them) and intervene half way.

    Carriers with matched side information also read the one-hot symbols Ō_t.

    By construction: the state holds a code and its vector and nothing else. By intervention: swapping the codes of two
    histories swaps all later codes and actions, resetting the code erases the past, and playing an episode again after
    others have been played changes nothing.
    """
    T, N = observations.shape[:2]
    if N < 2 or T < 2 or actions.shape[:2] != (T, N):
        raise UserError("check_policy", f"needs at least two episodes of two steps, not {tuple(observations.shape)}")
    findings = _constructed(carrier)
    half, swap = T // 2, torch.arange(N).roll(1)

    def play(state: State, first: int, last: int) -> tuple[list[State], Tensor, Tensor]:
        states, codes, acts = [], [], []
        for t in range(first, last):
            previous = actions[t - 1] if t else torch.zeros_like(actions[0])
            symbol = None if symbols is None else symbols[t]
            state, code, action = carrier.step(state, observations[t], previous, symbol)
            states.append(state)
            codes.append(code)
            acts.append(action)
        return states, torch.stack(codes), torch.stack(acts)

    states, codes, acts = play(carrier.begin(N), 0, T)
    middle = states[half - 1]

    # Later inputs are those of the episode itself; only the memory comes from its neighbour.
    swapped = replace(middle, embedding=middle.embedding[swap], code=middle.code[swap])
    _, after_codes, after_acts = play(swapped, half, T)
    _, wanted_codes, wanted_acts = play(middle.each(lambda part: part[swap]), half, T)
    if not (torch.equal(after_codes, wanted_codes) and torch.allclose(after_acts, wanted_acts, atol=1e-6)):
        findings.append("swapping codes between histories does not swap what follows: something else carries memory")

    _, reset_codes, reset_acts = play(carrier.begin(N), half, T)
    erased = replace(middle, embedding=carrier.begin(N).embedding, code=carrier.begin(N).code)
    _, erased_codes, erased_acts = play(erased, half, T)
    if not (torch.equal(reset_codes, erased_codes) and torch.allclose(reset_acts, erased_acts, atol=1e-6)):
        findings.append("resetting the code does not erase the past")

    _, again_codes, again_acts = play(carrier.begin(N), 0, T)
    if not (torch.equal(codes, again_codes) and torch.equal(acts, again_acts)):
        findings.append("the same episodes played twice differ: something persists between episodes")
    return PolicyCheck(not findings, tuple(findings))


def _constructed(carrier: Carrier) -> list[str]:
    state = carrier.begin(1)
    held = [f.name for f in fields(state) if getattr(state, f.name) is not None and f.name not in ("embedding", "code")]
    findings = [f"the state also holds {name!r}" for name in held]
    if memory_of(carrier.architecture).measured != "code":
        findings.append(f"the memory is {carrier.architecture.memory!r}, not a code")
    return findings
