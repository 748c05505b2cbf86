"""Rows of the studies past the paper."""

import numpy as np
import pytest

from certify import certify
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.studies.tasks import task
from reproduction.beyond_paper.benchmark_tasks import judge, zoo_task


def test_the_certified_machine_has_no_surplus_and_an_index_of_histories_has() -> None:
    bench = zoo_task(task("memory-chain", bits=2, delay=4))
    exact = from_certified(certify(bench.model).machine, bench.model)
    row = judge(bench, exact)
    assert (row["sufficient"], row["success"]) == (True, 1.0)
    assert row["surplus"] == pytest.approx({"mid-delay": 0, "delay": 0, "query": 0})
    assert row["requirement"] == pytest.approx({"mid-delay": 2, "delay": 2, "query": 1})
    blind = CodeMachine(np.zeros_like(exact.move), exact.act)
    row = judge(bench, blind)
    assert not row["sufficient"]
    assert row["rate"]["delay"] == 0
    assert row["scores"]["query"] == {"S_Gamma": 0, "S_G": 0}
