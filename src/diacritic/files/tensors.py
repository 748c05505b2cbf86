"""Tensors in a safetensors file, with notes and a digest over both."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from certify.errors import UserError
from diacritic.files.atomic import make_folder, write_bytes

DIGEST = "sha256"


def tensor_bytes(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> bytes:
    """The content of a file whose digest is kept elsewhere."""
    return save(_plain(tensors), dict(notes))


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Write tensors and notes, with a digest among the notes."""
    make_folder(path.parent)
    write_bytes(path, tensor_bytes(tensors, {**notes, DIGEST: _digest(_plain(tensors), notes)}))


def read_tensors(
    path: Path, remedy: str = "delete it or restore it", *, signed: bool = False
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and its notes; a file that is not whole, or was changed, is refused in one line.

    `signed` also refuses a file without a digest among its notes.
    """
    try:
        with safe_open(path, "pt") as file:  # pyright: ignore[reportGeneralTypeIssues]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            notes = dict(file.metadata() or {})
    except FileNotFoundError:
        raise UserError(str(path), f"no such file; {remedy}") from None
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError) as problem:
        reason = f"not a whole safetensors file ({str(problem)[:100]})"
        raise UserError(str(path), f"{reason}; {remedy}") from None
    digest = notes.pop(DIGEST, None)
    if digest is None and signed:
        raise UserError(str(path), f"has no digest, as files of older versions; {remedy}")
    if digest is not None and digest != _digest(tensors, notes):
        raise UserError(str(path), f"was changed after it had been written; {remedy}")
    return tensors, notes


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}


def _digest(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(sorted(notes.items())).encode())
    for name, value in sorted(tensors.items()):
        digest.update(json.dumps([name, str(value.dtype), list(value.shape)]).encode())
        digest.update(value.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b"")
    return digest.hexdigest()
