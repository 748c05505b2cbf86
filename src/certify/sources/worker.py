"""The other end of the bridge: standard library only, so that it runs in any Python.

A worker script calls ``serve(make)``, where ``make(**task)`` returns an object with `name`, `horizon`, `hidden` (pairs
of value and weight), `reset(hidden)` → observation, `step(action)` → (observation, ended), and
`expert(hidden, history)` → law.
"""

import json
import os
import sys


def serve(make):
    """Answer requests line by line until the other side closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the task's package prints must not mix with the answers
    task = None
    for line in sys.stdin:
        request = json.loads(line)
        call = request.pop("call")
        try:
            if call == "make":
                task = make(**request)
                value = {"name": task.name, "horizon": task.horizon, "hidden": [list(pair) for pair in task.hidden]}
            elif task is None:
                raise ValueError(f"{call} before make")
            elif call == "reset":
                value = task.reset(request["hidden"])
            elif call == "step":
                value = task.step(request["action"])
            elif call == "expert":
                value = task.expert(request["hidden"], request["history"])
            else:
                raise ValueError(f"unknown request {call!r}")
            answer = {"value": plain(value)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def plain(value):
    """Arrays and their numbers as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
