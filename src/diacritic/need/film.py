"""The witness film: two episodes side by side, where they last differed and where the expert acts differently."""

from base64 import b64encode
from typing import Any

import numpy as np

from diacritic.files.png import png
from diacritic.need.answer import Need
from diacritic.need.witnesses import Witness

CHANNELS = 3  # of a recording, in which the two episodes differ most


def scenes(answer: Need) -> list[dict[str, Any]]:
    """The nearest pair of each decision; steps are counted from 1, episodes and channels from 0."""
    first = {witness.decision: witness for witness in reversed(answer.witnesses)}
    return [_scene(answer, first[number]) for number in sorted(first)]


def _scene(answer: Need, witness: Witness) -> dict[str, Any]:
    data, pair = answer.data, list(witness.pair)
    episodes = data.numbers[pair].tolist()
    moments = [witness.step] if witness.last is None else [witness.last, witness.step]
    frames, pictures = answer.recording.frames, []
    if frames is not None:
        shown = [[png(frames[data.index[t, k], n]) for k, n in zip(pair, episodes, strict=True)] for t in moments]
        pictures = [
            {"step": t + 1, "images": [b64encode(image).decode() for image in images]}
            for t, images in zip(moments, shown, strict=True)
        ]
    return {
        "decision": witness.decision,
        "episodes": episodes,
        "step": witness.step + 1,
        "last": None if witness.last is None else witness.last + 1,
        "pictures": pictures,
        "channels": _traces(answer, witness),
    }


def _traces(answer: Need, witness: Witness) -> list[dict[str, Any]]:
    """The channels that show most where the two last differed, and the action that differs most at the step."""
    data, decision, (one, two) = answer.data, answer.remembered[witness.decision - 1], witness.pair
    kinds = [("action", data.acted, witness.step, decision.labels, 1)]
    for cue in decision.cues:
        names = cue.names(witness.last) if witness.last is not None else np.zeros(len(cue.labels), np.int64)
        if names[cue.labels[one]] != names[cue.labels[two]]:
            kinds.insert(0, ("channel", data.seen, witness.last or 0, names[cue.labels], CHANNELS))
            break
    results = []
    for kind, values, t, labels, most in kinds:
        groups = [values[t][labels == labels[n]] for n in (one, two)]
        apart = np.abs(groups[0].mean(0) - groups[1].mean(0)) / (sum(group.std(0) for group in groups) + 1e-9)
        for k in np.argsort(-apart, kind="stable")[:most].tolist():
            rows = [np.round(values[:, n, k].astype(np.float64), 6).tolist() for n in (one, two)]
            results.append({"kind": kind, "number": k, "values": rows})
    return results
