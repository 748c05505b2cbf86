"""The promise of the base install: numpy is enough, nothing heavier is touched, and `--help` waits for nothing."""

import ast
import importlib.metadata
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPTIONAL = ("torch", "scipy", "ortools", "rich", "matplotlib")


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed; on failure, what it said is part of the failure."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """The interpreter of a fresh environment that holds numpy and the built wheel, made without a network."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    library = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    numpy = importlib.metadata.distribution("numpy")
    for name in {file.parts[0] for file in numpy.files or ()} - {".."}:
        (Path(library) / name).symlink_to(Path(str(numpy.locate_file(name))))
    # --no-index: a base dependency other than numpy cannot be found, and fails here.
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", wheel)
    return python


def test_the_wheel_runs_with_numpy_alone(bare_python: Path, tmp_path: Path):
    listing = run(bare_python, "-I", "-m", "certify", "--list", cwd=tmp_path).stdout
    assert "gap" in listing
    script = f"""
import importlib.util, pathlib, certify, diacritic
assert pathlib.Path(certify.__file__).is_relative_to({str(tmp_path)!r}), certify.__file__
for package in certify, diacritic:
    assert pathlib.Path(package.__file__).with_name("py.typed").exists()
print([name for name in {OPTIONAL!r} if importlib.util.find_spec(name)], diacritic.__version__)
"""
    version = importlib.metadata.version("diacritic")
    assert run(bare_python, "-I", "-c", script, cwd=tmp_path).stdout.strip() == f"[] {version}"


def test_the_wheel_holds_the_two_packages_and_nothing_of_the_reproduction(tmp_path: Path):
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"certify", "diacritic"}
    assert not [name for name in names if "reproduction" in name]


def test_the_command_line_without_extras_names_them_in_one_line(bare_python: Path, tmp_path: Path):
    command = [bare_python, "-I", "-m", "diacritic.cli", "train", "gap"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'diacritic: tyro: is not installed; run: pip install "diacritic[studies,learn]"\n'
    assert "gap" in run(bare_python, "-I", "-m", "diacritic.cli", "certify", "--list", cwd=tmp_path).stdout


def test_importing_certify_imports_nothing_optional(tmp_path: Path):
    # Stand-ins first on the path: an import that is guarded, or of something not installed here, is seen as well.
    for name in OPTIONAL:
        (tmp_path / f"{name}.py").touch()
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    script = f"import sys, certify; from certify import *; print([n for n in {OPTIONAL!r} if n in sys.modules])"
    assert run(sys.executable, "-c", script, env={**os.environ, "PYTHONPATH": path}).stdout.strip() == "[]"


def test_no_file_of_certify_imports_torch_scipy_or_diacritic():
    def imported(file: Path) -> set[str]:
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}

    files = sorted((ROOT / "src" / "certify").rglob("*.py"))
    assert files
    for file in files:
        assert not {name.split(".")[0] for name in imported(file)} & {"torch", "scipy", "diacritic"}, file


def test_help_does_not_wait_for_numpy():
    done = run(sys.executable, "-X", "importtime", "-m", "certify", "--help")
    assert "usage" in done.stdout.lower()
    modules = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "argparse" in modules
    assert "numpy" not in modules
