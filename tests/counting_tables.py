"""Code tables that count, for the proofs at every horizon."""

import numpy as np

from certify import Model
from diacritic.rollout.machine import CodeMachine


def counting_table(model: Model, codes: int, wrong: int | None = None) -> CodeMachine:
    """A table that counts ones modulo `codes` and answers with the parity; one code may answer wrongly."""
    seen = {model.graph.observations[k]: k for k in range(len(model.graph.observations))}
    acts = {model.graph.actions[k]: k for k in range(len(model.graph.actions))}
    move = np.zeros((codes + 1, len(seen), len(acts) + 1), int)
    act = np.zeros((codes, len(seen), len(acts)))
    for bit in (0, 1):
        for code in range(codes):
            move[code, seen[str(bit)]] = (code + bit) % codes
            act[code, seen[str(bit)], acts[f"say{(code + (code == wrong)) % 2}"]] = 1
        move[codes, seen[str(bit)]] = bit
    return CodeMachine(move, act)
