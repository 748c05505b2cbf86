"""Figures and tables of long delays show what the ledgers hold."""

from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.files.ledger import Row, read_ledger
from reproduction.beyond_paper.delays_draw import FIGURES, spent, svg, write
from reproduction.beyond_paper.delays_page import TABLES, between, filled, first_table

ROOT = Path(__file__).parents[3]
COMMITTED = {
    name: read_ledger(path) for name in TABLES if (path := ROOT / "results" / f"long-delays-{name}.jsonl").exists()
}


def made(preset: str, seed: int, first: int | None, cell: str = "chain") -> Row:
    curve = {"distance": [0, 1, 4], "norm": [0.5, 1.0, 2.0], "coherence": [0.9, 0.5, 0.1], "delay": 4}
    use = {"updates": 300, "codes_used": [1, 8], "perplexity": [1.0, 7.5]}
    scales = {"code_scale": 0.1, "residual_scale": 0.3, "persisting": 0.25}
    verdict = {"sufficient": first is not None, "first_sufficient": first, "requirement": {"decision": 1.0}}
    named = {
        "cell": cell,
        "task": "parity horizon=5",
        "horizon": 5,
        "preset": preset,
        "seed": seed,
        "steps": 300 * seed,
        "seconds": 2.0,
        "device": "cpu",
    }
    return {**named, **curve, **use, **scales, **verdict}


ROWS = [made("release", 0, None), made("release", 1, 200), made("carousel", 0, 100), made("carousel", 1, 200)]


def given(name: str) -> list[Row]:
    return [row | {"updates": [0, 300]} for row in ROWS] if name == "code-usage" else ROWS


@pytest.mark.parametrize("name", FIGURES)
def test_every_ledger_has_a_figure_and_a_table(name: str) -> None:
    picture = svg(name, given(name))
    assert picture == svg(name, given(name))
    assert picture.startswith("<?xml")
    assert TABLES[name](given(name)).count("\n") >= 2
    marks = "".join(f"<!-- {one} -->\n<!-- end of {one} -->\n" for one in TABLES)
    page = filled(marks, {name: given(name)})
    assert f"images/beyond_paper/long-delays-{name}.svg" in page
    assert page.count("*Not run yet.*") == len(TABLES) - 1


def test_a_table_counts_seeds_and_says_when() -> None:
    head, _, line = first_table(ROWS).splitlines()
    assert head == "| cell | carousel | release |"
    assert "| carousel | without clip | release |" in first_table([*ROWS, made("without clip", 0, 100)])
    assert line == "| chain | 2/2 (150) | 1/2 (200) |"
    assert first_table([*ROWS, made("carousel", 0, None, "gap")]).endswith("| gap | 0/1 | — |")


def test_a_run_that_passed_half_way_has_spent_half_of_its_seconds() -> None:
    assert spent(made("carousel", 0, 150)) == 1.0


def test_error_and_usage_are_read_off_their_ends() -> None:
    assert "| carousel | 4 | 0 | 4 (4–4) | 0.1 | 1/1 |" in TABLES["error-norm"](ROWS)
    assert "| parity horizon=5, release | 1.00 | 8.00 | 1.00 | 7.50 | 1/2 |" in TABLES["code-usage"](ROWS)
    assert TABLES["basin"](ROWS).endswith("| 0.3 | 3/4 |")


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(UserError, match="the page has no marks"):
        between("nothing", "basin", "")


def test_the_page_is_that_of_the_committed_ledgers(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "long_delays.md").read_text(encoding="utf-8")
    assert filled(page, COMMITTED) == page
    (tmp_path / "long_delays.md").write_text(page, encoding="utf-8")
    write(ROOT / "results", tmp_path)
    drawn = {path.name for path in (tmp_path / "images" / "beyond_paper").iterdir()}
    assert drawn == {f"long-delays-{name}.svg" for name in COMMITTED}
    assert (tmp_path / "long_delays.md").read_text(encoding="utf-8") == page


def test_the_basin_is_as_wide_as_the_page_says() -> None:
    passed: dict[tuple[float, float], int] = {}
    for row in COMMITTED["basin"]:
        point = row["code_scale"], row["residual_scale"]
        passed[point] = passed.get(point, 0) + row["sufficient"]
    widest = max(code for code, _ in passed)
    assert all(count >= 7 for (code, _), count in passed.items() if code < widest)
    assert min(count for (code, _), count in passed.items() if code == widest) < 7
    restless = [row for row in COMMITTED["basin"] if row["persisting"] < 0.3]
    assert restless
    assert sum(row["sufficient"] for row in restless) >= 0.875 * len(restless)


def sufficient(name: str, cell: str) -> dict[str, int]:
    """Sufficient seeds of a cell by preset."""
    counts: dict[str, int] = {}
    for row in COMMITTED[name]:
        if row["cell"].startswith(f"{cell} β="):
            counts[row["preset"]] = counts.get(row["preset"], 0) + row["sufficient"]
    return counts


def test_over_a_hundred_steps_the_gradient_alone_decides() -> None:
    chain = sufficient("left-out", "memory-chain bits=2 delay=100")
    assert {preset for preset, count in chain.items() if count == 8} == chain.keys() - {"without carousel gradient"}
    assert chain["without carousel gradient"] == 0
    gap = sufficient("left-out", "gap gap2=20")
    assert gap["without persistent start"] > gap["carousel"]
    assert all(gap["carousel"] > gap[f"without {one}"] for one in ("restarts", "clip", "rising β"))


def test_the_full_gradient_is_nowhere_better_at_counting() -> None:
    cells = {row["cell"] for row in COMMITTED["misleading"]}
    assert len(cells) == 13
    counts = [sufficient("misleading", cell.rsplit(" ", 1)[0]) for cell in sorted(cells)]
    assert all(one["carousel"] >= one["without carousel gradient"] for one in counts)
    coins = [sufficient("misleading", cell.rsplit(" ", 1)[0]) for cell in cells if "p=1/2" in cell]
    assert [sum(one.values()) for one in coins] == [0] * 4
