"""The documentation is executed: Python blocks run, console commands exit as promised, relative links lead somewhere.

The blocks of a page run from top to bottom in one namespace and one empty folder. A fence may carry a title, as in
```json title="model.json": its text is saved under that name for what follows. In a console block every line
`$ python -m certify…` runs and must exit 0, or N where `# exit N` stands on that line or in the output below it.
"""

import re
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^ *(?P=ticks)`* *$", re.M | re.S)
LINK = re.compile(r"""\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|\b(?:src|href)="([^"]+)\"""")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)? *$", re.M)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


class Block(NamedTuple):
    line: int  # of the first line inside the fence, counted from 1
    language: str
    title: str | None
    text: str


def blocks(page: Path) -> Iterator[Block]:
    source = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(source):
        title = re.search(r'title="([^"]+)"', fence["info"])
        language = (fence["info"].split() or [""])[0]
        line = source.count("\n", 0, fence.start("body")) + 1
        yield Block(line, language, title and title[1], textwrap.dedent(fence["body"]))


def run_page(page: Path, folder: Path) -> None:
    """Execute a page inside `folder`, which is the working directory."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        if block.language == "python":
            run_python(page, block, namespace)
        elif block.language == "console":
            run_console(page, block, folder)


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    try:
        # Leading newlines make the line numbers of a traceback those of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
    except Exception as error:
        on_page = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(page)]
        line = error.lineno if isinstance(error, SyntaxError) else on_page[-1]
        raise AssertionError(f"{page.name}:{line}: {type(error).__name__}: {error}") from error


def run_console(page: Path, block: Block, folder: Path) -> None:
    for part in re.finditer(r"^\$ python (-m certify.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
        promised = re.search(r"# exit (\d+)", part[0])
        command = f'"{sys.executable}" {part[1]}'
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode != (int(promised[1]) if promised else 0):
            line = block.line + block.text.count("\n", 0, part.start())
            said = f"exit {done.returncode}\n{done.stdout}{done.stderr}"
            raise AssertionError(f"{page.name}:{line}: python {part[1]}: {said}")


def prose(page: Path) -> str:
    """The page without its code, where brackets and hashes mean other things."""
    return re.sub(r"`[^`\n]+`", lambda code: code[0].translate({ord(c): " " for c in "[]()"}), bare(page))


def bare(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Headings as anchors: lower case, letters of every script kept, punctuation dropped, blanks to hyphens."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(bare(page))}


def dead_links(page: Path) -> list[str]:
    dead = []
    for target in (first or second for first, second in LINK.findall(prose(page))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    return dead


@each_page
def test_code_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)


@each_page
def test_links_on_the_page_lead_somewhere(page: Path):
    assert dead_links(page) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# Page\n\n```python\nx = 1\n```\n\n```python\nassert x == 1\nx / 0\n```\n", "page.md:9: ZeroDivisionError"),
        ("- item\n\n  ```python\n  x = 1\n  x +\n  ```\n", "page.md:5: SyntaxError"),
        ("```console\n$ echo free\n$ python -m certify --no-such-option\nerror\n```\n", "page.md:3: .*exit 2"),
        ("```console\n$ python -m certify --help  # exit 1\n```\n", "page.md:2: .*exit 0"),
    ],
    ids=["python", "syntax", "console", "promise"],
)
def test_a_broken_block_is_reported_where_it_stands(
    text: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=complaint):
        run_page(page, tmp_path)


def test_titled_blocks_are_saved_and_promised_failures_accepted(tmp_path: Path):
    page = tmp_path / "page.md"
    text = '```json title="saved.json"\n{}\n```\n```console\n$ python -m certify --no-such-option\nno  # exit 2\n```\n'
    page.write_text(text, encoding="utf-8")
    run_page(page, tmp_path)
    assert (tmp_path / "saved.json").read_text(encoding="utf-8") == "{}\n"


def test_dead_links_are_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# The Γ classes, `t`\n[good](#the-γ-classes-t) [good](page.md) [good](https://example.org) `[code](none.md)`\n"
        '[bad](none.md) ![bad](none.png "title") [bad](#none) <img src="none.svg">\n```\n[code](none.md)\n```\n',
        encoding="utf-8",
    )
    assert dead_links(page) == ["none.md", "none.png", "#none", "none.svg"]
