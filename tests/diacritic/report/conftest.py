"""Runs that were trained, judged and played, as the page reads them."""

from pathlib import Path

import pytest
from report_inputs import add_rollout, add_verdict, make_run

from diacritic.report.inputs import Inputs, collect


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """Three seeds that suffice and one that fails, all judged and played."""
    for seed in range(4):
        path = make_run(tmp_path, seed, sufficient=seed != 2)
        add_verdict(path)
        add_rollout(path)
    return collect([str(tmp_path)])
