"""Minari datasets to a model: local datasets only, nothing is downloaded."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from certify.errors import UserError
from certify.optional import import_optional
from certify.sources.adapter import History, Law, readable
from certify.sources.recordings import Recording, Symboliser, Text, from_recordings, symbolic

EpisodeData = Any  # minari.EpisodeData: id, observations, actions, rewards, terminations, truncations, infos


def from_minari(
    dataset: Any,
    symbol: Symboliser = readable,
    action: Symboliser = readable,
    *,
    laws: Callable[[EpisodeData], Sequence[Law]] | None = None,
    oracle: Callable[[History], Law] | None = None,
    latent: Callable[[EpisodeData], Hashable] | None = None,
    name: str = "",
) -> Recording:
    """The model of a Minari dataset, given by its id or as a `MinariDataset`.

    The observation after the last action is dropped, since the expert does not act on it. `laws` and `latent` read the
    logged law of each step and the hidden configuration from an episode, for instance from its `infos`; without `laws`
    and `oracle` the expert is taken to be deterministic. Errors count episodes as `dataset[k]` does.
    """
    opened = _opened(dataset) if isinstance(dataset, str) else dataset
    title = name or str(getattr(opened, "id", ""))
    recorded: list[Text] = []
    logged: list[Sequence[Law]] = []
    latents: list[Hashable] = []
    for k, (episode, steps) in enumerate(_episodes(opened, title)):
        recorded.append(symbolic(_pairs(episode, steps, f"episodes[{k}]"), symbol, action, f"episodes[{k}]"))
        if laws is not None:
            logged.append(laws(episode))
        if latent is not None:
            latents.append(latent(episode))
    return from_recordings(
        recorded,
        laws=None if laws is None else logged,
        oracle=oracle,
        latents=None if latent is None else latents,
        name=title,
    )


def _opened(dataset: str) -> Any:
    minari = import_optional("minari", "sources")
    try:
        return minari.load_dataset(dataset)
    except FileNotFoundError:
        remedy = f"fetch it with 'minari download {dataset}', or check MINARI_DATASETS_PATH"
        raise UserError(dataset, f"no local Minari dataset has this id; {remedy}") from None
    except Exception as error:  # Minari reports a damaged dataset by many kinds of error
        raise UserError(dataset, f"cannot be read ({_line(error)})") from None


def _episodes(dataset: Any, title: str) -> Iterator[tuple[EpisodeData, int]]:
    """Each episode with the number of steps that the dataset promises; what fails to be read is refused."""
    try:
        promised = dataset.storage.get_episode_metadata(dataset.episode_indices)
        for episode, metadata in zip(dataset, promised, strict=True):
            yield episode, int(metadata["total_steps"])
    except Exception as error:  # only Minari's own code runs here
        raise UserError(title, f"cannot be read ({_line(error)})") from None


def _line(error: BaseException) -> str:
    return " ".join([f"{type(error).__name__}:", *str(error).split()])


def _pairs(episode: EpisodeData, steps: int, where: str) -> Iterator[tuple[Any, Any]]:
    """(observation, action) of each step; dictionaries and tuples of arrays are taken apart by time."""
    observations, actions = _length(episode.observations, where), _length(episode.actions, where)
    if actions != steps or observations != steps + 1:
        raise UserError(
            where,
            f"{observations} observations and {actions} actions, but the dataset promises {steps} steps and one more "
            "observation; steps are missing",
        )
    return ((_at(episode.observations, t), _at(episode.actions, t)) for t in range(steps))


def _length(data: Any, where: str) -> int:
    parts = list(data.values()) if isinstance(data, Mapping) else list(data) if isinstance(data, tuple) else None
    if parts is None:
        return len(data)
    lengths = {_length(part, where) for part in parts}
    if len(lengths) != 1:
        raise UserError(where, f"its parts have {' and '.join(map(str, sorted(lengths)))} steps; they must agree")
    return lengths.pop()


def _at(data: Any, t: int) -> Any:
    if isinstance(data, Mapping):
        return {key: _at(part, t) for key, part in data.items()}
    return tuple(_at(part, t) for part in data) if isinstance(data, tuple) else data[t]
