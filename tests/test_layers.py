"""A room imports only rooms below it; lazy imports and imports for typing count."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CERTIFY = ["base", "core", "machines", "answer", "stationary", "zoo", "sources", "main"]
DIACRITIC = ["files", "tasks", "demos", "need", "memory", "training", "rollout", "measure", "studies", "report"]
DIACRITIC += ["commands", "cli"]
ORDER = [*(f"certify.{room}" for room in CERTIFY), *(f"diacritic.{room}" for room in DIACRITIC), "reproduction"]
BASE = ("errors", "progress", "optional", "atomic")  # of certify: what everything may use
ALONE = ("certify.check", "certify.check_stationary", "diacritic.shipped")  # checkers import nothing of ours; data


def modules() -> Iterator[tuple[str, Path]]:
    for top in (ROOT / "src", ROOT):
        for package in ("certify", "diacritic", "reproduction"):
            for path in sorted((top / package).rglob("*.py")):
                yield ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__"), path


def room(module: str) -> str | None:
    """The room of a module; none where it has none: checkers, public faces, shipped data."""
    package, *rest = module.split(".")
    if package == "reproduction":
        return package
    if not rest or module in ALONE or rest[0] == "_version":
        return None
    if package == "certify" and rest[0] not in CERTIFY:
        return "certify.base" if rest[0] in BASE else "certify.main" if rest[0] == "__main__" else "certify.answer"
    return f"{package}.{'cli' if rest[0] in ('demo', '__main__') else rest[0]}"


def imports(path: Path, names: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in names else node.module


def upward() -> list[str]:
    """Every import that leads to a room above."""
    every = dict(modules())
    rank = {name: k for k, name in enumerate(ORDER)}
    wrong = []
    for module, path in every.items():
        own = room(module)
        for target in imports(path, set(every)):
            other = room(target) if target.split(".")[0] in ("certify", "diacritic", "reproduction") else None
            if own is not None and other is not None and rank[other] > rank[own]:
                wrong.append(f"{module} -> {target}")
    return sorted(set(wrong))


def test_no_import_leads_upward():
    assert upward() == []


@pytest.mark.parametrize("checker", ["check", "check_stationary"])
def test_checkers_import_nothing_of_ours(checker: str):
    every = dict(modules())
    assert not [name for name in imports(every[f"certify.{checker}"], set(every)) if name.split(".")[0] == "certify"]


def test_every_module_has_a_room():
    assert [name for name in dict(modules()) if (own := room(name)) is not None and own not in ORDER] == []


def test_no_module_imports_the_whole_package_for_its_version():
    whole = [name for name, path in modules() if "\nimport diacritic\n" in path.read_text(encoding="utf-8")]
    assert whole == []
