"""Models by the words of a command line."""

from pathlib import Path

import pytest

from certify.errors import UserError
from certify.zoo import build
from diacritic.tasks.named import model_in_one_word, named_model, pairs


def test_a_zoo_task_takes_parameters() -> None:
    wanted = build("memory-chain", bits=2, delay=3).digest
    assert named_model("memory-chain", ["bits=2", "delay=3"]).digest == wanted
    assert model_in_one_word("memory-chain bits=2 delay=3").digest == wanted


def test_a_model_file_brings_its_name_and_takes_none(tmp_path: Path) -> None:
    path = tmp_path / "my task.json"
    path.write_text(build("gap").to_json(), encoding="utf-8")
    assert model_in_one_word(str(path)).name == "my task"
    with pytest.raises(UserError, match="a model file takes no parameters"):
        named_model(str(path), ["bits=2"])
    with pytest.raises(UserError, match=r"none\.json"):
        named_model(str(tmp_path / "none.json"))


def test_what_is_not_a_pair_is_named() -> None:
    assert pairs(["a=b=c"]) == {"a": "b=c"}
    with pytest.raises(UserError, match="bits: expected KEY=VALUE"):
        pairs(["bits"])
    with pytest.raises(UserError):
        model_in_one_word("")
