"""Files made to exhaust the checker: what a file can cost is bounded by its size and by the limit."""

import json
from pathlib import Path
from typing import Any

import pytest
from certify_corpus import documents, verdict

from certify import check


class NeverWritten(str):
    """A key that must not be made part of a message."""

    def __format__(self, spec: str) -> str:
        raise AssertionError("the place of a value was built though nothing is wrong with it")

    __str__ = __repr__ = lambda self: format(self)


def test_places_are_built_only_when_something_is_wrong() -> None:
    cells = [[check.Number("0")] for _ in range(3)]
    assert check.read(cells, [[check.whole]], NeverWritten("certificate")) == [[0]] * 3


def test_long_keys_cost_what_they_are_long() -> None:
    """A key of half a million letters above a hundred thousand values: one place for each would be 50 GB of text."""
    certificate, model = documents("three-histories")
    certificate["steps"][1]["words"] = {"k" * 500_000: [[]] * 100_000}
    assert verdict(certificate, model) == "Rejected"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_messages_are_short_whatever_the_names(depth: int) -> None:
    certificate, model = documents("three-histories")
    value: Any = 0
    for _ in range(depth):
        value = {"\x1b[31mé" * 100_000: value}
    certificate["steps"][1]["prices"] = value
    with pytest.raises(check.Malformed) as refused:
        check.check(json.dumps(certificate), json.dumps(model))
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()
    assert str(refused.value).isascii()


def test_a_certificate_of_another_model_is_not_read() -> None:
    certificate, model = documents("three-histories")
    certificate |= {"model_sha256": "0" * 64, "steps": "what is this?"}
    assert verdict(certificate, model) == "Rejected"
    certificate["model_sha256"] = "0"
    assert verdict(certificate, model) == "Malformed"


def test_reading_is_charged_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """25 million cells [0] fit into 100 MB; by the default limit, 50 MB are read."""
    monkeypatch.setattr(check.json, "loads", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(check.LimitReached):
        check.check("[" + "[0]," * 13_000_000, "{}")
    with pytest.raises(check.LimitReached):
        check.check("{}", "x" * 1000, limit=1000)


def test_of_a_large_file_only_what_the_limit_allows_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(b"[" * 5000)
    assert check.main([str(path), str(path), "--limit", "2000"]) == 3
    assert "larger than 1000 bytes; --limit may raise it" in capsys.readouterr().err


def test_equal_numbers_and_names_are_one_object() -> None:
    """So that long lists stay small, and comparing long names does not read them."""
    _, value = check.parse('{"format": "f", "a": [12345, 12345], "b": "nam", "c": "nam"}', "model", ["f"], "")
    assert value["a"][0] is value["a"][1]
    assert check.text("".join(["na", "me"])) is check.text("".join(["n", "ame"]))
