"""`diacritic measure`: the verdict on saved runs, with every control, as a report, JSON and a figure beside each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.export import run_model
from diacritic.commands.parameters import remedies
from diacritic.files.demos import is_recording
from diacritic.measure.probe import saved_probe

if TYPE_CHECKING:
    from certify import Model
    from diacritic.files.run import RunManifest
    from diacritic.measure.scores import Requirement
    from diacritic.measure.verdict import Verdict

Judged = list[tuple[Path, "Verdict"]]


@dataclass(frozen=True)
class Measure:
    """Judge runs that `diacritic train` saved: sufficient? surplus? carried by the code alone?"""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or a folder that holds them."""
    task: str | None = None
    """What the runs learned, where they do not say it themselves: the path of a recording or of a model file, or a zoo
    task with its parameters in one word ("memory-chain bits=2 delay=30"). A recording that the runs have not seen is
    judged in full."""
    fresh: Path | None = None
    """An independent recording of the same task, on which every verdict is asked for again."""
    certificate: Path | None = None
    """Certificate of the symbolic task that the runs learned: it is checked, and its rates are what is required."""
    episodes: int = 128
    """Closed-loop episodes of a recorded task, for body memory and own occupancy; 0 leaves them out."""
    interventions: int = 16
    """Closed-loop episodes of each intervention on a recorded task; 0 leaves them out."""
    seed: int = 0
    """Seed of the closed-loop episodes."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""
    figure: bool = True
    """Draw staircase.png beside each run."""

    def run(self) -> int:
        if not self.runs:
            raise UserError("measure", "give the folder of at least one run")
        if self.episodes != 0 and self.episodes < 16:
            raise UserError("--episodes", f"{self.episodes} are too few to judge by; give 0 or at least 16")
        if self.interventions != 0 and self.interventions < 8:
            raise UserError("--interventions", f"{self.interventions} are too few to judge by; give 0 or at least 8")
        with remedies():
            from diacritic.files.run import find_runs
            from diacritic.measure.report import show, summary

            paths = find_runs(self.runs)
            recorded, symbolic = _sorted(paths)
            everything: list[Verdict] = []
            for judged in (*self._symbolic(symbolic), *self._recorded(recorded)):
                judged.sort(key=lambda pair: pair[1].subject.seed)
                self._keep(judged)
                everything += [verdict for _, verdict in judged]
            for verdict in everything:
                show(verdict)
            if len(everything) > 1:
                summary(everything)
        return 0

    def _keep(self, judged: Judged) -> None:
        """JSON and picture of every run; other seeds of its learner stand behind it in the picture."""
        for path, verdict in judged:
            verdict.save(path)
            if self.figure:
                from diacritic.measure.figure import FILE, draw

                alike = [other for _, other in judged if other.subject.learner == verdict.subject.learner]
                draw(verdict, path / FILE, [other for other in alike if other is not verdict])

    def _symbolic(self, paths: "Mapping[Path, RunManifest]") -> Iterator[Judged]:
        """Runs on symbolic tasks, those of one task and learner together."""
        from diacritic.measure.symbolic_run import examine_symbolic
        from diacritic.measure.verdict import Subject
        from diacritic.memory.saved import load_run

        known: dict[str, tuple[Model, Requirement]] = {}
        groups: dict[tuple[str, str], Judged] = {}
        for path, manifest in paths.items():
            name, learner = manifest.model_sha256 or manifest.task, manifest.learner
            if name not in known:
                model = run_model(path, manifest, self.task)
                with working(f"certifying {model.name}"):
                    known[name] = model, self._requirement(model)
            model, requirement = known[name]
            run = load_run(path)
            said = "codes on every history, exact weights"
            subject = Subject(path.name, model.name or manifest.task, learner, manifest.seed, said)
            with working(f"examining {path.name}"):
                found = examine_symbolic(subject, model, run.shape, run.architecture, run.weights, requirement)
            groups.setdefault((name, learner), []).append((path, found))
        yield from groups.values()

    def _requirement(self, model: "Model") -> "Requirement":
        from diacritic.measure.certified import certified_requirement
        from diacritic.measure.scores import Requirement

        return Requirement.of(model) if self.certificate is None else certified_requirement(self.certificate, model)

    def _recorded(self, paths: list[Path]) -> Iterator[Judged]:
        """Runs on recordings, those that can play together together."""
        if not paths:
            return
        if self.task is None or not is_recording(self.task):
            raise UserError(str(paths[0]), "learned from a recording; give its path with --task")
        from diacritic.files.demos import load
        from diacritic.measure.recorded_run import Effort, examine_recorded
        from diacritic.rollout.run_loading import groups

        demos = load(self.task)
        probe = saved_probe(Path(self.task), demos.digest)
        fresh = None if self.fresh is None else load(self.fresh)
        effort = Effort(self.episodes, self.interventions, self.seed, self.threads)
        for group in groups(paths):
            with working(f"examining {len(group.runs)} runs of {group.task.name}"):
                found = examine_recorded(group, demos, effort, probe, fresh)
            yield [(run.path, verdict) for run, verdict in zip(group.runs, found, strict=True)]


def _sorted(paths: list[Path]) -> "tuple[list[Path], dict[Path, RunManifest]]":
    """Runs on recordings, and the manifests of those on symbolic tasks."""
    from diacritic.files.run import read_manifest

    manifests = {path: read_manifest(path) for path in paths}
    recorded = [path for path, manifest in manifests.items() if manifest.kind == "recorded"]
    return recorded, {path: manifest for path, manifest in manifests.items() if path not in recorded}
