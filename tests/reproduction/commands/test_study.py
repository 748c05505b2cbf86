"""The engine's commands on the paper's own studies."""

import pytest

from reproduction.__main__ import main


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["list"], "The four-bit join"),
        (["show", "tier-16"], "join"),
        (["status", "tier-16"], "cells complete"),
        (["run", "tier-16", "--dry-run"], "join"),
    ],
)
def test_commands_know_the_studies_of_the_paper(command, expected, capsys):
    assert main(command) == 0
    assert expected in capsys.readouterr().out


def test_a_study_has_to_be_named(capsys):
    assert main(["export"]) == 2
    assert "give the name of at least one study" in capsys.readouterr().err
