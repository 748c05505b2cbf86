"""`diacritic figure`: the list, and bad input in one line."""

import pytest

from diacritic.cli import main
from reproduction.paper_figures import FIGURES


@pytest.mark.parametrize(
    ("arguments", "line"),
    [(["nonsense"], "none is called 'nonsense'; there are concept"), (["toys", "-o", "toys.txt"], "written as .svg")],
)
def test_bad_input_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]):
    assert main(["figure", *arguments]) == 2
    assert line in capsys.readouterr().err


def test_the_list_names_every_figure(capsys: pytest.CaptureFixture[str]):
    assert main(["figure", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [item.name for item in FIGURES]
