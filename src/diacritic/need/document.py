"""An answer as the documents that are written: need.json and witnesses.json."""

from pathlib import Path
from typing import Any

from diacritic.files.atomic import make_folder
from diacritic.files.need import write_need, write_witnesses
from diacritic.need.answer import Need
from diacritic.need.decisions import Decision
from diacritic.need.film import scenes
from diacritic.need.text import frames_shown, lines, settings


def save(answer: Need, folder: Path) -> list[Path]:
    """Write need.json, and witnesses.json where there are witnesses; steps are counted from 1, episodes from 0."""
    make_folder(folder)
    paths = [folder / "need.json"]
    write_need(paths[0], need_document(answer))
    if answer.witnesses:
        paths.append(folder / "witnesses.json")
        write_witnesses(paths[1], witness_document(answer))
    return paths


def need_document(answer: Need) -> dict[str, Any]:
    data = answer.data
    return {
        "answer": answer.kind,
        "reason": answer.reason,
        "recording": answer.recording.task,
        "digest": answer.recording.digest,
        "aligned": data.clock,
        "tolerance": data.tolerance,
        "seed": answer.seed,
        "episodes": data.episodes,
        "steps": data.steps,
        "channels": data.observations.shape[2],
        "actions": data.actions.shape[2],
        "bits": list(answer.bits),
        "decisions": [_decision(decision) for decision in answer.decisions],
        "graded": [{"step": g.step + 1, "shown": g.frame + 1, "nats": g.gain, "p": g.p} for g in answer.graded],
        "elsewhere": [
            {
                "step": step.step + 1,
                "error": step.error,
                "p": step.p,
                "p_older": step.p_older,
                **{k: getattr(step.gains, k) for k in ("velocity", "filter", "actions", "recent", "older")},
            }
            for step in answer.open
        ],
        "keep": [t + 1 for t in answer.keep.frames],
        "stack": answer.keep.stack,
        "states": answer.keep.states,
        "settings": settings(answer),
        "exchanged_pasts_found": answer.found_in_exchanged,
        "power": answer.power,
        "notes": list(answer.notes),
        "lines": lines(answer),
        "film": scenes(answer),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "steps": [t + 1 for t in decision.steps],
        "classes": int(decision.labels.max()) + 1,
        "shown": [t + 1 for t in frames_shown(decision)],
        "cues": [[t + 1 for t in cue.shown(decision.steps[0])] for cue in decision.cues],
        "shares": [[round(sight.share, 4) for sight in cue.sights] for cue in decision.cues],
        "told": decision.told,
        "p": decision.p,
    }


def witness_document(answer: Need) -> dict[str, Any]:
    """Pairs, and for each decision the raw row and the class of every episode, so that a check needs nothing else."""
    data = answer.data
    return {
        "digest": answer.recording.digest,
        "assumption": "frames nearer than the nearest frames of one class differ by noise alone",
        "tolerance": data.tolerance,
        "decisions": [
            {
                "episodes": data.numbers.tolist(),
                "rows": data.index[decision.steps[0]].tolist(),
                "classes": decision.labels.tolist(),
            }
            for decision in answer.remembered
        ],
        "pairs": [
            {
                "decision": witness.decision,
                "step": witness.step + 1,
                "episodes": [int(data.numbers[k]) for k in witness.pair],
                "distance": witness.distance,
                "nearer": witness.nearer,
                "action": witness.action,
                "last": None if witness.last is None else witness.last + 1,
            }
            for witness in answer.witnesses
        ],
    }
