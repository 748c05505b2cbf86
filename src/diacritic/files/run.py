"""A trained run (`diacritic-run/2`): a folder with weights, codes and what else it needs, and a manifest, written last.

The folder is named by a hash of what decides the outcome: the plan (configuration and data), the run (seed and numbers)
and the declared versions of the rooms that decide results. A run exists when its manifest does and the digests match.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.arrays import read_npz, write_npz
from diacritic.files.atomic import (
    make_folder,
    read_json,
    safe_name,
    sha256,
    sha256_file,
    write_bytes,
    write_json,
    write_text,
)
from diacritic.files.schema import read_as
from diacritic.files.versions import code_version

if TYPE_CHECKING:
    from torch import Tensor

    from certify import Model

FORMAT = "diacritic-run/2"
MANIFEST, WEIGHTS, CODES, MODEL, BINNER = "run.json", "weights.safetensors", "codes.npz", "model.json", "binner.json"
REMEDY = "train the run again"
_LARGEST = 10_000_000  # episodes


@dataclass(frozen=True)
class CodedEpisodes:
    """Which episodes `codes.npz` holds, in this order: half-open ranges of numbers in the recording or the model."""

    which: Literal["training", "held-out", "all"]
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if len(self.ranges) > 10_000 or not all(0 <= start < stop <= _LARGEST for start, stop in self.ranges):
            raise UserError("ranges", "expected a list of [start, stop], each a range of episodes")

    @property
    def indices(self) -> NDArray[np.int64]:
        return np.concatenate([np.arange(start, stop) for start, stop in self.ranges] or [np.arange(0)])

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.ranges)


@dataclass(frozen=True)
class RunManifest:
    """Everything that is known of a run besides its arrays; one shape for symbolic and recorded tasks."""

    kind: Literal["symbolic", "recorded"]
    task: str
    learner: str
    preset: str
    steps: int
    plan: str
    """Digest of the configuration and the data."""
    run: Mapping[str, Any]
    """The seed and the numbers of this run."""
    architecture: Mapping[str, Any]
    shape: Mapping[str, Any]
    episodes: CodedEpisodes
    parameters: Mapping[str, Any] = field(default_factory=dict)
    task_version: int | None = None
    model_sha256: str | None = None
    demos_sha256: str | None = None
    N: int | None = None
    """Demonstrations it learned from; none where every episode counts with its probability."""
    held_out: int | None = None
    diverged: bool = False
    sufficient: bool | None = None
    failures: Sequence[str] = ()
    success: float | None = None
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Smallest S_Gamma and S_G by window."""
    rate: Sequence[float | None] = ()
    requirement: Sequence[float | None] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    code_version: str = field(default_factory=code_version)
    seconds: float | None = None
    """Of training, where it is known."""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.run["seed"]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        decides = {"plan": self.plan, "run": dict(self.run), "code_version": self.code_version}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_dict(document: Any, path: str) -> "RunManifest":
        """The inverse of `to_dict`, every field checked."""
        given = dict(document) if isinstance(document, dict) else {}
        given.pop("format", None)
        lacking = [name for name in ("diverged", "code_version", "sha256") if name not in given]
        if lacking:
            raise UserError(path, f"lacks {lacking[0]!r}; {REMEDY}")
        manifest: RunManifest = read_as(RunManifest, given, path, REMEDY)
        read_as({"seed": int}, manifest.run, f"{path}: run", REMEDY)
        for name in manifest.sha256:
            safe_name(name, f"{path}: sha256")  # leads nowhere outside the folder
        for name in (WEIGHTS, CODES):
            if name not in manifest.sha256:
                raise UserError(path, f"has no digest of {name}; {REMEDY}")
        return manifest


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, finished or not."""
    return any((folder / name).exists() for name in (MANIFEST, WEIGHTS, CODES))


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Each path is a run, or a folder of runs."""
    runs: list[Path] = []
    for path in paths:
        manifests = sorted(path.glob(f"*/{MANIFEST}"))
        inside = [path] if (path / MANIFEST).exists() else [manifest.parent for manifest in manifests]
        if not inside:
            raise UserError(str(path), f"is not a run and holds none: there is no {MANIFEST}")
        runs += [run for run in inside if run not in runs]
    return runs


def read_manifest(path: Path) -> RunManifest:
    """The manifest of a whole run: its format is this one, and every file matches its digest."""
    if not (path / MANIFEST).exists():
        said = f"is a half-written run without {MANIFEST}; {REMEDY}" if is_run(path) else f"is not a run: no {MANIFEST}"
        raise UserError(str(path), said)
    manifest = RunManifest.from_dict(read_json(path / MANIFEST, FORMAT, REMEDY), str(path / MANIFEST))
    for name, digest in manifest.sha256.items():
        if not (path / name).is_file() or sha256_file(path / name) != digest:
            raise UserError(str(path / name), f"does not match the run's manifest; {REMEDY}")
    return manifest


def read_weights(path: Path) -> "dict[str, Tensor]":
    """The weights of a run whose manifest has been read."""
    from diacritic.files.tensors import read_tensors

    return read_tensors(path / WEIGHTS, REMEDY)[0]


def read_codes(path: Path, manifest: RunManifest) -> NDArray[np.integer[Any]]:
    """Codes C_t on the episodes that the manifest names, [T, N]."""
    codes = read_npz(path / CODES, REMEDY).get("codes")
    if codes is None or codes.dtype.kind not in "iu" or codes.ndim != 2 or codes.shape[1] != len(manifest.episodes):
        said = "holds no codes" if codes is None else f"holds {codes.dtype} {codes.shape}"
        raise UserError(str(path / CODES), f"{said}, not [T, {len(manifest.episodes)}] integers; {REMEDY}")
    return codes


def read_model(path: Path, manifest: RunManifest) -> "Model | None":
    """The model that a run brought along, where it was trained from a model file."""
    from certify import Model

    if MODEL not in manifest.sha256:
        return None
    model = replace(Model.load(path / MODEL), name=manifest.task)
    if model.digest != manifest.model_sha256:
        raise UserError(str(path / MODEL), f"is another model than the run's manifest names; {REMEDY}")
    return model


def write_run(
    folder: Path,
    manifest: RunManifest,
    weights: "Mapping[str, Tensor]",
    codes: NDArray[np.integer[Any]],
    texts: Mapping[str, str],
) -> Path:
    """Write one run, further `texts` by file name included; a finished run of other weights is not replaced."""
    from diacritic.files.tensors import tensor_bytes

    if codes.shape[1] != len(manifest.episodes):
        raise ValueError(f"codes of {codes.shape[1]} episodes, but the manifest names {len(manifest.episodes)}")
    path = make_folder(folder / manifest.name)
    content = tensor_bytes(weights, {"run": json.dumps(dict(manifest.run))})
    if (path / MANIFEST).exists():
        _refuse_another(path, sha256(content))
    write_bytes(path / WEIGHTS, content)
    write_npz(path / CODES, codes=codes)
    for name, text in texts.items():
        write_text(path / safe_name(name, str(path)), text)
    digests = {name: sha256_file(path / name) for name in (WEIGHTS, CODES, *texts)}
    write_json(path / MANIFEST, replace(manifest, sha256=digests).to_dict())
    return path


def _refuse_another(path: Path, digest: str) -> None:
    """Raise unless the finished run in a folder has these weights, or is damaged."""
    try:
        finished = read_manifest(path)
    except UserError:
        return
    if finished.sha256[WEIGHTS] != digest:
        reason = "is a finished run with other weights; move it away and run the same command again"
        raise UserError(str(path), reason)


class HasPaths(Protocol):
    """What training gives back knows where its runs are."""

    @property
    def paths(self) -> Sequence[Path]: ...


RunsLike = HasPaths | Path | str | Iterable[Path | str]


def run_paths(runs: RunsLike) -> list[Path]:
    """The folder of every run; each name is that of a run, or of a folder of runs."""
    if isinstance(runs, str | Path):
        return find_runs([Path(runs)])
    given = runs if isinstance(runs, Iterable) and not hasattr(runs, "paths") else getattr(runs, "paths")  # noqa: B009
    return find_runs([Path(path) for path in given])
