"""Minari export and import: the recording as a local Minari dataset, and back bit for bit."""

import json
import warnings
from typing import Any

import numpy as np

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.files.demos import FORMAT, Demos, metadata, read_metadata

_KEY = "diacritic"  # of our own entry in the metadata
_STEPWISE = ("phase", "symbols", "choices")


def export_minari(demos: Demos, dataset_id: str) -> Any:
    """Create the local dataset `dataset_id` (such as `diacritic/two-cues-v0`) and return it.

    Minari wants one observation more than actions: the last one is repeated. Phase, symbols, the expert's symbolic
    actions, latents and success travel in the `infos` of each episode, everything else in the metadata.
    """
    minari = import_optional("minari", "sources")
    spaces = import_optional("gymnasium.spaces", "sources")
    state = spaces.Box(-np.inf, np.inf, demos.observations.shape[2:], np.float32)
    space = state
    if demos.frames is not None:
        space = spaces.Dict({"state": state, "frame": spaces.Box(0, 255, demos.frames.shape[2:], np.uint8)})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no author's address, no environment to evaluate in
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                [_buffer(demos, episode) for episode in range(demos.episodes)],
                observation_space=space,
                action_space=spaces.Box(-np.inf, np.inf, demos.actions.shape[2:], np.float32),
                algorithm_name="scripted expert",
                description=f"Demonstrations of {demos.task}",
                jpeg_encoding=False,
            )
    except ValueError as error:  # an id without version, or one that is taken
        raise UserError(dataset_id, " ".join(str(error).split())) from None
    dataset.storage.update_metadata({_KEY: json.dumps(metadata(demos) | {"latents": list(demos.latents)})})
    return dataset


def import_minari(dataset_id: str) -> Demos:
    """Read a dataset that `export_minari` wrote, and check it against the digest it was written with."""
    minari = import_optional("minari", "sources")
    try:
        dataset = minari.load_dataset(dataset_id)
    except FileNotFoundError:
        raise UserError(dataset_id, "no local Minari dataset has this id; check MINARI_DATASETS_PATH") from None
    own = dataset.storage.metadata.get(_KEY)
    if own is None:
        remedy = "read it with certify.sources.minari.from_minari"
        raise UserError(dataset_id, f"was not exported by Diacritic, so it has no latents or symbols; {remedy}")
    meta = json.loads(own)
    if meta["format"] != FORMAT:
        raise UserError(dataset_id, f"holds {meta['format']!r}, but this version reads {FORMAT!r}; export it again")
    demos = _assembled(dataset, meta)
    if demos.digest != meta["sha256"]:
        raise UserError(dataset_id, "is not what was exported (its digest differs); export it again")
    return demos


def _buffer(demos: Demos, n: int) -> Any:
    steps = demos.steps
    observations: Any = _repeat_last(demos.observations[:, n])
    if demos.frames is not None:
        observations = {"state": observations, "frame": _repeat_last(demos.frames[:, n])}
    infos: dict[str, Any] = {name: _repeat_last(getattr(demos, name)[:, n]).astype(np.int64) for name in _STEPWISE}
    for name, values in demos.latents.items():
        infos[f"latent_{name}"] = np.full(steps + 1, values[n], np.int64)
    infos["success"] = np.full(steps + 1, demos.success[n])
    ended = np.arange(steps) == steps - 1
    return import_optional("minari.data_collector.episode_buffer", "sources").EpisodeBuffer(
        id=n,
        seed=demos.seed,
        observations=observations,
        actions=demos.actions[:, n],
        rewards=list(np.where(ended, float(demos.success[n]), 0.0)),
        terminations=list(ended),
        truncations=[False] * steps,
        infos=infos,
    )


def _repeat_last(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, values[-1:]])


def _assembled(dataset: Any, meta: dict[str, Any]) -> Demos:
    episodes = sorted(dataset.iterate_episodes(), key=lambda episode: episode.id)
    framed = isinstance(episodes[0].observations, dict)
    state = [episode.observations["state"] if framed else episode.observations for episode in episodes]
    infos = [episode.infos for episode in episodes]

    def stepwise(name: str, dtype: Any) -> np.ndarray:
        return np.stack([np.asarray(info[name])[:-1] for info in infos], axis=1).astype(dtype)

    def once(name: str, dtype: Any) -> np.ndarray:
        return np.array([np.asarray(info[name])[0] for info in infos], dtype)

    return Demos(
        observations=np.stack([values[:-1] for values in state], axis=1),
        actions=np.stack([episode.actions for episode in episodes], axis=1),
        phase=stepwise("phase", np.uint8),
        symbols=stepwise("symbols", np.int32),
        choices=stepwise("choices", np.int32),
        latents={name: once(f"latent_{name}", np.int32) for name in meta["latents"]},
        success=once("success", np.bool_),
        frames=np.stack([e.observations["frame"][:-1] for e in episodes], axis=1) if framed else None,
        **read_metadata(meta, dataset.spec.dataset_id, "export it again"),
    )
