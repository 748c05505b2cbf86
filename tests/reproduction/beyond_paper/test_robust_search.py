"""The search of noise and weights, small; and that the learner has what it chose."""

from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from diacritic.files.ledger import read_ledger
from diacritic.studies.tasks import task
from diacritic.training.compress_recorded import LONGER, PREVIOUS, Compressed, forgotten
from diacritic.training.unseen_time import sensor_noise
from reproduction.beyond_paper import robust_search
from reproduction.beyond_paper.robust_search import SETTINGS, WEIGHING, Setting, run, search_rows, searched

ROOT = Path(__file__).parents[3]
SMALL = replace(WEIGHING, task=task("two-cues", gap=1, first_gap=1, episodes=512), first_seed=3, seeds=2)


def test_a_setting_is_what_is_fitted_and_then_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def ask(cohort: Any, effort: Any, noise: Any) -> Compressed:
        share = noise.observation / sensor_noise(cohort.data)
        asked.append((effort.steps, effort.imitation, noise.previous, float(share.nanmean())))
        return forgotten(cohort, effort, noise)

    monkeypatch.setattr(robust_search, "forgotten", ask)
    rows = search_rows(Setting(7.0, 0.5, 0.1, updates=2), SMALL, tmp_path, episodes=4)
    assert asked == [(2, 7.0, 0.1, pytest.approx(0.5))]
    assert [(row["seed"], row["imitation"], row["sensors"]) for row in rows] == [(3, 7.0, 0.5), (4, 7.0, 0.5)]
    assert all(0 <= row[name] <= 1 for row in rows for name in ("success", "side", "slot"))


def test_settings_are_run_by_their_description_and_replace_their_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def known(setting: Setting, cell: Any, *_: Any) -> list[dict[str, Any]]:
        return [{"task": "t", "seed": seed, **vars(setting), "success": 0.5 + seed / 16} for seed in cell.run_seeds]

    monkeypatch.setattr(robust_search, "search_rows", known)
    for only in ("imitation=400.0", "updates=3000", "imitation=400.0"):
        run(tmp_path, "cpu", only, tmp_path)
    rows = read_ledger(tmp_path / "robust-search.jsonl")
    assert len(rows) == 8 * 4  # two settings have both
    assert "| 400 | 1 | 0.3 | 3,000 | 0.719 | 0.500 |" in searched(rows)
    assert capsys.readouterr().out.count("imitation=400.0") == 5


def test_the_learner_has_the_setting_with_the_highest_success() -> None:
    rows = read_ledger(ROOT / "results" / "robust-search.jsonl")
    assert len(rows) == 8 * len(SETTINGS)
    assert {row["seed"] for row in rows}.isdisjoint(WEIGHING.run_seeds)

    def success(setting: Setting) -> float:
        return mean(row["success"] for row in rows if all(row[key] == value for key, value in vars(setting).items()))

    assert max(SETTINGS, key=success) == Setting(LONGER.imitation, 1.0, PREVIOUS, LONGER.steps)
