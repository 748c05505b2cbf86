"""What `diacritic record` does: record, save, check, keep the checks, export."""

from dataclasses import dataclass
from pathlib import Path

from certify.errors import UserError
from diacritic.demos.acceptance import accept, store
from diacritic.demos.leaks import HELD_OUT
from diacritic.demos.lerobot import export_lerobot
from diacritic.demos.minari import export_minari
from diacritic.demos.reconstruct import complete
from diacritic.demos.record import Recordable, record
from diacritic.files.atomic import write_text
from diacritic.files.demos import load, save
from diacritic.tasks.protocol import Simulation


@dataclass(frozen=True)
class RecordOptions:
    """How to record a task."""

    episodes: int = 1024
    """Number of demonstrations, stratified over what is hidden."""
    seed: int = 0
    """Seed of the recording; the same seed gives the same recording."""
    out: Path | None = None
    """Where to write, without suffix: OUT.npz, OUT.json and OUT.binner.json. By default out/demos/TASK-SEED."""
    checks: bool = True
    """Run the acceptance checks and keep them in OUT.json."""
    fresh: bool = True
    """Let the checks record as many episodes again, with the next seed, and demand the same certificate."""
    pictured: tuple[str, ...] = ()
    """Hidden variables that the pixel probe asks for, by default all, which takes long."""
    batch: int = 64
    """Episodes that are simulated at once."""
    model: bool = False
    """Also write OUT.model.json, the finite model that the recording induces, for `python -m certify`."""
    minari: str | None = None
    """Also export as a local Minari dataset of this id, such as diacritic/two-cues-v0."""
    lerobot: Path | None = None
    """Also export as a LeRobot v3 dataset into this new folder."""

    def stem(self, task: str) -> Path:
        return self.out or Path("out") / "demos" / f"{task}-{self.seed}"


def run(
    task: Recordable,
    options: RecordOptions,
    simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
) -> int:
    """Record and check; 0 if every check passed (or none was asked for), 1 otherwise."""
    if options.lerobot is not None and options.lerobot.exists():
        raise UserError(str(options.lerobot), "exists already; choose a new folder")
    stem = options.stem(task.name)
    demos, binner = record(task, options.episodes, options.seed, options.batch, simulation)
    manifest = save(demos, stem)
    binner.save(stem.with_name(stem.name + ".binner.json"))
    print(f"{manifest}: {demos.episodes} episodes of {demos.steps} steps, SHA-256 {demos.digest[:16]}…")
    if options.model:
        write_text(stem.with_name(stem.name + ".model.json"), complete(demos).model.to_json() + "\n")
    passed = True
    if options.checks:
        seed = options.seed + 1
        fresh = record(task, options.episodes, seed, options.batch, simulation)[0] if options.fresh else None
        held_out = min(HELD_OUT, -(-demos.episodes // 4))
        acceptance = accept(demos, binner, fresh, held_out, pictured=options.pictured)
        store(stem, acceptance)
        print("\n".join(acceptance.lines()))
        passed = acceptance.passed
        demos = load(stem)
    if options.minari is not None:
        export_minari(demos, options.minari)
    if options.lerobot is not None:
        export_lerobot(demos, options.lerobot)
    return 0 if passed else 1
