"""The scoreboard sums up every study, and the committed pages are those of the committed ledgers."""

from pathlib import Path

import pytest

from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.compare import compare
from reproduction.scoreboard import comparisons, scoreboard, write_pages

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("results")
    write_pages(ROOT / "results", target)
    return target


def test_the_committed_pages_are_those_of_the_ledgers(written: Path):
    committed = ROOT / "docs" / "results"
    made = {path.name: path.read_text() for path in written.glob("*.md")}
    assert set(made) == {path.name for path in committed.glob("*.md")}
    for name, text in made.items():
        assert (committed / name).read_text() == text, f"{name}: run python -m reproduction.scoreboard"
    assert {path.name for path in written.glob("*.svg")} == {path.name for path in committed.glob("*.svg")}


def test_every_study_has_a_page_and_a_line(written: Path):
    index = (written / "index.md").read_text()
    for name in STUDIES:
        assert f"]({name}.md) | " in index
        assert (written / f"{name}.md").exists()


def test_every_study_stands_in_the_sidebar():
    sidebar = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for study in STUDIES.values():
        assert f"- {study.title}: results/{study.name}.md\n" in sidebar


def test_the_last_line_is_the_sum_of_the_others():
    results = Results({})
    lines = scoreboard(comparisons(results), results).splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    numbers = [[int(cell.strip("*")) for cell in row[1:]] for row in table if row[1].strip("*").isdigit()]
    *studies, last = numbers
    assert last == [sum(column) for column in zip(*studies, strict=True)]
    assert last[0] == sum(last[1:])
    assert len(studies) == len(STUDIES)
    verdicts = {line.verdict.kind for study in STUDIES for line in compare(study, results).cells}
    assert verdicts == {"not run"}
