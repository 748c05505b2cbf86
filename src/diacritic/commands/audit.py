"""`diacritic audit`: any policy, examined on a task: does it decide correctly, and where does it keep its memory?"""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import tyro

from certify.errors import UserError
from diacritic.demos.readers import is_recording, load
from diacritic.tasks.named import named_model


@dataclass(frozen=True)
class Audit:
    """Audit a policy on a task: diacritic audit my_module:policy memory-chain bits=2. Its state is decoded, swapped and
    reset; what cannot be done with the policy is said."""

    policy: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODULE:OBJECT")]
    """Where the policy is, in the present folder or an installed package; a class or function is called to make it."""
    task: Annotated[str, tyro.conf.Positional]
    """A zoo task, the path of a certify model, or that of a recording."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[KEY=VALUE ...]")] = ()
    """Parameters of a zoo task."""
    episodes: int = 16
    """Closed-loop episodes on a recorded task; 0 leaves them out."""
    shuffles: int | None = None
    """Shuffled labels that a decoder is compared with."""
    seed: int = 0
    """Seed of episodes and shuffles."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Also write the audit as JSON."""

    def run(self) -> int:
        from diacritic.measure.audits import audit
        from diacritic.measure.decoding import SHUFFLES

        policy = find_policy(self.policy)
        if is_recording(self.task):
            if self.parameters:
                raise UserError(self.parameters[0], "a recording brings its own parameters; record another one instead")
            task: Any = load(self.task)
        else:
            task = named_model(self.task, self.parameters)
        shuffles = SHUFFLES if self.shuffles is None else self.shuffles
        audited = audit(policy, task, episodes=self.episodes, shuffles=shuffles, seed=self.seed, name=self.policy)
        print("\n".join(audited.lines()))
        if self.out is not None:
            audited.save(self.out)
        return 0


def find_policy(spec: str) -> Any:
    """The object of that name; a class, or a function without a policy's methods, is called to make one."""
    module, sign, name = spec.partition(":")
    if not sign or not module or not name:
        raise UserError(spec, "expected MODULE:OBJECT, such as my_module:policy")
    sys.path.insert(0, str(Path.cwd()))
    try:
        target: Any = import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or not f"{module}.".startswith(f"{problem.name}."):
            raise
        raise UserError(spec, f"there is no module {problem.name!r} here") from None
    finally:
        sys.path.pop(0)
    for part in name.split("."):
        if not hasattr(target, part):
            raise UserError(spec, f"{module} has no {name!r}")
        target = getattr(target, part)
    methods = ("step", "act", "predict", "reset", "forward")
    is_function = callable(target) and not any(hasattr(target, method) for method in methods)
    return target() if isinstance(target, type) or is_function else target


COMMANDS = {"audit": Audit}
