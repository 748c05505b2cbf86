"""Every reader takes any damage: it reads the file or refuses it in one line, and nothing else is raised."""

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mutations import damaged, texts
from report_inputs import add_rollout, add_verdict, make_run
from saved_run import CODES, WEIGHTS, manifest
from stand_in_task import StandIn

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.files.checkpoint import read_checkpoint, write_checkpoint
from diacritic.files.demos import load, save
from diacritic.files.job import EXCHANGE, read_job, read_result, write_job, write_result
from diacritic.files.ledger import read_keys, read_ledger
from diacritic.files.machine import MachineFile
from diacritic.files.run import read_codes, read_manifest, read_weights, write_run
from diacritic.report.runs import read_run
from diacritic.training.train_job import TrainJob

COUNT = 500


def attack(path: Path, contents: Iterable[bytes], read: Callable[[], Any]) -> int:
    """Read every damaged content; how many were refused, each in one short line."""
    lines = []
    for content in contents:
        path.write_bytes(content)
        try:
            read()
        except UserError as problem:
            lines.append(str(problem))
    assert [line for line in lines if "\n" in line or len(line) > 1000] == []
    return len(lines)


def test_run(tmp_path: Path):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    document = json.loads((path / "run.json").read_text())
    assert attack(path / "run.json", texts(document, COUNT), lambda: read_manifest(path)) > COUNT // 2
    (path / "run.json").write_text(json.dumps(document))
    attack(path / "codes.npz", damaged((path / "codes.npz").read_bytes(), COUNT), lambda: read_codes(path, manifest()))
    content = (path / "weights.safetensors").read_bytes()
    attack(path / "weights.safetensors", damaged(content, COUNT), lambda: read_weights(path))


def test_demos(tmp_path: Path):
    save(record(StandIn(), 8, 0)[0], tmp_path / "one")
    document, arrays = json.loads((tmp_path / "one.json").read_text()), (tmp_path / "one.npz").read_bytes()
    attack(tmp_path / "one.json", texts(document, COUNT), lambda: load(tmp_path / "one"))
    (tmp_path / "one.json").write_text(json.dumps(document))
    assert attack(tmp_path / "one.npz", damaged(arrays, COUNT), lambda: load(tmp_path / "one")) > COUNT * 0.9


def test_machine(tmp_path: Path):
    tables = {"first": {"a": 0, "b": 1}, "moves": [[0, "go", "a", 1]], "acts": [[0, "a", "go"], [1, "b", "stop"]]}
    document = {"format": "diacritic-machine/1", "task": "t", "model_sha256": "0", "horizon": 2, "codes": 2, **tables}
    document |= {"bits": [0.0, 1.0], "minimal": True, "equal": True, "origin": {"run": "x"}}
    path = tmp_path / "machine.json"
    assert attack(path, texts(document, COUNT), lambda: MachineFile.load(path)) > COUNT // 2


def test_job(tmp_path: Path):
    order: dict[str, Any] = {"recording": "short", "demos_sha256": "0", "demonstrations": 2, "learner": "plain"}
    order |= {"preset": "carousel", "steps": 3, "codes": 4, "runs": [{"seed": 0, "beta": 0.1}, {"seed": 1}]}
    order |= {"forecaster_steps": 5, "misled": 0.5, "start": [["former", 0], ["former", 1]], "low": False}
    write_job(tmp_path, [order], [{"cell": {}, "places": []}])
    document = json.loads((tmp_path / EXCHANGE).read_text())

    def jobs() -> list[TrainJob]:
        return [TrainJob.from_dict(item) for item in read_job(tmp_path).train_jobs]

    assert attack(tmp_path / EXCHANGE, texts(document, COUNT), jobs) > COUNT // 2


def test_result(tmp_path: Path):
    notes: dict[str, Any] = {"architecture": {}, "shape": {}, "diverged": [False], "seconds": 1.0, "supervising": 0.0}
    notes |= {"device": "cpu", "torch": "2", "code_version": "memory 1"}
    codes, path = write_result(tmp_path, "one", {"a": torch.ones(2)}, {3: np.zeros((1, 2, 4), np.uint8)}, notes)
    assert read_result(tmp_path, "one", 1) is not None
    whole = path.read_bytes()
    assert attack(path, damaged(whole, COUNT), lambda: read_result(tmp_path, "one", 1)) == COUNT
    path.write_bytes(whole)
    attack(codes, damaged(codes.read_bytes(), COUNT), lambda: read_result(tmp_path, "one", 1))


def test_checkpoint(tmp_path: Path):
    state, path = {"flat": torch.ones(2, 3), "count": torch.full((2,), 4.0)}, tmp_path / "c.safetensors"
    write_checkpoint(path, "plan", 4, state)
    assert read_checkpoint(path, "plan", 9, state)[0] == 4
    assert attack(path, damaged(path.read_bytes(), COUNT), lambda: read_checkpoint(path, "plan", 9, state)) == COUNT


def test_ledger(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    attack(
        path, texts({"cell": "a", "seed": 0, "rate": {"gap": 1.0}}, COUNT), lambda: (read_ledger(path), read_keys(path))
    )


def test_what_the_page_reads_of_a_run(tmp_path: Path):
    path = make_run(tmp_path, 0)
    add_verdict(path)
    add_rollout(path)
    for name in ("verdict.json", "rollout.json"):
        whole = (path / name).read_text()
        for content in texts(json.loads(whole), COUNT):
            (path / name).write_bytes(content)
            with contextlib.suppress(UserError):
                run, _ = read_run(path)
                _ = run.sufficient, run.rate, run.requirement, run.success
        (path / name).write_text(whole)
