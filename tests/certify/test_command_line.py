"""`python -m certify`: what it prints, what it writes, and what it leaves behind when it refuses."""

import errno
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from certify import certify
from certify.__main__ import main
from certify.core import relations
from certify.stationary.frames import frames_of_model
from certify.zoo import build, instances

answer = import_module("certify.answer")  # the package has a function of that name


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    command = [sys.executable, "-m", "certify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, cwd=cwd, check=False)


def call(*arguments: str | Path) -> int:
    """In this process; the parser leaves by SystemExit."""
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)


def step(obs: str, law: Any = None, action: str = "wait") -> dict[str, Any]:
    return {"obs": obs, "action_law": law or {"wait": "1"}, "action": action}


def document(*weights: str, **extra: Any) -> dict[str, Any]:
    """One step a model; episode k sees `cue k`."""
    return {
        "horizon": 1,
        "episodes": [{"weight": w, "steps": [step(f"cue {k}")]} for k, w in enumerate(weights)],
        **extra,
    }


def one(steps: list[Any], **extra: Any) -> dict[str, Any]:
    return {"horizon": 1, "episodes": [{"weight": "1", "steps": steps}], **extra}


COIN = {"left": "1/2", "right": "1/2"}
GOOD = json.dumps(document("1/2", "1/2"))
# what is wrong → (the file's bytes, where and how the line says so)
BAD: dict[str, tuple[str | bytes, str]] = {
    "negative weight": (json.dumps(document("3/2", "-1/2")), "episodes[1].weight: the weight -1/2 is negative"),
    "weights do not sum to 1": (json.dumps(document("1/2", "1/3")), "episodes: the weights sum to 5/6, not to 1"),
    "weight is no rational": (json.dumps(document("half", "1/2")), "episodes[0].weight: expected a rational"),
    "weight is not a number": (GOOD.replace('"1/2"', "NaN", 1), "episodes[0].weight: expected a rational"),
    "weight of 400 digits": (json.dumps(document("1e400", "1/2")), "episodes: the weights sum to a number beyond"),
    "law does not sum to 1": (
        json.dumps(one([step("o", {"wait": "1/2"})])),
        "episodes[0].steps[0].action_law: the probabilities sum to 1/2, not to 1",
    ),
    "law with a negative entry": (
        json.dumps(one([step("o", {"wait": "3/2", "go": "-1/2"})])),
        'episodes[0].steps[0].action_law["go"]: the probability -1/2 is negative',
    ),
    "law is a list": (json.dumps(one([step("o", ["wait"])])), "episodes[0].steps[0].action_law: expected an object"),
    "action outside its law": (
        json.dumps(one([step("o", COIN)])),
        'episodes[0].steps[0].action: "wait" is outside the support of its action_law',
    ),
    "draws contradict the laws": (
        json.dumps(one([step("o", COIN, "left"), step("end")]) | {"horizon": 2}),
        "episodes[0].steps[0]: after this history the episodes draw 'left' with weight 1 of the whole",
    ),
    "ragged episodes": (
        json.dumps(one([step("o"), step("p")])),
        "episodes[0].steps: 2 steps, but the horizon is 1",
    ),
    "no episodes": (json.dumps(document()), "episodes: expected a list with at least one episode"),
    "unknown key": (json.dumps(document("1", extra=1)), 'unknown key "extra"'),
    "unknown key in a step": (
        json.dumps(one([step("o") | {"reward": 1}])),
        'episodes[0].steps[0]: unknown key "reward"',
    ),
    "duplicate key": (
        GOOD.replace('"weight": "1/2"', '"weight": "1/2", "weight": "1/2"', 1),
        'episodes[0]: the key "weight" is given twice',
    ),
    "missing key": (json.dumps({"horizon": 1}), 'the key "episodes" is missing'),
    "not UTF-8": (GOOD.encode().replace(b"cue", b"c\xfce", 1), "not UTF-8 text (byte "),
    "not JSON": (GOOD[:-1], "not JSON: "),
    "empty": (b"", "not JSON: Expecting value at line 1, column 1"),
    "nested deeply": ("[" * 10**5, "nested too deeply to be a model"),
    "objects nested deeply": ('{"a":' * 10**5, "nested too deeply to be a model"),
    "horizon 0": (
        GOOD.replace('"horizon": 1', '"horizon": 0'),
        "horizon: expected a whole number of steps, at least 1",
    ),
    "horizon is text": (GOOD.replace('"horizon": 1', '"horizon": "one"'), "horizon: expected a rational"),
    "wrong format": (json.dumps(document("1", format="certify-model/9")), 'format: expected "certify-model/1"'),
    "names with line breaks": (
        json.dumps(one([step("o", {"a\nb\rc\u2028d": "1"})])),
        'episodes[0].steps[0].action: "wait" is outside the support',
    ),
}


def outputs(folder: Path) -> list[str | Path]:
    """Options that ask for every kind of file."""
    names = {
        "--json": "a.json",
        "--machine": "m.svg",
        "--certificate": "c.json",
        "--plot": "p.svg",
        "--model-json": "m.json",
    }
    return [word for option, name in names.items() for word in (option, folder / name)]


def assert_refused(status: int, captured: tuple[str, str], folder: Path, message: str) -> None:
    """Exit 2, one line on standard error, nothing on standard output, nothing left behind."""
    out, err = captured
    assert status == 2
    assert out == ""
    assert err.startswith("certify: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert message in err
    assert os.listdir(folder) == []


@pytest.mark.parametrize("case", BAD)
def test_bad_files(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, message = BAD[case]
    path, folder = tmp_path / "model.json", tmp_path / "out"
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    folder.mkdir()
    status = call(path, *outputs(folder))
    assert_refused(status, capsys.readouterr(), folder, f"{path}: {message}")


@pytest.mark.parametrize("case", ["nested deeply", "not UTF-8", "draws contradict the laws", "weight of 400 digits"])
def test_bad_files_in_a_process_of_its_own(case: str, tmp_path: Path) -> None:
    raw, message = BAD[case]
    path, folder = tmp_path / "model.json", tmp_path / "out"
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    folder.mkdir()
    done = run(path, *outputs(folder))
    assert_refused(done.returncode, (done.stdout, done.stderr), folder, message)


def test_a_file_of_200_megabytes(tmp_path: Path) -> None:
    path, folder = tmp_path / "model.json", tmp_path / "out"
    path.touch()
    os.truncate(path, 200 * 2**20)
    folder.mkdir()
    done = run(path, *outputs(folder))
    assert_refused(done.returncode, (done.stdout, done.stderr), folder, "the file has 209,715,200 bytes, more than")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"observations": [[0]]}, 'the array "actions" is missing'),
        ({"observations": [[0]], "actions": [[0, 0]]}, "actions: shape (1, 2)"),
        ({"observations": [[0]], "actions": [[-1]]}, "actions: the entry -1 is negative"),
        ({"observations": [[0.5]], "actions": [[0]]}, "observations: expected integers, not float64"),
        ({"observations": np.array([["x"]], object), "actions": [[0]]}, "not an npz file of plain arrays"),
    ],
)
def test_bad_arrays(arrays: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, folder = tmp_path / "model.npz", tmp_path / "out"
    np.savez(path, **arrays)
    folder.mkdir()
    assert_refused(call(path, *outputs(folder)), capsys.readouterr(), folder, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a model or a zoo name"),
        (["gep"], "no instance is called 'gep'; did you mean gap"),
        (["absent.json"], "absent.json: cannot be read: No such file or directory"),
        (["absent.npz"], "absent.npz: cannot be read: No such file or directory"),
        (["gap", "--gap3", "1"], "gap: unknown parameter 'gap3'"),
        (["gap", "--gap2"], "expected --parameter value, not '--gap2'"),
        (["gap", "six"], "expected --parameter value, not 'six'"),
        (["gap", "--gap2", "six"], "gap.gap2: expected a rational"),
        (["gap", "--gap2", "1.5"], "gap.gap2: expected a whole number, not 3/2"),
        (["gap", "--objective", "least"], "invalid choice: 'least'"),
        (["gap", "--seconds", "soon"], "invalid float value: 'soon'"),
        (["gap", "--seconds", "0"], "expected a positive number of seconds"),
        (["gap", "--seconds", "nan"], "expected a positive number of seconds"),
        (["gap", "--plot", "picture.bmp"], "--plot: expected a name that ends in .png, .svg, .pdf"),
        (["gap", "--machine", "machine.txt"], "--machine: expected a name that ends in .dot, .svg, .json, .kiss2"),
        (["gap", "--json", "no such folder/a.json"], "--json: cannot write to 'no such folder/a.json'"),
        (["gap", "--certificate", "."], "--certificate: cannot write to '.'"),
        (["gap", "--json", "same.json", "--machine", "./same.json"], "--json: another output also goes to 'same.json'"),
        (["gap", "--json", "-", "--certificate", "-"], "--json: another output also goes to '-'"),
        (["signpost-corridor", "--W", "2"], "signpost-corridor.W: the drift is symmetric, so W is odd, not 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_options(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(call(*arguments), capsys.readouterr(), tmp_path, message)


def test_a_model_file_takes_no_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    path.write_text(GOOD)
    assert call(path, "--gap2", "1") == 2
    assert capsys.readouterr().err == (f"certify: {path}: unknown option '--gap2'; a model file takes no parameters\n")


def test_a_refused_output_costs_neither_the_table_nor_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("certify.certificate._MOST_CLASSES", 1)
    assert call("reveal", *outputs(tmp_path)) == 2
    out, err = capsys.readouterr()
    assert "Certified: the least memory of every step is proved." in out
    assert sorted(os.listdir(tmp_path)) == ["a.json", "m.json", "m.svg"]
    assert all(f"wrote {tmp_path / name}" in out for name in os.listdir(tmp_path))
    assert len(err.splitlines()) == 1
    assert "--plot: needs matplotlib; install the extra 'report'" in err
    assert "--certificate: step 4: 4 classes of one observation are too many to write" in err


def test_a_refused_certificate_on_standard_output_leaves_it_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certify.certificate._MOST_CLASSES", 1)
    assert call("reveal", "--certificate", "-", "--json", tmp_path / "a.json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("option", ["--json", "--machine", "--certificate", "--plot", "--model-json"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_refuses_is_one_line_and_leaves_nothing(
    option: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    assert call("reveal", option, tmp_path / "out.svg") == 2
    out, err = capsys.readouterr()
    assert "Certified" in out
    assert "wrote" not in out
    assert err.startswith(f"certify: {option}: {tmp_path / 'out.svg'}: cannot be written: {os.strerror(number)}; ")
    assert len(err.splitlines()) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
@pytest.mark.parametrize("arguments", [["reveal"], ["reveal", "--json", "-"], ["--list"]])
def test_standard_output_on_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "certify", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "certify: standard output cannot be written: No space left on device\n",
    )


HOSTILE = "[bold red]x[/] $\\frac \x1b[2J\x1b]0;title\x07 \u202e\u2028 \x9b31m"


@pytest.mark.parametrize("rich", [True, False])
def test_names_are_inert(
    rich: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither escapes of a terminal nor markup of rich nor of matplotlib; every line is printable."""
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    law = {HOSTILE: "1"}
    steps = [[step("cue"), step(f"{HOSTILE}{k}", law, HOSTILE), step(HOSTILE, law, HOSTILE)] for k in range(2)]
    steps[1][2] = step(HOSTILE)
    model = {"horizon": 3, "name": HOSTILE, "episodes": [{"weight": "1/2", "steps": s} for s in steps]}
    (tmp_path / "model.json").write_text(json.dumps(model))
    folder = tmp_path / "out"
    folder.mkdir()
    assert call(tmp_path / "model.json", *outputs(folder)) == 0
    out, err = capsys.readouterr()
    assert "[bold red]x[/]" in out
    assert "\\x1b[2J" in out
    assert all(line.isprintable() for line in out.split("\n"))
    assert err == ""
    (tmp_path / "bad.json").write_text(json.dumps(model | {"horizon": 4, HOSTILE: 0}))
    assert call(tmp_path / "bad.json") == 2
    assert capsys.readouterr().err.removesuffix("\n").isprintable()


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("three-histories") == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in ("three-histories", "0.9183", "Certified", "One machine attains", "A4 fails at step 2", "█"):
        assert words in out


def test_a_table_without_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rich", "rich.console", "rich.table", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    assert call("gap") == 0
    out = capsys.readouterr().out
    assert re.search(r"^4 +8 +3 +2 +2 +0 +4 +yes +yes +yes", out, re.M)


@pytest.mark.parametrize("spelling", [["--gap2", "6"], ["--gap2=6"], ["--gap2", "12/2"]])
def test_json_alone_on_standard_output(spelling: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("gap", *spelling, "--json", "-") == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["name"] == "gap gap2=6"
    assert [s["rate"] for s in document["steps"]] == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1]


def test_every_file_at_once(tmp_path: Path) -> None:
    """Through a model file and a process of its own: JSON, certificate, machine, picture, model."""
    model, folder = tmp_path / "model.json", tmp_path / "out"
    folder.mkdir()
    assert call("three-histories", "--model-json", model) == 0
    done = run(model, *outputs(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(os.listdir(folder)) == ["a.json", "c.json", "m.json", "m.svg", "p.svg"]
    assert json.loads((folder / "a.json").read_text())["certified"] is True
    assert (folder / "m.json").read_text() == model.read_text()
    assert json.loads((folder / "c.json").read_text())["format"] == "certify-certificate/1"
    for name in ("m.svg", "p.svg"):
        assert ElementTree.parse(folder / name).getroot().tag.endswith("svg")
    assert all(f"wrote {folder / name}" in done.stdout for name in os.listdir(folder))


@pytest.mark.parametrize(
    ("name", "start"),
    [("m.dot", b"digraph"), ("m.svg", b"<svg"), ("m.json", b"{"), ("m.kiss2", b"# input")],
)
def test_machines_by_their_ending(name: str, start: bytes, tmp_path: Path) -> None:
    assert call("reveal", "--machine", tmp_path / name) == 0
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(("name", "start"), [("p.png", b"\x89PNG"), ("p.pdf", b"%PDF"), ("p.svg", b"<?xml")])
def test_pictures_by_their_ending(name: str, start: bytes, tmp_path: Path) -> None:
    assert call("re-reveal", "--plot", tmp_path / name) == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_files_are_replaced_and_their_neighbours_kept(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "b.json").write_text("other")
    assert call("reveal", "--json", tmp_path / "a.json") == 0
    assert json.loads((tmp_path / "a.json").read_text())["name"] == "reveal"
    assert sorted(os.listdir(tmp_path)) == ["a.json", "b.json"]


def test_arrays_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, observations=[[0, 2], [1, 2]], actions=[[0, 0], [0, 1]], observation_names=["x", "y", "fork"])
    assert call(path, "--json", "-") == 0
    assert [s["rate"] for s in json.loads(capsys.readouterr().out)["steps"]] == [0, 1]


@pytest.mark.parametrize("objective", ["sum", "peak", "lexicographic"])
def test_objectives(objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("three-histories", "--objective", objective, "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["joint_bracket"][1] == pytest.approx(1.2516291673878226, abs=1e-12)


def test_the_list_names_every_instance(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--list") == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^{item.name} ", out, re.M) for item in instances())
    assert "--gap1 3 --gap2 3 --R1 2 --R2 2" in out


def test_a_reader_who_leaves_early_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m certify gap --json - | head -c 10; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.strip().endswith("0")


def test_help_does_not_wait_for_numpy() -> None:
    code = (
        "import sys\nfrom certify.__main__ import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "slow = {'numpy', 'matplotlib', 'rich', 'ortools', 'torch'} & set(sys.modules)\n"
        "print('slow:', sorted(slow), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "usage: python -m certify" in done.stdout
    assert done.stderr == "slow: []\n"


@pytest.mark.parametrize("name", [item.name for item in instances()])
def test_every_instance_is_certified(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(name, "--json", "-", "--seconds", "20") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["certified"] is True
    assert document["simultaneous"] is True


def test_a_world_with_its_best_policy(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files("certify.sources") / "data" / "tiger.pomdp")
    assert main([path, "--optimal", "2", "--json", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 2
    assert main([path]) == 2
    assert "a world has no last step; add --optimal H, --controller FILE --horizon H" in capsys.readouterr().err
    assert main(["gap", "--optimal", "2"]) == 2
    assert "--optimal: is for a world" in capsys.readouterr().err
    assert main([path, "--optimal", "0"]) == 2
    assert "--optimal: expected at least 1 step, not 0" in capsys.readouterr().err
    assert main([path, "--controller", "fsc.json"]) == 2
    assert "--controller: says who acts; add --horizon H for the first H steps, or --forever" in capsys.readouterr().err


def test_ctrl_c_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("certify.answer.certify", interrupt)
    assert main(["gap"]) == 130
    assert capsys.readouterr().err == "certify: stopped\n"


@pytest.mark.parametrize("search", ["refined", "floors", "best_machine", "fewest_codes", "clock_free"])
def test_ctrl_c_keeps_the_steps_that_were_certified(
    search: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = relations if search == "refined" else answer
    original, calls = getattr(module, search), count(1)

    def once(*parts: Any, **more: Any) -> Any:
        if next(calls) == 3 - 2 * (search != "refined"):  # at the third step from the end, or at once
            raise KeyboardInterrupt
        return original(*parts, **more)

    monkeypatch.setattr(module, search, once)
    early = search in ("refined", "floors", "best_machine")
    assert main(["gap", "--json", "-"]) == (130 if early else 0)
    out, err = capsys.readouterr()
    assert err == "certify: stopped; what was not reached is a bracket\n" * early
    steps, exact = json.loads(out)["steps"], certify(build("gap")).steps
    assert all(
        ours["lower"] <= step.upper and step.lower <= ours["upper"] for ours, step in zip(steps, exact, strict=True)
    )
    assert [step["rate"] is not None for step in steps[-3:]] == [True] * 3
    assert all(step["rate"] is not None for step in steps) == (search != "refined")


def test_without_being_asked_to_go_on_ctrl_c_ends_certify(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(answer, "fewest_codes", interrupt)
    certified = certify(build("gap"))
    with pytest.raises(KeyboardInterrupt):
        _ = certified.codes
    monkeypatch.setattr(answer, "floors", interrupt)
    with pytest.raises(KeyboardInterrupt):
        certify(build("gap"))


def test_the_frames_of_a_finite_model_are_told(capsys: pytest.CaptureFixture[str]):
    """Two cues and two waits: the first observation is asked for at the last decision."""
    assert main(["gap", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    by_kind = {stack["actions"]: stack for stack in document["frames"]}
    assert by_kind[True]["k"] <= by_kind[False]["k"]
    assert by_kind[False]["k"] == frames_of_model(build("gap").graph, actions=False).k
    assert main(["gap"]) == 0
    assert f"Frames: {by_kind[True]['text']}." in capsys.readouterr().out
