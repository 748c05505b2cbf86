"""A task in another process: JSON lines over standard input and output, for packages that cannot share our environment.

The other side is a script that calls `serve` of `worker.py`, which needs nothing but the standard library.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Hashable, Sequence
from typing import Any

from certify.errors import UserError
from certify.sources.adapter import Adapter, History, readable

_LONGEST_LINE = 2**24


class Bridge:
    """A worker process, answered one line a request; use it as a context manager, so that it never outlives its use."""

    def __init__(self, command: Sequence[str], timeout: float = 60.0) -> None:
        self.command, self.timeout = list(command), timeout
        self.name = os.path.basename(self.command[min(1, len(self.command) - 1)])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # so that the worker's own children end with it
            )
        except OSError as error:
            self._errors.close()
            raise UserError(self.command[0], f"the worker cannot be started: {error.strerror}") from None
        self._buffer = b""

    def __enter__(self) -> "Bridge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, request: str, **arguments: Any) -> Any:
        """One request, one answer; whatever goes wrong ends the worker and is told in one line."""
        line = json.dumps({"call": request, **arguments}).encode() + b"\n"
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(line)
            pipe.flush()
        except (BrokenPipeError, ValueError):
            self._fail("has died" + self._last_words())
        answer = self._answer(request)
        if not isinstance(answer, dict) or not ("value" in answer or "error" in answer):
            self._fail(f"answered {request} with something that is not an answer: {str(answer)[:80]!r}")
        if "error" in answer:
            self._fail(f"says of {request}: {str(answer['error'])[:300]}")
        return answer["value"]

    def close(self) -> None:
        """End the worker and everything that it started."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # also where it has ended by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.close()

    def _answer(self, request: str) -> Any:
        pipe = self._process.stdout
        assert pipe is not None
        deadline = time.monotonic() + self.timeout
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self._fail(f"did not answer {request} within {self.timeout:g} s")
                chunk = os.read(pipe.fileno(), 2**16)
                if not chunk:
                    self._process.wait(5)
                    self._fail("has died" + self._last_words())
                self._buffer += chunk
                if len(self._buffer) > _LONGEST_LINE:
                    self._fail(f"answered {request} with more than {_LONGEST_LINE:,} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return json.loads(line)
        except ValueError:
            self._fail(f"printed what is not JSON: {line[:80]!r}; a worker may print only through serve()")

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def _fail(self, reason: str) -> Any:
        self.close()
        raise UserError(f"worker {self.name}", reason) from None


def from_bridge(bridge: Bridge, **task: Any) -> Adapter[Hashable]:
    """The adapter of a task that the worker makes; `task` is passed to the worker's own `make`."""
    described = bridge.call("make", **task)
    try:
        hidden = {_hashable(value): str(weight) for value, weight in described["hidden"]}
        name, horizon = str(described["name"]), int(described["horizon"])
    except (KeyError, TypeError, ValueError):
        raise UserError(f"worker {bridge.name}", "describes a task without name, horizon and hidden values") from None

    def step(action: str) -> tuple[Any, bool]:
        observation, ended = bridge.call("step", action=action)
        return observation, bool(ended)

    def expert(value: Hashable, history: History) -> Any:
        return bridge.call("expert", hidden=value, history=list(history))

    return Adapter(name, horizon, hidden, lambda value: bridge.call("reset", hidden=value), step, expert, readable)


def script(path: str, *arguments: str) -> list[str]:
    """The command that runs a worker script with this interpreter."""
    return [sys.executable, path, *arguments]


def _hashable(value: Any) -> Hashable:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
