"""The page as a file: one, whole, small, escaped; what was left out is on it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_inputs import HOSTILE, add_verdict, make_ledger, make_run

from diacritic.report import page, subjects
from diacritic.report.inputs import Inputs, collect
from diacritic.report.page import LIMIT, build, embedded, report


class Elements(HTMLParser):
    """Every element with its attributes, and the text outside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page about a hostile task, with every section but the film."""
    folder = tmp_path_factory.mktemp("page")
    for task in ("gap", HOSTILE):
        add_verdict(make_run(folder / "runs", 0, task=task, learner=HOSTILE))
    make_ledger(folder / "toys.jsonl")
    report(folder, "gap", out=folder / "out" / "report.html", title=HOSTILE)
    return (folder / "out" / "report.html").read_text(encoding="utf-8")


def policy(text: str) -> str:
    """What the page lets itself do."""
    return next(a["content"] or "" for tag, a in Elements(text).elements if tag == "meta" and "http-equiv" in a)


def test_the_page_has_every_section_and_is_small(written: str):
    ids = {attributes.get("id") for _, attributes in Elements(written).elements}
    assert {
        "summary",
        "tasks",
        "task-1",
        "runs",
        "closed-loop",
        "audit",
        "probes",
        "studies",
        "cells",
        "dumbbells",
    } <= ids
    assert len(written.encode()) < LIMIT


def test_a_hostile_name_is_text_everywhere(written: str):
    elements = Elements(written)
    assert sum(tag == "script" for tag, _ in elements.elements) == 2  # data, and our own
    assert HOSTILE in "".join(elements.text)
    assert "<script>alert" not in written


def test_nothing_is_fetched(written: str):
    for tag, attributes in Elements(written).elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            target = attributes.get(name) or ""
            assert not target or target.startswith(("#", "data:")), (tag, name, target)
    allowed = policy(written)
    assert "default-src 'none'" in allowed
    assert "unsafe-inline" not in allowed.split("script-src")[1].split(";")[0]


def test_the_policy_names_the_script_that_is_there(written: str):
    (own,) = re.findall(r"<script>(.*?)</script>", written, re.S)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy(written)


def test_every_chart_has_its_data_and_a_description(written: str):
    trials = re.search(r'<script type="application/json" id="data">(.*?)</script>', written, re.S)
    assert trials
    charts = json.loads(trials[1])["charts"]
    plots = {a["id"]: a["aria-label"] for _, a in Elements(written).elements if "data-dots" in a}
    assert set(charts) == set(plots)
    assert all(plots.values())


@pytest.mark.parametrize("value", ["</script>", "<!--", "&lt;", "\u2028", '"'])
def test_embedded_data_cannot_end_its_element(value: str):
    text = embedded({value: value})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {value: value}


def test_embedded_data_is_finite():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded(float("nan"))


def test_an_empty_folder_and_half_a_run_still_make_a_page(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (make_run(tmp_path / "runs", 0) / "run.json").unlink()
    text = build(collect([str(tmp_path)]))
    assert "Left out: 2" in text
    assert "is an empty folder" in text
    assert "half-written run" in text
    assert "Nothing that could be shown" in text


def test_what_makes_the_page_too_large_is_left_out_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_run(tmp_path, 0)
    (tmp_path / "film.gif").write_bytes(bytes(300_000))
    small = len(build(collect([str(tmp_path)]), filmed=False).encode())
    monkeypatch.setattr(page, "LIMIT", small - 200_000)
    inputs = collect([str(tmp_path)])
    text = build(inputs)
    assert [item.where for item in inputs.left_out] == ["film"]
    assert len(text.encode()) <= page.LIMIT
    assert "data:image/gif" not in text
    assert "data-strips" in text


def test_a_run_of_an_unknown_task_says_how_to_show_its_requirement(tmp_path: Path):
    make_run(tmp_path, 0, task="my task")
    inputs = collect([str(tmp_path)])
    build(inputs)
    assert "give its model file" in inputs.left_out[0].reason


def test_requirements_beyond_a_number_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subjects, "MOST_REQUIREMENTS", 1)
    inputs: Inputs = collect(["gap", "reveal"])
    text = build(inputs)
    assert inputs.left_out[0].where == "requirements"
    assert text.count("checked: verified") == 2  # on the card, and with the task


def test_recorded_tasks_have_short_titles_and_the_full_one_below(recorded: Path):
    elements = Elements(build(collect([str(recorded)])))
    assert "two-cues gap=1 first_gap=1" in elements.text
    assert "two-cues jitter=0.02 gap=1 first_gap=1 classes=2" in elements.text
