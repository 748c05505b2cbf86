"""What lies beside a run and cannot be shown is named, and the run itself is still read."""

from pathlib import Path

from report_inputs import make_run

from diacritic.report.runs import read_run


def test_a_verdict_without_its_parts_is_left_out(tmp_path: Path):
    folder = make_run(tmp_path, 0)
    (folder / "verdict.json").write_text('{"format": "diacritic-verdict/1"}')
    run, problems = read_run(folder)
    assert run.verdict is None
    assert "verdict.json: lacks 'run'; measure the run again" in str(problems[0])
