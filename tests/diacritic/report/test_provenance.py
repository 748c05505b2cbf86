"""Where a report comes from."""

from diacritic._version import __version__
from diacritic.report.inputs import Inputs, collect
from diacritic.report.provenance import provenance


def test_version_command_and_digests_are_named(inputs: Inputs):
    inputs.extend(collect(["gap"]))
    shown = provenance(inputs, "diacritic report gap")
    assert (shown["version"], shown["command"], shown["more"]) == (__version__, "diacritic report gap", 0)
    kinds = [kind for kind, _, _ in shown["digests"]]
    assert kinds == ["model"] + ["run"] * 4
    assert shown["digests"][0][2] == inputs.models[0].digest
