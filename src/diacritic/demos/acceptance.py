"""Acceptance: what must hold of a recording before anything is learned from it, printed and kept in its manifest."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from certify import Answer, certify
from certify.errors import UserError
from diacritic.demos import leaks, reconstruct, requirement
from diacritic.demos.binner import Binner
from diacritic.demos.pixel_probe import EPOCHS, pixel_table
from diacritic.files.atomic import read_json, write_json
from diacritic.files.demos import FORMAT, Demos, paths


@dataclass(frozen=True)
class Check:
    """One thing that must hold, whether it does, and the numbers behind it."""

    name: str
    passed: bool
    text: str
    data: Any = None


@dataclass(frozen=True)
class Acceptance:
    """All checks of one recording."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def lines(self) -> list[str]:
        """The report in words."""
        return [
            f"{'ok    ' if check.passed else 'FAILED'}  {check.name}: {line}" if k == 0 else f"          {line}"
            for check in self.checks
            for k, line in enumerate(check.text.splitlines())
        ]

    def to_dict(self) -> dict[str, Any]:
        checks = {check.name: {"passed": check.passed, "text": check.text, "data": check.data} for check in self.checks}
        return {"passed": self.passed, "checks": checks}


def accept(
    demos: Demos,
    binner: Binner,
    fresh: Demos | None = None,
    held_out: int = leaks.HELD_OUT,
    epochs: int = EPOCHS,
    pictured: Sequence[str] | None = None,
) -> Acceptance:
    """Run every check; `fresh` is an independent recording, `epochs` how long the pixel probe may learn, and `pictured`
    the variables that it asks for (all of them by default)."""
    checks = [
        _determinism(demos),
        _coverage(demos),
        _success(demos),
        _agreement(demos, binner),
        _symbols(demos, binner),
        _visibility(demos, binner),
        _leaks("leaks", leaks.leak_table(demos, binner, held_out)),
    ]
    if demos.frames is not None:
        checks.append(_leaks("pixel leaks", pixel_table(demos, binner, None, held_out, epochs, variables=pictured)))
    try:
        recorded, uniform = requirement.certify_recording(demos), certify(reconstruct.complete(demos).model)
    except UserError as error:
        return Acceptance((*checks, Check("certificate", False, str(error))))
    checks.append(_certificate(recorded, uniform))
    if fresh is not None:
        checks.append(_fresh(uniform, binner, fresh))
    return Acceptance(tuple(checks))


def store(stem: str | os.PathLike[str], acceptance: Acceptance) -> None:
    """Keep the checks in the manifest of a saved recording, by atomic rename."""
    path = paths(stem)[1]
    write_json(path, read_json(path, FORMAT, "record again") | {"acceptance": acceptance.to_dict()})


def _determinism(demos: Demos) -> Check:
    odd = requirement.nondeterministic(demos)
    told = f"; not in {odd[0]}" if odd else ""
    total = len(set(requirement.configurations(demos)))
    return Check(
        "determinism",
        not odd,
        f"{total - len(odd)} of {total} configurations have the same symbols and actions in every episode{told}",
        {"configurations": total, "differing": [list(item) for item in odd]},
    )


def _coverage(demos: Demos) -> Check:
    """Complete, or else every unrecorded configuration can be rebuilt from donors by a validated rule."""
    try:
        coverage = requirement.coverage(demos)
    except UserError as error:
        return Check("coverage", False, str(error))
    unseen = list(coverage.unseen or ())
    data: dict[str, Any] = {
        "recorded": len(coverage.counts),
        "unseen": unseen[:64],
        "unseen_count": len(unseen),
        "missing_mass": str(coverage.missing_mass),
    }
    said, passed = [line.removeprefix("coverage: ") for line in coverage.lines()], True
    if unseen:
        try:
            rebuilt, total = reconstruct.reproduced(demos)
            reconstruct.complete(demos)
            data["reproduced"] = [rebuilt, total]
            said.append(
                f"rebuilt from donors; the rule reproduces {rebuilt} of {total} recorded ones from another donor"
            )
            passed = rebuilt == total
        except UserError as error:
            said.append(f"cannot be rebuilt: {error}")
            passed = False
    return Check("coverage", passed, "\n".join(said), data)


def _success(demos: Demos) -> Check:
    count, of = int(demos.success.sum()), demos.episodes
    return Check("expert success", count == of, f"{count}/{of}", {"succeeded": count, "of": of})


def _agreement(demos: Demos, binner: Binner) -> Check:
    agreement = binner.agreement(demos.observations, demos.latents)
    said: list[str] = []
    data: dict[str, Any] = {}
    for name, item in agreement.items():
        data[name] = {"pairs": item.pairs, "wrong": item.wrong, "wrong_given_other": item.wrong_given}
        told = f"{name}: {item.wrong} disagreements on {item.pairs} held-out pairs"
        told += f" ({item.wrong_given} told the other class)"
        if not demos.convention.factor(name).sharp:
            shares = {phase: binner.agreement(demos.observations, demos.latents, phase)[name] for phase in _seen(demos)}
            data[name]["agreement"] = {phase: part.share for phase, part in shares.items() if part.pairs}
            told += "; measured agreement " + ", ".join(f"{k} {v:.3f}" for k, v in data[name]["agreement"].items())
        said.append(told)
    sharp = [item for name, item in agreement.items() if demos.convention.factor(name).sharp]
    passed = all(item.wrong == 0 and item.wrong_given == 0 for item in sharp)
    return Check("binner agreement", passed, "\n".join(said) or "no factors", data)


def _symbols(demos: Demos, binner: Binner) -> Check:
    """The stored symbols are the labels of the frozen convention; the online reading is measured beside them."""
    labels, online = binner.symbols(demos.observations, demos.latents), binner.symbols(demos.observations)
    stored = np.array([*binner.names, "unseen"])[labels] == np.array(demos.symbol_names)[demos.symbols]
    share, unseen, off = float((online == labels).mean()), int((online < 0).sum()), int((~stored).sum())
    text = f"{off} stored symbols differ from the convention; read online {share:.4f} agree, {unseen} unseen"
    return Check("symbols", bool(stored.all()), text, {"online_agreement": share, "online_unseen": unseen})


def _visibility(demos: Demos, binner: Binner) -> Check:
    """At which steps each class is seen, by the data; it must be as the task means it where the task says so."""
    seen = {name: np.flatnonzero(reading.visible).tolist() for name, reading in binner.readings.items()}
    odd = {name: sorted(set(seen[name]) ^ set(meant)) for name, meant in demos.convention.designed.items()}
    said = [f"{name} at {ranges(_from_one(steps))}" for name, steps in seen.items()]
    said += [
        f"{name} is not as the task means it at {ranges(_from_one(steps))}" for name, steps in odd.items() if steps
    ]
    return Check("visibility", not any(odd.values()), "\n".join(said) or "no factors", seen)


def _leaks(name: str, cells: list[leaks.Cell]) -> Check:
    bad = leaks.failures(cells)
    told = [
        f"{cell.phase} × {cell.variable} ({cell.probe}): {cell.accuracy:.2f}, Holm p {cell.adjusted:.2g}"
        for cell in bad
    ]
    head = f"{len(cells) - len(bad)} of {len(cells)} cells as expected (* seen, + seen in part, ! wrong)"
    text = "\n".join([head, *leaks.lines(cells), *told])
    return Check(name, not bad, text, [cell.to_dict() for cell in cells])


def _certificate(recorded: Answer, uniform: Answer) -> Check:
    """The staircase of the generating program (every configuration equally often), and how far the counts are off."""
    steps = uniform.steps
    columns = {
        "requirement": [s.upper for s in steps],
        "instantaneous": [s.instantaneous for s in steps],
        "strong": [s.strong for s in steps],
        "history": [s.history for s in steps],
    }
    off = max(abs(a.upper - b.upper) for a, b in zip(recorded.steps, steps, strict=True))
    failing = {name: [s.t for s in steps if not getattr(s, name)] for name in ("a2", "a4", "transitive")}
    signs = {"requirement": "H(Γ|Ō)", "instantaneous": "H(G|Ō)", "strong": "H(Γˢ|Ō)", "history": "H(H|Ō)"}
    said = [f"{signs[name]} {profile(values)}" for name, values in columns.items()]
    said += [f"{name.upper()} fails at {ranges(failed)}" for name, failed in failing.items() if failed]
    said.append(f"the recorded counts give a requirement that differs by at most {off:.3f} bit")
    data = {**columns, "failing": failing, "recorded": [s.upper for s in recorded.steps]}
    return Check("certificate", uniform.certified and recorded.certified, "\n".join(said), data)


def _fresh(uniform: Answer, binner: Binner, fresh: Demos) -> Check:
    """An independent recording, symbolised by a binner of its own, must give the same certificate."""
    other = Binner.fit(fresh.convention, fresh.observations, fresh.latents)
    differences = requirement.different_visibility(binner, other)
    try:
        differences += requirement.differences(uniform, certify(reconstruct.complete(fresh).model))
    except UserError as error:
        differences.append(str(error))
    succeeded = int(fresh.success.sum())
    text = f"{len(differences)} differences" + (
        f", first: {differences[0]}" if differences else f" to seed {fresh.seed}"
    )
    text += f"; expert success {succeeded}/{fresh.episodes}"
    data = {"seed": fresh.seed, "sha256": fresh.digest, "differences": differences}
    data |= {"succeeded": succeeded, "of": fresh.episodes}
    return Check("fresh recording", not differences and succeeded == fresh.episodes, text, data)


def _from_one(steps: Sequence[int]) -> list[int]:
    return [t + 1 for t in steps]


def _seen(demos: Demos) -> list[str]:
    return [demos.convention.phases[k] for k in np.unique(demos.phase[:, 0])]


def profile(values: Sequence[float]) -> str:
    """A staircase in words: each level once, with the steps it lasts."""
    words = (f"{value:.2f}".rstrip("0").rstrip(".") for value in values)
    runs = [(word, len(list(run))) for word, run in groupby(words)]
    return " → ".join(f"{word} (×{count})" if count > 1 else word for word, count in runs)


def ranges(steps: Sequence[int]) -> str:
    """Sorted steps in words: 3–5, 9."""
    runs = [[step for _, step in run] for _, run in groupby(enumerate(steps), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "no step"
