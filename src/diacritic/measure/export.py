"""Exporting a run in one word."""

from pathlib import Path

from certify import Model
from certify.errors import UserError
from diacritic.files.run_paths import RunsLike, run_paths
from diacritic.measure.runs import run_model
from diacritic.memory.saved import load_run
from diacritic.rollout.export import Exported, export_machine, export_onnx


def export(
    run: RunsLike, out: Path | str = "machine.json", *, onnx: bool = False, task: Model | str | None = None
) -> Exported | Path:
    """Write one run for other programs.

    A run on a finite model becomes its smallest machine, proved correct on every history, with a certificate; with
    `onnx`, any run whose only memory is a code becomes one step of its policy as an ONNX file.
    """
    paths = run_paths(run)
    if len(paths) != 1:
        raise UserError(str(paths[0].parent), f"holds {len(paths)} runs; give one of them")
    if onnx:
        return export_onnx(paths[0], out)
    saved = load_run(paths[0])
    if saved.manifest.kind != "symbolic":
        raise UserError(str(saved.path), "is not a run on a symbolic task; only those are finite machines (try onnx)")
    return export_machine(saved, run_model(saved.path, saved.manifest, task), Path(out))
