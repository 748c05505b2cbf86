"""`diacritic report` on inputs with one wrong field: a page that says what it left out, or one line."""

import json
from pathlib import Path

import pytest
from mutations import retyped
from report_inputs import add_rollout, add_verdict, ledger_row, make_run

from certify.zoo import build
from diacritic.cli import main
from diacritic.demos.record import record
from diacritic.files.demos import save
from diacritic.measure.probe import FORMAT as PROBE
from diacritic.tasks.registry import make as make_task

COUNT = 35


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Of every kind of file: the file, and the input that leads to it."""
    folder = tmp_path_factory.mktemp("inputs")
    run = make_run(folder / "runs", 0)
    add_verdict(run)
    add_rollout(run)
    (folder / "ledger.jsonl").write_text(json.dumps(ledger_row("gap", 0, True)) + "\n", encoding="utf-8")
    (folder / "model.json").write_text(build("gap", gap1=1, gap2=1).to_json(), encoding="utf-8")
    save(record(make_task("two-cues", gap=1, first_gap=1), 16, seed=2)[0], folder / "short")
    files = {name: (run / f"{name}.json", folder / "runs") for name in ("run", "verdict", "rollout")}
    files |= {name: (folder / name, folder / name) for name in ("ledger.jsonl", "model.json")}
    cell = {"phase": "gap1", "variable": "slot", "probe": "linear", "status": "hidden", "passed": True}
    cell |= {"accuracy": 0.5, "chance": 0.5, "adjusted": 1.0, "interval": [0.3, 0.7]}
    probes = {"format": PROBE, "demos_sha256": "0", "probes": {"raw observations": {"cells": [cell]}}}
    (folder / "other.probe.json").write_text(json.dumps(probes), encoding="utf-8")
    files["probe"] = (folder / "other.probe.json", folder / "other.probe.json")
    return files | {"demos": (folder / "short.json", folder / "short")}


@pytest.mark.parametrize("kind", ["run", "verdict", "rollout", "ledger.jsonl", "model.json", "demos", "probe"])
def test_one_wrong_field_never_ends_in_a_traceback(
    kind: str, inputs: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, given = inputs[kind]
    whole = file.read_text(encoding="utf-8")
    refused = 0
    try:
        for changed in retyped(json.loads(whole), COUNT):
            file.write_text(json.dumps(changed) + "\n", encoding="utf-8")
            status = main(["report", str(given), "-o", str(tmp_path / "page.html"), "--no-film"])
            said = capsys.readouterr()
            assert status in (0, 2), changed
            assert len(said.err.strip().splitlines()) == (status == 2)
            refused += status == 2 or "left out" in said.out
    finally:
        file.write_text(whole, encoding="utf-8")
    assert refused
