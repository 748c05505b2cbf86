"""The bridge to another process: what it carries, and every way in which a worker can misbehave."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from certify import UserError, certify
from certify.sources import worker
from certify.sources.adapter import check_task, to_model
from certify.sources.bridge import Bridge, from_bridge, script

GOOD = """
import sys
sys.path.insert(0, {folder!r})
from worker import serve

class Task:
    name, horizon, hidden = "fork", 3, [(["left"], "1/4"), (["right"], "3/4")]
    def reset(self, hidden):
        print("chatter on standard output")
        self.t = 0
        return {{"cue": hidden[0]}}
    def step(self, action):
        self.t += 1
        return {{"cue": "none" if self.t == 1 else "fork"}}, False
    def expert(self, hidden, history):
        return hidden[0] if len(history) == 5 else {{"wait": "1"}}

def make(task):
    if task != "fork":
        raise ValueError("only the fork")
    return Task()

serve(make)
"""


def write(folder: Path, text: str) -> list[str]:
    path = folder / "task_worker.py"
    path.write_text(textwrap.dedent(text))
    return script(str(path))


@pytest.fixture
def good(tmp_path: Path) -> list[str]:
    return write(tmp_path, GOOD.format(folder=str(Path(worker.__file__).parent)))


def test_a_task_behind_the_bridge_is_certified(good: list[str]) -> None:
    with Bridge(good, timeout=20) as bridge:
        adapter = from_bridge(bridge, task="fork")
        check_task(adapter, episodes=3)
        answer = certify(to_model(adapter))
    assert answer.steps[0].rate == 0.0
    assert answer.steps[1].rate == answer.steps[2].rate == pytest.approx(0.8112781244591328, abs=1e-15)
    assert "{cue: none}" in answer.model.graph.observations


def test_what_the_worker_refuses_is_told(good: list[str]) -> None:
    with (
        Bridge(good, timeout=20) as bridge,
        pytest.raises(UserError, match=r"says of make: ValueError: only the fork"),
    ):
        from_bridge(bridge, task="spoon")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys; sys.exit('no such suite')", r"has died: no such suite"),
        ("print('hello', flush=True); input()", r"printed what is not JSON: b'hello'"),
        ("print('[1, 2]', flush=True); input()", r"not an answer"),
        ("print('{}', flush=True); input()", r"not an answer"),
        ("import time; time.sleep(60)", r"did not answer make within 0.5 s"),
        ("print('x' * 2**25, flush=True); input()", r"more than 16,777,216 bytes"),
        ('print(\'{"value": {"name": "x"}}\', flush=True); input()', r"without name, horizon and hidden values"),
    ],
)
def test_a_worker_that_dies_hangs_or_babbles_is_ended(tmp_path: Path, text: str, reason: str) -> None:
    timeout = 0.5 if "sleep" in text else 20
    with Bridge(write(tmp_path, text), timeout=timeout) as bridge:
        with pytest.raises(UserError, match=reason) as caught:
            from_bridge(bridge, task="fork")
        assert "\n" not in str(caught.value)
    assert bridge._process.poll() is not None


@pytest.mark.parametrize("ended", [False, True])
def test_no_orphan_survives(ended: bool, tmp_path: Path) -> None:
    text = """
        import subprocess, sys, pathlib
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path("child").write_text(str(child.pid))
        print('{"value": 1}', flush=True)
        WAIT
        """
    command = write(tmp_path, text.replace("WAIT", "" if ended else "input()"))
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        with Bridge(command, timeout=20) as bridge:
            assert bridge.call("anything") == 1
            child = int((tmp_path / "child").read_text())
            if ended:
                bridge._process.wait()
    finally:
        os.chdir(before)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # an orphan that was killed waits for its new parent


def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match=r"^/no/such/python: the worker cannot be started"):
        Bridge(["/no/such/python", "worker.py"])


def test_the_worker_needs_nothing_but_the_standard_library() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(worker.__file__).parent)!r}); before = set(sys.modules); "
        "import worker; "
        "print(sorted(m for m in set(sys.modules) - before if m.split('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['worker']"
