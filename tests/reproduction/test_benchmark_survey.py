"""The survey: its page says what fresh certifications say, gaps are named, and the toys are the live ones."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from certify import certify
from certify.core.codes import Codes
from certify.core.model import Model
from certify.errors import UserError
from certify.zoo import build, instances
from reproduction.benchmark_survey import (
    CODES,
    ENTRIES,
    FREE,
    HEADS,
    Entry,
    Row,
    counts,
    draw,
    markdown,
    print_survey,
    survey_rows,
    write_page,
)

PAGE = Path(__file__).parents[2] / "docs" / "survey.md"
BY_NAME = {entry.name: entry for entry in ENTRIES}
CHEAP = [
    "memory_size 3 bits",
    "memory_size 5 bits",
    "umbrella_length 20",
    "discounting_chain",
    "RepeatPrevious k=2",
    "HigherLower 13 ranks",
    "FrozenLake slippery",
    "CliffWalking",
    "Taxi (destination unseen)",
    "tiger (best policy)",
    "cheese (best policy)",
    "gap",
    "lost-cue",
    "passive-t-maze",
    "signpost-corridor",
    "three-histories",
]
SMALL = [BY_NAME[name] for name in ("memory_size 3 bits", "CliffWalking", "gap")]


def table() -> list[list[str]]:
    """The rows of the page, heads and rule first."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


# ---- the page


def test_fresh_rows_stand_on_the_page_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    fresh = markdown(survey_rows([BY_NAME[name] for name in CHEAP]))
    assert len(fresh) == 2 + len(CHEAP)
    assert [line for line in fresh if line not in page] == []


def test_the_page_has_a_row_for_every_entry() -> None:
    heads, _, *rows = table()
    assert tuple(heads) == HEADS
    assert [row[:3] for row in rows] == [[entry.name, entry.source, entry.modified] for entry in ENTRIES]
    assert len(BY_NAME) == len(ENTRIES)
    assert {item.name for item in instances()} <= {row[0] for row in rows}


def test_there_are_twenty_families_and_eight_are_not_ours() -> None:
    _, _, *rows = table()
    assert len({BY_NAME[row[0]].family for row in rows}) >= 20
    assert len({BY_NAME[row[0]].family for row in rows if row[1] in ("bsuite", "POPGym", "Gymnasium")}) >= 8
    assert {row[1] for row in rows} == {"bsuite", "POPGym", "Gymnasium", "POMDP file", "zoo"}


def test_the_verdicts_on_the_page_follow_from_its_numbers() -> None:
    _, _, *rows = table()
    for row in rows:
        steps, required, codes, verdict = int(row[3]), row[5], int(row[9]), row[10]  # a count, hence proved
        assert (verdict == FREE) == (codes == 1) == (required == f"0 x{steps}")
        assert (verdict == "infeasible with K=16") == (codes > 16)
        assert verdict in (FREE, "infeasible with K=16", "")
        assert "≤" not in required
    assert {row[0] for row in rows if row[10] == FREE} >= {"umbrella_length 20", "CliffWalking", "FrozenLake slippery"}
    assert sum(row[10].startswith("infeasible") for row in rows) >= 2


def test_a_stand_in_is_called_one_and_no_suite_is_claimed() -> None:
    assert {row[0] for row in table() if row[2] == "our stand-in"} == {"memory-chain", "passive-t-maze"}
    assert "mikasa" not in PAGE.read_text(encoding="utf-8").lower()


def test_a_page_is_written_with_its_picture(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    write_page(tmp_path / "survey.md", tmp_path / "images" / "survey.png", SMALL)
    page = (tmp_path / "survey.md").read_text(encoding="utf-8")
    assert "\n".join(markdown(survey_rows(SMALL))) in page
    assert "](images/survey.png)" in page
    assert "**Nothing needs to be remembered in**\n  CliffWalking." in page
    assert (tmp_path / "images" / "survey.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["images", "survey.md", "survey.png"]
    static = [line for line in page.splitlines() if line.startswith("- **")]
    assert [line for line in static if line not in PAGE.read_text(encoding="utf-8").splitlines()] == []


# ---- rows


def failing(reason: str) -> Callable[[], Model]:
    def make() -> Model:
        raise UserError("task", reason)

    return make


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize(
    ("package", "name"),
    [("popgym", "RepeatFirst"), ("bsuite", "memory_len 100"), ("gymnasium", "Taxi")],
)
def test_a_missing_package_is_named_in_its_row(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without(monkeypatch, package)
    entries = [BY_NAME[name], BY_NAME["gap"]]
    rows = survey_rows(entries)
    reason = f"needs {package}; install the extra 'sources'"
    assert rows[0].cells() == [name, rows[0].entry.source, rows[0].entry.modified, *["–"] * 7, reason]
    assert rows[1].answer is not None
    assert print_survey(None, entries) == 0
    assert "1 of 2 tasks certified" in capsys.readouterr().out
    with pytest.raises(UserError, match=rf"a page has no gaps: {reason}"):
        write_page(tmp_path / "survey.md", tmp_path / "survey.png", entries)
    assert list(tmp_path.iterdir()) == []


def test_a_fault_that_is_no_missing_package_is_not_hidden() -> None:
    with pytest.raises(UserError, match="task: is wrong"):
        survey_rows([Entry("wrong", "", "zoo", failing("is wrong"))])


def test_what_is_not_proved_is_not_shown_as_if_it_were() -> None:
    answer = certify(build("reveal"))
    first, *rest = answer.steps
    steps = (first, *(replace(s, rate=None, states=20 if s.t == 3 else None) for s in rest))
    open_codes = Codes(None, None, {"time_indexed": (4, 9), "stationary": (4, 9)}, {}, {}, {})
    unproved = replace(answer, steps=steps)
    vars(unproved)["codes_found"] = open_codes
    cells = Row(SMALL[0], unproved).cells()
    assert cells[5] == "0, ≤0.000, ≤1.000, ≤2.000"
    assert cells[9:] == ["≥ 20", f"infeasible with K={CODES}"]


def test_long_profiles_keep_first_peak_and_last() -> None:
    answer = certify(build("modulo-counter", modulus=3, horizon=9))
    assert Row(SMALL[0], answer).cells()[5] == "0 … 1.585 (t=7) … 1.585"


def test_the_counts() -> None:
    again = replace(BY_NAME["gap"], variant="again")
    rows = survey_rows([*SMALL, again, BY_NAME["memory_size 5 bits"]])
    assert counts(rows) == (
        "5 of 5 tasks certified, of 3 families, 2 of them not ours; 1 need no memory, 1 more than 16 codes"
    )


# ---- printing and drawing


@pytest.mark.parametrize("rich", [True, False])
def test_the_table_is_printed(rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if not rich:
        without(monkeypatch, "rich")
    assert print_survey(None, SMALL) == 0
    printed = capsys.readouterr()
    lines = [" ".join(line.split()) for line in printed.out.splitlines()]
    assert (lines[0] == "Does this benchmark need memory, and how much?") == rich
    for row in survey_rows(SMALL):
        assert " ".join(" ".join(row.cells()).split()) in lines
    assert "3 of 3 tasks certified" in lines[-1]
    assert printed.err == ""


def test_a_terminal_sees_how_far_it_has_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    survey_rows(SMALL)
    assert "surveying" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_picture(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"survey{suffix}"
    assert print_survey(str(path), SMALL) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {path}"
    assert path.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [path]


def test_the_picture_names_tasks_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "survey.svg"
    rows = survey_rows([*SMALL, BY_NAME["memory_size 5 bits"]])
    draw([*rows, Row(BY_NAME["RepeatFirst"], None, "needs popgym")], path)
    text = path.read_text(encoding="utf-8")
    for words in ("gap  ·  zoo", "CliffWalking  ·  Gymnasium", "needs no memory", "1, 32 codes"):
        assert f"<!-- {words} -->" in text
    assert "RepeatFirst" not in text


def test_pictures_that_cannot_be_are_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"ends in \.png, \.svg, \.pdf"):
        print_survey(str(tmp_path / "survey.txt"))
    with pytest.raises(UserError, match="no such folder"):
        print_survey(str(tmp_path / "none" / "survey.png"))
    without(monkeypatch, "matplotlib")
    with pytest.raises(UserError, match="needs matplotlib; install the extra 'report'"):
        print_survey(str(tmp_path / "survey.png"))
    assert list(tmp_path.iterdir()) == []


# ---- the toys of Gymnasium


@pytest.mark.parametrize(
    ("name", "task", "ends", "earned"),
    [
        ("FrozenLake slippery", "FrozenLakeEnv", False, None),
        ("CliffWalking", "CliffWalkingEnv", True, {-13}),
        ("Taxi", "TaxiEnv", True, set(range(3, 19))),
    ],
)
def test_live_episodes_are_played_by_the_certified_machine(
    name: str, task: str, ends: bool, earned: set[int] | None
) -> None:
    from gymnasium.envs import toy_text

    machine = certify(BY_NAME[name].make()).machine
    env = getattr(toy_text, task)()
    outcomes: set[int] = set()
    for seed in range(30):
        raw, _ = env.reset(seed=seed)
        state, total, over = machine.begin(str(raw)), 0, False
        for _ in range(len(machine.states) - 1):
            (action,) = state.law  # the expert is deterministic
            if not over:
                raw, reward, over, _, _ = env.step(int(action))
                total += int(reward)
            state = machine.advance(state, action, "end" if over else str(raw))
        assert over or not ends
        outcomes.add(total)
    assert earned is None or outcomes <= earned
    assert earned is not None or 1 in outcomes  # somebody crosses the ice
