"""What a move of code must not change: answers of the zoo, the certificate corpus, shipped codes, and every verdict.

`python tests/frozen_state.py` writes tests/frozen.json from the present state. A number that was wrong and has been
repaired is written again, and CHANGELOG.md says which.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from certify.answer import certify
from certify.zoo.registry import build, instances
from diacritic.studies.results import Results
from reproduction.scoreboard import comparisons

ROOT = Path(__file__).parents[1]
FROZEN = Path(__file__).with_name("frozen.json")
SHIPPED = ROOT / "src" / "diacritic" / "shipped"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def zoo_answers() -> dict[str, Any]:
    """Every step of every instance, and the joint claims; code counts apart, since a bracket may be closed later."""
    actual = {}
    for item in instances():
        document = certify(build(item.name)).to_dict()
        steps = [{key: value for key, value in step.items() if key != "method"} for step in document["steps"]]
        claims = [document[key] for key in ("certified", "observational", "simultaneous", "joint_bracket")]
        actual[item.name] = digest(json.dumps([steps, claims], sort_keys=True).encode())
    return actual


def corpus() -> dict[str, str]:
    """The bytes of every certificate and model in the corpus; its own test holds the verdicts."""
    folder = ROOT / "tests" / "certificates"
    kinds = ("correct", "incorrect", "malformed")
    files = {kind: sorted(path for path in (folder / kind).rglob("*") if path.is_file()) for kind in kinds}
    return {kind: digest(b"".join(path.read_bytes() for path in paths)) for kind, paths in files.items()}


def shipped_codes() -> dict[str, str]:
    """The codes that each shipped policy has on its episodes."""
    actual = {}
    for path in sorted(SHIPPED.rglob("codes.npz")):
        codes = np.load(path)["codes"]
        seed = json.loads(path.with_name("run.json").read_text())["run"]["seed"]
        actual[f"seed {seed}"] = digest(
            np.ascontiguousarray(codes.astype("<u2")).tobytes() + repr(codes.shape).encode()
        )
    return actual


def verdicts() -> dict[str, list[str]]:
    """Ours and the verdict on every line of every results page."""
    by_study: dict[str, list[str]] = {}
    for comparison in comparisons(Results.read(ROOT / "results")):
        study = comparison.study.name
        for line in comparison.cells:
            key = f"{study}: {line.cell.name} | {line.cell.learner} | {line.cell.preset}"
            rates = {} if not line.rows else {window: line.rate(window) for window in line.rows[0]["rate"]}
            said = [
                str(line.ours),
                str(line.verdict),
                digest(json.dumps([rates, line.success], sort_keys=True).encode()),
            ]
            assert by_study.setdefault(key, said) == said, key
        for line in comparison.figures:
            by_study[f"{study}: figure {line.figure.name}"] = [str(line.ours), str(line.verdict)]
    return by_study


def state() -> dict[str, Any]:
    return {"zoo": zoo_answers(), "corpus": corpus(), "shipped": shipped_codes(), "verdicts": verdicts()}


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(state(), indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
