"""Write the certificate of an answer for every horizon, `certify-certificate/2`: docs/certificate_stationary.md."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np

from certify.certificate import interval
from certify.core.assignments import bits
from certify.core.colouring import minimum_entropy
from certify.core.exact import common_denominator
from certify.core.floors import bitmasks
from certify.core.logs import LogSum
from certify.core.partition import components
from certify.errors import UserError
from certify.stationary.answer import StationaryAnswer
from certify.stationary.chain import TooMuchWork, pairs_chain
from certify.stationary.frames import Frames
from certify.stationary.longrun import conditional_bits, long_run, masses, proves_mean
from certify.stationary.machine import StationaryMachine, numbered
from certify.stationary.observer import Observer, Search, TooMany
from certify.stationary.posteriors import Steps, mixture, whole_columns
from certify.stationary.relation import Matrix, separating_word

FORMAT = "certify-certificate/2"
MOST_TYPES = 11  # of histories in one component, as the checker has it
_MOST_STATES = 1_500  # strong classes whose conflicts are written as words
_MOST_POSTERIORS = 5_000  # beyond these, or so many products of weights, the certificate says how few of them
_MOST_PRODUCTS = 500_000  # predict differently


def certificate_json(answer: StationaryAnswer) -> str:
    """The certificate as text."""
    return json.dumps(certificate(answer), ensure_ascii=False, separators=(",", ":")) + "\n"


def certificate(answer: StationaryAnswer) -> dict[str, Any]:
    """Every claim of the answer that the checker can verify; refuses an answer that is not exact."""
    if not answer.exact:
        raise UserError("--certificate", "the answer is a bracket of approximate machines; there is nothing to certify")
    if answer.relation.observer.size > _MOST_STATES:
        raise UserError("--certificate", f"{answer.relation.observer.size:,} classes are too many to write")
    document: dict[str, Any] = {
        "format": FORMAT,
        "process_sha256": answer.process.digest,
        **_grain(answer),
        **_bits(answer),
    }
    if answer.codes is not None and answer.codes.proved and answer.smallest_machine is not None:
        observer = answer.relation.observer
        document["codes"] = {
            "count": answer.codes.low,
            "machine": _machine(answer.smallest_machine),
            "clique": [observer.history(node) for node in answer.codes.clique],
        }
    claims = [claim for claim in map(_frames, answer.frames) if claim is not None]
    return {**document, "frames": claims} if claims else document


def _grain(answer: StationaryAnswer) -> dict[str, Any]:
    """What the checker has to enumerate: supports where (A2) holds, else plain posteriors, or the last labels."""
    if answer.observer.kind == "support":
        return {"grain": "supports"}
    if answer.observer.kind == "group":
        raise UserError("--certificate", "the checker lists the sets of possible states, which are too many here")
    if answer.windows is not None:
        return {"grain": "windows", "window": answer.windows.k}
    steps = Steps(answer.process, _MOST_PRODUCTS)
    process = answer.process
    search = Search(process, "posterior", lambda v: v, lambda v: mixture(process, v), steps.after, _MOST_POSTERIORS)
    try:
        search.run(steps.starts())
    except TooMany:  # they repeat in what they predict alone
        return {"grain": "posteriors", "columns": whole_columns(process)}
    return {"grain": "posteriors"}


def _machine(machine: StationaryMachine) -> dict[str, Any]:
    moves = [[*key, target] for key, target in sorted(machine.moves.items())]
    return {"codes": machine.codes, "first": dict(sorted(machine.first.items())), "moves": moves}


def _bits(answer: StationaryAnswer) -> dict[str, Any]:
    """The machine, and where an exact long run is not too costly, its law, the words and the bits that they prove.

    Where compatibility is not transitive the machine's codes are the strong classes, and `merged` joins them.
    """
    if answer.rates is None or not answer.relation.transitive:
        machine = StationaryMachine.from_labels(answer.relation.observer, np.arange(answer.relation.observer.size))
    else:
        machine = answer.machine
    claim = {"machine": _machine(machine)}
    if answer.rates is None:
        return claim
    process = answer.process
    pairs = pairs_chain(process, *numbered(process, machine))
    try:
        run = long_run(pairs.chain)
    except TooMuchWork:
        return claim
    assert proves_mean(pairs.chain, run.mean, run.potential), "the long run must satisfy its identities"
    rows = zip(pairs.pairs, run.mean, run.potential, strict=True)
    law = [[x, code, str(mean), str(potential)] for (x, code), mean, potential in rows]
    evidence = {"long_run": law, "words": _words(answer.relation.observer, _same_observation(answer))}
    if answer.relation.transitive:
        return {**claim, "rate": interval(answer.rates.mean.upper), **evidence}
    cell = [process.observation[x] * machine.codes + code for x, code in pairs.pairs]
    mass = {c % machine.codes: p for c, p in masses(run.mean, cell).items()}  # a strong class has one observation
    value = {"lower": interval(_floor(answer, mass)), "upper": interval(answer.rates.mean.upper)}
    return {**claim, **value, **evidence, "merged": answer.rates.cells.tolist()}


def _floor(answer: StationaryAnswer, mass: dict[int, Fraction]) -> LogSum:
    """The entropy that the checker finds: least in components of few kinds of histories, none within others."""
    observer, total = answer.relation.observer, LogSum()
    for o in sorted({int(observer.observation[s]) for s in mass}):
        members = [s for s in sorted(mass) if observer.observation[s] == o]
        conflicts = bitmasks(answer.relation.conflicts[np.ix_(members, members)])
        everything = (1 << len(members)) - 1
        inside = components(conflicts, everything, conflicting=False)
        wholes = [sum((mass[members[k]] for k in bits(part)), Fraction(0)) for part in inside]
        total += conditional_bits(dict(enumerate(wholes)), dict.fromkeys(range(len(wholes)), 0))
        for part, whole in zip(inside, wholes, strict=True):
            own = bits(part)
            masks = [sum(1 << i for i, k in enumerate(own) if conflicts[j] >> k & 1) for j in own]
            if 1 < len(set(masks)) <= MOST_TYPES:
                weights, _ = common_denominator([mass[members[k]] for k in own])
                total += minimum_entropy(weights, masks).lower * whole
    return total


def _same_observation(answer: StationaryAnswer) -> Matrix:
    observer = answer.relation.observer
    return answer.relation.conflicts & (observer.observation[:, None] == observer.observation)


def _words(observer: Observer, conflicts: Matrix) -> list[list[Any]]:
    """Words that distinguish every two conflicting nodes, suffixes first."""
    words: list[list[Any]] = [[]]
    numbers: dict[tuple[int, ...], int] = {(): 0}
    columns = [observer.law]
    pending = conflicts & ~_apart(observer.law)
    while pending.any():
        first, second = np.argwhere(pending)[0].tolist()
        word = separating_word(observer, first, second)
        assert word is not None, "conflicting nodes have a separating word"
        for k in range(len(word) - 1, -1, -1):
            tail = tuple(word[k:])
            if tail not in numbers:
                numbers[tail] = len(words)
                words.append([*observer.words(tail[0]), numbers[tail[1:]]])
                columns.append(_column(observer, tail[0], columns[numbers[tail[1:]]]))
                pending &= ~_apart(columns[-1])
    return words


def _column(observer: Observer, label: int, after: np.ndarray) -> np.ndarray:
    """The law of each node after a label and a word; −1 where it cannot follow."""
    column = np.full(observer.size, -1)
    if label in observer.by_label:
        source, target = observer.by_label[label]
        column[source] = after[target]
    return column


def _apart(column: np.ndarray) -> Matrix:
    reached = column >= 0
    return (column[:, None] != column) & reached[:, None] & reached


def _frames(frames: Frames) -> dict[str, Any] | None:
    if frames.k is not None:
        return {"actions": frames.actions, "k": frames.k}
    if frames.loop is None:
        return None
    loop = {key: [list(map(list, word)) for word in getattr(frames.loop, key)] for key in ("loop", "tail")}
    return {"actions": frames.actions, "loop": {"start": [list(start) for start in frames.loop.start], **loop}}
