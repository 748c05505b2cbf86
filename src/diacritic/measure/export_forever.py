"""A run as a machine that is proved at every horizon of its task."""

from pathlib import Path

from certify.atomic import write_text
from certify.errors import UserError
from certify.stationary.machine import StationaryMachine, Verdict, right_for_ever
from diacritic.files.run import RunsLike, run_paths
from diacritic.measure.runs import run_model
from diacritic.memory.saved import load_run
from diacritic.rollout.forever import proved, stationary_machine
from diacritic.rollout.trained_machines import machines
from diacritic.tasks.named import named_process


def export_forever(
    run: RunsLike, out: Path | str = "machine.json", task: str | None = None
) -> tuple[StationaryMachine, Verdict]:
    """Write one run as a machine that is proved at every horizon of its task, `forever:…`, with few codes.

    The learned table is proved, not only its behaviour in training; refused, with the history, where it ever errs.
    """
    paths = run_paths(run)
    if len(paths) != 1:
        raise UserError(str(paths[0].parent), f"holds {len(paths)} runs; give one of them")
    saved = load_run(paths[0])
    name, *parameters = (task or saved.manifest.task).split()
    process = named_process(name, parameters)
    model = run_model(saved.path, saved.manifest, task)
    learned = machines({key: value[None] for key, value in saved.weights.items()}, saved.architecture, model)[0]
    machine = proved(stationary_machine(learned, model.graph), process)
    write_text(Path(out), machine.to_json())
    return machine, right_for_ever(machine, process)
