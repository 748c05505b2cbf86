"""Nothing outside `tasks/franka` knows the arm: its name, its classes, or the size of its observation."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "diacritic"
OWN = re.compile(r"franka|[\"'](side|slot|sag|hover)[\"']|\bslot\b|\b27\b|\bgripper\b", re.IGNORECASE)
ALLOWED = {
    "tasks/__init__.py",  # registers the Gymnasium environments
    "tasks/registry.py",  # where a task is chosen by name
    "training/learner.py",  # `side` is side information there
}


def test_no_file_outside_its_room_knows_the_arm() -> None:
    mentions = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith("tasks/franka/") or name in ALLOWED:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        mentions += [f"{name}:{k}: {line.strip()}" for k, line in enumerate(lines, 1) if OWN.search(line)]
    assert mentions == []
