"""What raw demonstrations need, on the page: the answer, a staircase over the steps, and where each cue is shown."""

from typing import Any

from diacritic.report.inputs import Inputs

WIDTH, HEIGHT, ROW = 640, 90, 16  # of the picture, in pixels
TRACE = 60  # pixels of height of one channel in the film
Shown = dict[str, Any]


def view(inputs: Inputs) -> list[Shown]:
    """One part for each answer."""
    return [_part(k, document) for k, document in enumerate(inputs.needs, 1)]


def _part(k: int, document: Shown) -> Shown:
    bits = document["bits"]
    most, step = max((*bits, 1.0)), WIDTH / max(len(bits), 1)
    bars = [
        {"x": round(t * step, 2), "y": round(HEIGHT * (1 - value / most), 2), "height": round(HEIGHT * value / most, 2)}
        | {"step": t + 1, "bits": round(value, 2)}
        for t, value in enumerate(bits)
        if value > 0
    ]
    needed = [decision for decision in document["decisions"] if decision["kind"] in ("cue", "partly")]
    rows = [_row(n, decision, step) for n, decision in enumerate(needed)]
    return {
        "id": f"need-{k}",
        "name": document["recording"],
        "answer": document["answer"],
        "lines": document["lines"],
        "film": [_scene(scene) for scene in document.get("film", ())],
        "picture": {
            "bars": bars,
            "rows": rows,
            "bar": round(0.9 * step, 2),
            "width": WIDTH,
            "height": HEIGHT + ROW * len(rows),
            "floor": HEIGHT,
            "label": f"bits required at each of {len(bits)} steps, at most {max((*bits, 0.0)):.2f}",
        },
    }


def _row(n: int, decision: Shown, step: float) -> Shown:
    """A mark for every frame that shows a cue of the decision, and one where it is used."""
    marks = {"shown": decision["shown"], "used": decision["steps"]}
    return {"name": f"D{n + 1}", "y": HEIGHT + ROW * n + ROW / 2} | {
        kind: [{"x": round((t - 0.5) * step, 2), "step": t} for t in steps] for kind, steps in marks.items()
    }


def _scene(scene: Shown) -> Shown:
    """Two episodes: pictures where there are some, and the channels that differ as lines over the steps."""
    return scene | {
        "title": f"D{scene['decision']}: episodes {scene['episodes'][0]} and {scene['episodes'][1]}",
        "traces": [_trace(trace, scene) for trace in scene["channels"]],
    }


def _trace(trace: Shown, scene: Shown) -> Shown:
    every = [value for row in trace["values"] for value in row] or [0.0]
    low, size = min(every), (max(every) - min(every)) or 1.0
    step = WIDTH / max(*map(len, trace["values"]), 1)
    lines = [
        " ".join(
            f"{(t + 0.5) * step:.1f},{TRACE * (0.95 - 0.9 * (value - low) / size):.1f}" for t, value in enumerate(row)
        )
        for row in trace["values"]
    ]
    marks = [round((t - 0.5) * step, 1) for t in (scene["last"], scene["step"]) if t is not None]
    return {
        "name": f"{trace['kind']} {trace['number']}",
        "lines": lines,
        "marks": marks,
        "height": TRACE,
        "width": WIDTH,
    }
