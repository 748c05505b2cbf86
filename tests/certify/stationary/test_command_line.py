"""The command line for every horizon: what it prints and writes, and how it refuses."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from certify.__main__ import main as certify
from certify.check_stationary import main as check
from certify.sources import pomdp
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.drawing import arrows, to_dot, to_svg
from certify.stationary.machine import StationaryMachine
from certify.stationary.zoo import TASKS, build


def main(arguments: list[str]) -> int:
    return certify([*arguments, "--forever"])


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_answered(name: str, capsys: pytest.CaptureFixture[str]):
    assert main([name, "--seconds", "0", "--window", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{'counter' if name == 'running-parity' else name}: memory required at every horizon"
    assert lines[1].startswith("Regime ")
    assert any(line.startswith(("Certified: ", "Not certified")) for line in lines)
    assert any(line.startswith("Why: ") for line in lines)


def test_everything_can_be_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = {key: str(tmp_path / name) for key, name in [("c", "c.json"), ("p", "p.json"), ("m", "m.json")]}
    assert main(["tiger", "--certificate", paths["c"], "--process-json", paths["p"], "--machine", paths["m"]]) == 0
    assert capsys.readouterr().out.count("wrote ") == 3
    assert check([paths["c"], paths["p"]]) == 0
    assert capsys.readouterr().out.startswith("verified: ")
    assert main([paths["p"], "--json", "-", "--discount", "0.9"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["certified"] is True
    assert answer["bits_discounted"] == pytest.approx(0.7, abs=0.5)
    assert main([paths["p"], "--check", paths["m"]]) == 0
    assert "right at every horizon" in capsys.readouterr().out
    assert main(["tiger", "--lead", "3", "--check", paths["m"]]) == 1
    assert "wrong at step" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nothing"], "no task is called"),
        (["counter", "--modulus"], "expected --parameter value"),
        (["counter", "--wings", "2"], "not a parameter"),
        (["counter", "--discount", "2"], "--discount: expected a number between 0 and 1"),
        (["counter", "--discount", "x"], "--discount: expected a rational"),
        (["counter", "--machine", "m.png"], "--machine: expected a name that ends in"),
        (["missing.json", "--wings", "2"], "a model file takes no parameters"),
        (["missing.json"], "missing.json: cannot be read"),
        (["counter", "--check", "missing.json"], "missing.json: cannot be read"),
        (["counter", "--json", "no/such/folder.json"], "cannot write to 'no/such/folder.json'"),
        (["counter", "--plot", "p.svg"], "--machine draws a machine for ever"),
        (["counter", "--controller", "c.json"], "--controller: counter has its own expert"),
        (["world.pomdp"], "--controller: is missing"),
        (["world.pomdp", "--controller", "c.json"], "certify: world.pomdp: cannot be read"),
        (["noisy-cue", "--window", "0", "--certificate", "c.json"], "there is nothing to certify"),
    ],
)
def test_refusals_are_one_line(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert len([line for line in error.splitlines() if not line.startswith("certifying")]) == 1  # progress may be told
    assert list(tmp_path.iterdir()) == []


def test_the_list_and_no_task(capsys: pytest.CaptureFixture[str]):
    assert main(["--list"]) == 0
    assert "--modulus 3" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["gap", "--check", "m.json"], "--check: answers a question about every horizon; add --forever"),
        (["world.pomdp"], "a world has no last step; add --optimal H"),
    ],
)
def test_questions_of_every_horizon_are_refused_for_finite_models(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
):
    assert certify(arguments) == 2
    assert reason in capsys.readouterr().err


def test_a_world_and_a_controller_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    world, controller = Path(pomdp.__file__).parent / "data" / "tiger.pomdp", tmp_path / "listen.json"
    moves = [["n", "hear-left", "n"], ["n", "hear-right", "n"]]
    document = {"format": "certify-controller/1", "first": "n", "law": {"n": {"listen": "1"}}, "moves": moves}
    controller.write_text(json.dumps(document))
    assert main([str(world), "--controller", str(controller)]) == 0
    assert "Fewest codes of one machine: 1." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["counter", "repeated-cues", "blinker"])
def test_pictures_have_every_cell_and_every_move(name: str):
    machine = certify_forever(build(name), Effort(seconds=0.0)).machine
    tree = ElementTree.fromstring(to_svg(machine))
    drawn = tree.findall(".//{http://www.w3.org/2000/svg}path[@marker-end]")
    assert len(drawn) == len(arrows(machine)) == to_dot(machine).count(" -> ") - len(machine.first)
    assert (
        len(tree.findall(".//{http://www.w3.org/2000/svg}g"))
        == machine.cells
        == to_dot(machine).count("[label=") - len(drawn)
    )


def test_a_move_that_stays_is_a_loop_and_names_are_escaped():
    machine = StationaryMachine(
        1, {'<"o>': 0}, {(0, "a&b", '<"o>'): 0}, {('<"o>', 0): {"a&b": build("counter").start[0][1] * 2}}
    )
    picture = to_svg(machine)
    ElementTree.fromstring(picture)
    assert "a&amp;b" in picture
    assert '\\"o' in to_dot(machine)


def test_boxes_do_not_overlap_and_hold_their_arrows():
    """Arrows begin and end on the rim of the boxes that they join."""
    machine = certify_forever(build("two-door-heist"), Effort(seconds=0.0)).machine
    tree = ElementTree.fromstring(to_svg(machine))
    boxes = [
        tuple(float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        for box in tree.findall(".//{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}rect")
    ]
    for k, (x, y, width, height) in enumerate(boxes):
        assert all(abs(x - u) >= width or abs(y - v) >= height for u, v, *_ in boxes[:k])
    for path in tree.findall(".//{http://www.w3.org/2000/svg}path[@marker-end]"):
        begin, *_, end = [
            tuple(map(float, point.split(","))) for point in re.findall(r"[-\d.]+,[-\d.]+", path.attrib["d"])
        ]
        for x, y in (begin, end):
            assert any(
                (abs(x - u) <= 1 or abs(x - u - w) <= 1 or abs(y - v) <= 1)
                and u - 1 <= x <= u + w + 1
                and v - 1 <= y <= v + h + 1
                for u, v, w, h in boxes
            )


@pytest.mark.parametrize(("name", "picture"), [("delayed-cue", "delayed-cue"), ("two-door-heist", "heist")])
def test_the_pictures_of_the_docs_are_what_is_drawn(name: str, picture: str):
    path = Path(__file__).parents[3] / "docs" / "images" / f"for-ever-{picture}.svg"
    assert path.read_text(encoding="utf-8") == to_svg(certify_forever(build(name)).machine)
