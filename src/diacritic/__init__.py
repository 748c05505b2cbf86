"""From a task to a verdict in a dozen names.

    import diacritic as dia

    task = dia.task("two-cues", gap=20)
    demos = dia.record(task, episodes=512)
    print(dia.need(demos))
    need = dia.requirement(demos)
    runs = dia.train(demos, learner="plain", seeds=8)
    print(dia.measure(runs, need))
    dia.report(need, runs, out="report.html")

Names are loaded on first use: importing this package imports neither torch nor a simulator.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from diacritic._version import __version__ as __version__

if TYPE_CHECKING:
    from diacritic.demos.drawn import record
    from diacritic.demos.readers import load
    from diacritic.measure.audits import audit
    from diacritic.measure.interventions import Policy
    from diacritic.measure.rollouts import rollout
    from diacritic.measure.runs import export, measure
    from diacritic.memory.saved import load_run
    from diacritic.need.answer import need
    from diacritic.need.requirement import requirement
    from diacritic.report.page import report
    from diacritic.studies.train import train
    from diacritic.tasks.protocol import Task
    from diacritic.tasks.registry import find as task

_HOMES = {
    "Policy": "measure.interventions:Policy",
    "Task": "tasks.protocol:Task",
    "audit": "measure.audits:audit",
    "export": "measure.runs:export",
    "load": "demos.readers:load",
    "load_run": "memory.saved:load_run",
    "record": "demos.drawn:record",
    "requirement": "need.requirement:requirement",
    "task": "tasks.registry:find",
    "train": "studies.train:train",
}
_PACKAGES = ("measure", "need", "report", "rollout")  # rooms that can be called

__all__ = [
    "Policy",
    "Task",
    "audit",
    "export",
    "load",
    "load_run",
    "measure",
    "need",
    "record",
    "report",
    "requirement",
    "rollout",
    "task",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"diacritic.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'diacritic' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"diacritic.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)


def callable_package(package: str, module: str, function: str) -> None:
    """Let a package be called like the function of the same name, which is imported at the first call."""

    def call(_: ModuleType, /, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), function)(*arguments, **options)

    sys.modules[package].__class__ = type("CallablePackage", (ModuleType,), {"__call__": call})
