"""A model of one step has every output."""

import json
from pathlib import Path

import pytest

from certify import check
from certify.__main__ import main

STEPS = [{"obs": "o", "action_law": {"a": "1"}, "action": "a"}]


@pytest.mark.parametrize("machine", ["m.dot", "m.svg", "m.json", "m.kiss2"])
def test_every_output(machine: str, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text(json.dumps({"horizon": 1, "episodes": [{"weight": "1", "steps": STEPS}]}))
    names = {"json": "a.json", "plot": "p.png", "machine": machine, "certificate": "c.json"}
    assert (
        main([str(model), *(word for key, name in names.items() for word in (f"--{key}", str(tmp_path / name)))]) == 0
    )
    assert json.loads((tmp_path / "a.json").read_text())["codes"] == {"time_indexed": 1, "stationary": 1}
    assert check.main([str(tmp_path / "c.json"), str(model)]) == 0
