"""`diacritic train`: many seeds of one learner on one task, judged exactly where the task is finite."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from certify import Model, certify
from certify.errors import UserError
from certify.progress import working
from diacritic.files.demos import is_recording
from diacritic.tasks.named import is_model_file, named_model


@dataclass(frozen=True)
class Train:
    """Train a cohort of carriers on a task of the zoo (with KEY=VALUE parameters), a model file, or a recording."""

    task: Annotated[str, tyro.conf.Positional]
    """A zoo name such as memory-chain, the path of a certify model (.json or .npz), or that of recorded demos."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Parameters of a zoo task, such as bits=2 delay=30."""
    learner: str = "plain"
    """What is minimised; `--learner help` lists the names."""
    preset: str = "carousel"
    """`carousel`, or `textbook` for the full gradient and the usual start."""
    seeds: int = 8
    """How many runs, with seeds 0, 1, …"""
    steps: int = 6000
    """Updates."""
    codes: int = 16
    """Codebook size K."""
    beta: float = 1e-3
    """Weight β of the rate."""
    demonstrations: int | None = None
    """Draw so many demonstrations; without it every episode counts with its exact probability. Of a recording: learn
    from the first so many episodes (448 without it), and judge on the rest."""
    device: str = "auto"
    """`cpu`, `cuda`, or `auto`."""
    out: Path = Path("runs")
    """Where runs, checkpoints and metrics go; the same command again goes on where it was stopped."""
    warm_start: tuple[Path, ...] = ()
    """Start from these runs of an easier task, one for each seed (the gap curriculum)."""
    tensorboard: Path | None = None
    """Also write TensorBoard events here."""

    def run(self) -> int:
        from diacritic.files.run import MODEL
        from diacritic.measure.scores import Requirement
        from diacritic.measure.trace import sufficient
        from diacritic.memory.kinds import memory_of
        from diacritic.memory.shape import Architecture
        from diacritic.training.checkpoint import fingerprint
        from diacritic.training.cohort import Plan, Run
        from diacritic.training.learner import LEARNERS, learner
        from diacritic.training.preset import preset
        from diacritic.training.runs import save_runs, stacked_runs
        from diacritic.training.symbolic import from_model
        from diacritic.training.train import train

        if self.learner == "help":
            for item in LEARNERS.values():
                print(f"{item.name:28} {item.note}")
            return 0
        if min(self.seeds, self.steps, self.codes) < 1:
            raise UserError("train", "--seeds, --steps and --codes are at least 1")
        chosen, start = learner(self.learner), preset(self.preset)
        if is_recording(self.task):
            from diacritic.commands.recorded import train_recorded

            return train_recorded(self)
        model = named_model(self.task, self.parameters)
        with working("certifying the task"):
            requirement = Requirement.of(model)
            self._warn(model)
        data = from_model(model, self.demonstrations)
        plan = Plan(
            chosen,
            start,
            tuple(Run(seed, self.beta) for seed in range(self.seeds)),
            self.steps,
            Architecture(codes=self.codes),
            warm_start=tuple(path.name for path in self.warm_start),
        )
        device = self.chosen_device()
        folder = self.out / f"cohort-{fingerprint(plan, data)[:12]}"
        begun = time.perf_counter()
        machine = memory_of(plan.carrier).finite(plan.carrier)
        judge = (lambda cohort: sufficient(cohort, model, requirement, "external")) if machine else None
        if chosen.taught:
            from diacritic.memory.certified_codes import certified_labels
            from diacritic.training.certified import train_certified

            cohort, _ = train_certified(plan, data, certified_labels(model, requirement), device)
        else:
            begin = stacked_runs(self.warm_start, plan, data) if self.warm_start else None
            cohort = train(plan, data, device, folder, judge, tensorboard=self.tensorboard, parameters=begin)
        if chosen.forget:
            from diacritic.training.forgetting import forget

            cohort = forget(cohort).cohort
        known = self._known(model, data.episodes)
        judged = self._facts(cohort, model, requirement) if machine else [{} for _ in plan.runs]
        facts = [known | fact for fact in judged]
        texts = {MODEL: model.to_json()} if is_model_file(self.task) else None
        paths = save_runs(cohort, self.out, facts, texts=texts)
        self._show(model, facts, paths, time.perf_counter() - begun, device)
        return 0

    def chosen_device(self) -> str:
        """The device, `auto` settled."""
        import torch

        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device

    def _warn(self, model: Model) -> None:
        answer = certify(model, seconds=10)
        self.warn_below(answer.codes_needed)

    def warn_below(self, bound: int) -> None:
        """Say before training that no run can pass."""
        if self.codes < bound:
            print(
                f"warning: --codes {self.codes} is below the certified bound of {bound} codes for this task; "
                "no run can be sufficient",
                file=sys.stderr,
            )

    def _known(self, model: Model, episodes: int) -> dict[str, Any]:
        """What the manifests of all runs say of the task, and of the episodes that they learned from."""
        from diacritic.files.run import CodedEpisodes

        which = "all" if self.demonstrations is None else "training"
        known = {"kind": "symbolic", "task": model.name, "model_sha256": model.digest, "N": self.demonstrations}
        return known | {"episodes": CodedEpisodes(which, ((0, episodes),))}

    def _facts(self, cohort: Any, model: Model, requirement: Any) -> list[dict[str, Any]]:
        from diacritic.measure.gates import judge_scores
        from diacritic.measure.scores import scores
        from diacritic.rollout.exact import closed_loop
        from diacritic.rollout.occupancy import teacher_forced
        from diacritic.rollout.trained_machines import machines

        facts = []
        for machine in machines(cohort.parameters, cohort.plan.carrier, model):
            greedy = machine.greedy()
            steps = scores(teacher_forced(greedy, model), requirement)
            loop = closed_loop(greedy, model)
            found = judge_scores("external", steps, loop.success)
            facts.append(
                {
                    "sufficient": found.sufficient,
                    "failures": list(found.failures[:3]),
                    "success": loop.success,
                    "rate": [step.rate for step in steps],
                    "requirement": [step.requirement for step in steps],
                }
            )
        return facts

    def _show(self, model: Model, facts: list[dict[str, Any]], paths: list[Path], seconds: float, device: str) -> None:
        console = Console(width=None if sys.stdout.isatty() else 120)
        table = Table(title=f"{model.name}: {self.learner}, {self.preset}", title_justify="left", box=None)
        for head in ("seed", "sufficient", "success", "peak rate", "required", "surplus", "run"):
            table.add_column(head, justify="right" if head != "run" else "left")
        for seed, (fact, path) in enumerate(zip(facts, paths, strict=True)):
            if "sufficient" not in fact:
                table.add_row(str(seed), "—", "—", "—", "—", "—", str(path))
                continue
            need = [bits or 0.0 for bits in fact["requirement"]]
            surplus = sum(rate - bits for rate, bits in zip(fact["rate"], need, strict=True)) / len(need)
            said = "yes" if fact["sufficient"] else "no"
            numbers = (fact["success"], max(fact["rate"]), max(need), surplus)
            table.add_row(str(seed), said, *(f"{number:.2f}" for number in numbers), str(path))
        console.print(table)
        passed = sum(bool(fact.get("sufficient")) for fact in facts)
        console.print(f"{passed}/{len(facts)} sufficient; {seconds:.1f} s on {device}")
