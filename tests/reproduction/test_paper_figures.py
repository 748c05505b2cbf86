"""The paper's figures: every one draws from complete ledgers, the same bytes twice, and says what is missing."""

import json
from pathlib import Path

import pytest
from report_inputs import ledger_row

from diacritic.files.ledger import write_ledger
from reproduction import paper_figures
from reproduction.__main__ import main
from reproduction.paper_figures import FIGURES, find

SEEDS = range(3)


def rows_of(task: str, learner: str, windows: dict[str, float], **more: object) -> list[dict]:
    """Three seeds, the last of which fails."""
    rates = {name: bits + 0.5 for name, bits in windows.items()}
    told = {name: {"I(C;mass)": 0.1, "drift": 0.2} for name in windows}
    common = {"learner": learner, "rate": rates, "requirement": windows, "information": told}
    return [ledger_row(task, seed, seed < 2, **{**common, **more}) for seed in SEEDS]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ledgers with what every figure needs."""
    folder = tmp_path_factory.mktemp("results")
    rows: list[dict] = []
    gaps = {"gap1": 2.0, "gap2": 1.0}
    for modes in (4, 512):
        for learner, codes in (("plain", 16), ("plain", 64), ("sysid", 16), ("sysid", 256), ("inverse-only", 16)):
            rows += rows_of(f"hidden-mass modes={modes}", learner, {"grasp": 0.0}, K=codes)
        for learner in ("plain", "sysid"):
            rows += rows_of(f"readout-2 modes={modes}", learner, gaps)
        for learner in ("task-informed", "sysid"):
            rows += rows_of(f"full-reveal modes={modes}", learner, gaps)
    for delay in (10, 30):
        for bits in (1, 2, 3):
            for learner in ("plain", "event-agnostic-recorded"):
                rows += rows_of(f"memory-chain bits={bits} delay={delay}", learner, {"mid-delay": float(bits)})
    steps = {"profile": [0.0, 2.0, 1.0], "required_profile": [0.0, 2.0, 0.0], "decision_profile": [0.0, 1.0, 0.0]}
    for beta in (0.0, 1e-3):
        rows += rows_of("two-cues gap=6", "plain", gaps, N=1152, beta=beta, **steps)
    rows += rows_of("two-cues gap=20", "hierarchical+task-informed", gaps, beta=1e-3, **steps)
    for learner in ("plain", "plain+bfs"):
        rows += rows_of("gap gap2=6", learner, {"first gap": 1.8, "second gap": 1.0}, beta=0.03)
    halls = {"hall 1": 2.0, "hall 2": 1.0}
    rows += rows_of("signpost-corridor M=16 hall1=3 hall2=6", "plain", halls)
    rows += rows_of("signpost-corridor M=16 W=5 hall1=3 hall2=6", "plain", halls)
    write_ledger(folder / "all.jsonl", rows)
    certificate = {key: {"scan": [0.0, 2.0], "grasp": [1.0]} for key in ("requirement", "instantaneous")}
    (folder / "acceptance.jsonl").write_text(
        json.dumps({"dataset": "two-cues-gap6", "certificate": certificate}) + "\n", encoding="utf-8"
    )
    return folder


@pytest.mark.parametrize("name", [item.name for item in FIGURES])
def test_every_figure_draws_from_complete_ledgers(name: str, results: Path, tmp_path: Path):
    out = tmp_path / f"{name}.svg"
    assert main(["figure", name, "--results", str(results), "-o", str(out)]) == 0
    drawn = out.read_text(encoding="utf-8")
    assert drawn.count("<path") > 20
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_what_has_not_run_is_said_in_the_figure(results: Path, tmp_path: Path):
    from matplotlib import rcParams

    plain = [row for row in paper_figures.Rows.read("x", results).rows if row.get("learner") == "plain"]
    write_ledger(tmp_path / "some.jsonl", plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rcParams, "svg.fonttype", "none")  # text stays text
        out = tmp_path / "out.svg"
        assert main(["figure", "memory-profile", "--results", str(results), "-o", str(out)]) == 0
        drawn = out.read_text(encoding="utf-8")
        assert "not run: two-cues with plain, gap=20, beta=0.001; two-cues with event-agnostic" in drawn
        assert main(["figure", "hidden-mass", "--results", str(tmp_path), "-o", str(out)]) == 0
        assert "not run: hidden-mass with sysid; hidden-mass with inverse-only" in out.read_text(encoding="utf-8")


def test_equal_ledgers_give_equal_files(results: Path, tmp_path: Path):
    for name in ("one.svg", "two.svg"):
        assert main(["figure", "full-reveal", "--results", str(results), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", [item.name for item in FIGURES])
def test_a_figure_without_its_runs_says_so_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_ledger(tmp_path / "other.jsonl", rows_of("reveal", "plain", {"decision": 2.0}))
    out = tmp_path / "out.svg"
    assert main(["figure", name, "--results", str(tmp_path), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert f"figure {name}: no ledger holds" in said
    assert len(said.strip().splitlines()) == 1
    assert not out.exists()


def test_policies_that_were_not_rolled_out_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_ledger(tmp_path / "other.jsonl", rows_of("two-cues gap=6", "plain", {"gap2": 1.0}, success=None))
    assert main(["figure", "rate-fidelity", "--results", str(tmp_path)]) == 2
    assert "roll them out first" in capsys.readouterr().err


def test_figures_are_found_by_our_name_and_the_papers_label():
    assert find("hidden-mass") is find("fig:sysK") is find("sysK")
    assert len({item.name for item in FIGURES}) == len({item.label for item in FIGURES}) == 10


def test_failed_seeds_are_red_and_dashed(results: Path):
    from matplotlib.figure import Figure

    picture = Figure()
    paper_figures.find("plain-trajectories").draw(picture, paper_figures.Rows.read("plain-trajectories", results))
    styles = [(line.get_color(), line.get_linestyle()) for line in picture.axes[0].get_lines()]
    assert styles == [(paper_figures.OURS, "-"), (paper_figures.OURS, "-"), (paper_figures.FAILED, "--")]
