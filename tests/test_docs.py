"""The documentation is executed: Python blocks run, console commands exit as promised, relative links lead somewhere.

The blocks of a page run from top to bottom in one namespace and one empty folder. A fence may carry a title, as in
```json title="model.json": its text is saved under that name for what follows. In a console block every line
`$ python -m certify…` runs and must exit 0, or N where `# exit N` stands on that line or in the output below it. So do
the lines `$ diacritic …` of the tour and the guides; those of other pages need recordings, hours or a cluster, and are
parsed, so that no page names a command, an option or a module that is not there. SVG pictures on the tour are, byte by
byte, what its commands write.
"""

import ast
import re
import shlex
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType
from typing import NamedTuple

import pytest
import tyro

from diacritic.cli import commands, main
from docs_build.gallery import REPORTS
from reproduction.__main__ import COMMANDS as REPRODUCTION

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOUR = ROOT / "docs" / "tour.md"
COMMANDS = {**commands(), "certify": None}  # certify parses for itself
HISTORY = ROOT / "docs" / "changelog.md"  # may name commands that are gone
REFERENCE = sorted((ROOT / "docs" / "api").glob("*.md"))
WALKED = [TOUR, *sorted((ROOT / "docs" / "guides").glob("*.md"))]

BUILT = {ROOT / "docs" / "gallery" / name for name in REPORTS}  # by `make docs`

# trainings of minutes, on fewer episodes and updates
REDUCED = {"episodes=512)": "episodes=48)", 'learner="plain", seeds=8)': 'learner="plain", seeds=2, steps=5)'}

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^ *(?P=ticks)`* *$", re.M | re.S)
LINK = re.compile(r"""\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|\b(?:src|href)="([^"]+)\"""")
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
INLINE = re.compile(r"`((?:diacritic|python -m) [^`]+)`")
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
            if page in WALKED:
                run_diacritic(page, block)


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    text = block.text
    for whole, part in REDUCED.items():
        text = text.replace(whole, part)
    try:
        # Leading newlines make the line numbers of a traceback those of the page.
        exec(compile("\n" * (block.line - 1) + text, str(page), "exec"), namespace)
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


def run_diacritic(page: Path, block: Block) -> None:
    """In this process, which has torch already."""
    for part in re.finditer(r"^\$ diacritic (.*)$", block.text, re.M):
        status = main(shlex.split(part[1], comments=True))
        assert status == 0, f"{page.name}:{block.line}: diacritic {part[1]}: exit {status}"


def command_lines(page: Path) -> list[list[str]]:
    """Every `diacritic …` and `python -m …` on a page: lines of shell blocks, and code within sentences."""
    shells = [block for block in blocks(page) if block.language in ("", "sh", "console")]
    lines = [line.strip().removeprefix("$ ") for block in shells for line in block.text.splitlines()]
    lines = [line for line in lines if line.startswith(("diacritic ", "python -m "))]
    inline = [" ".join(code.split()) for code in INLINE.findall(bare(page))]
    return [shlex.split(line, comments=True) for line in [*lines, *inline]]


def unknown_commands(page: Path) -> list[str]:
    """Commands that the command line would refuse to parse, and modules that are not there."""
    unknown = []
    for program, *words in command_lines(page):
        name = words[0] if program == "diacritic" else words[1]
        try:
            exists = name in COMMANDS if program == "diacritic" else find_spec(name.rstrip("…")) is not None
            if exists and program == "diacritic" and name != "certify" and words[1:]:
                tyro.cli(COMMANDS[name], args=words[1:])
            if name == "reproduction" and words[2:] and words[2] != "--help":
                tyro.cli(REPRODUCTION[words[2]], args=words[3:])
        except (SystemExit, ModuleNotFoundError, KeyError):
            exists = False
        if not exists:
            unknown.append(shlex.join([program, *words]))
    return unknown


def prose(page: Path) -> str:
    """The page without its code, where brackets and hashes mean other things."""
    text = re.sub(r"<script\b.*?</script>", "", bare(page), flags=re.S)
    return re.sub(r"`[^`\n]+`", lambda code: code[0].translate({ord(c): " " for c in "[]()"}), text)


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
        if file in BUILT:
            continue
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    return dead


@each_page
def test_code_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)


def test_the_tour_shows_what_its_commands_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(TOUR):
        if block.language == "console":
            run_console(TOUR, block, tmp_path)
    drawn = [TOUR.parent / path for path in IMAGE.findall(bare(TOUR)) if path.endswith(".svg")]
    assert len(drawn) == 2
    for picture in drawn:
        assert (tmp_path / picture.name).read_bytes() == picture.read_bytes(), (
            f"{picture.name}: copy it from the command"
        )


@each_page
def test_commands_on_the_page_exist(page: Path):
    assert page == HISTORY or unknown_commands(page) == []


def imported(page: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything of ours that the Python of a page imports."""
    for block in blocks(page):
        if block.language == "python":
            for node in ast.walk(ast.parse(block.text)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("certify", "diacritic"):
                    yield from ((str(node.module), alias.name) for alias in node.names)


def defined(name: str) -> str:
    """The full name of a module, or of what is in one, where it is defined, whoever hands it on."""
    actual = resolve_name(name)
    return f"{actual.__module__}.{actual.__qualname__}" if isinstance(actual, FunctionType | type) else name


def test_what_the_pages_import_is_in_the_reference():
    named = [name for page in REFERENCE for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.M)]
    listed = {defined(name) for name in named}
    used = {defined(f"{module}.{name}") for page in PAGES for module, name in imported(page)}
    assert len(used) > 30
    assert [name for name in sorted(used) if not {name, name.rpartition(".")[0]} & listed] == []
    assert [name for name in named if not resolve_name(name).__doc__] == []


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


def test_unknown_commands_are_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "there: `diacritic train gap gap1=1`, `python -m certify`; not: `diacritic fly`, `python -m certify.fly`\n"
        "```sh\ndiacritic train gap --seeds 2  # fine\ndiacritic train gap --wings 2\n```\n",
        encoding="utf-8",
    )
    assert unknown_commands(page) == ["diacritic train gap --wings 2", "diacritic fly", "python -m certify.fly"]


def test_dead_links_are_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# The Γ classes, `t`\n[good](#the-γ-classes-t) [good](page.md) [good](https://example.org) `[code](none.md)`\n"
        '[bad](none.md) ![bad](none.png "title") [bad](#none) <img src="none.svg">\n```\n[code](none.md)\n```\n',
        encoding="utf-8",
    )
    assert dead_links(page) == ["none.md", "none.png", "#none", "none.svg"]
