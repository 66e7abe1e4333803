"""What must hold for the project as a whole: its documents, commands, resources and layout."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from viewer.base.ids import Paint

ROOT = Path(__file__).resolve().parent.parent
CODE = ("viewer", "widgets", "resources", "tests", "packaging")
MAX_LINES = 600
TEXT = {".py", ".md", ".toml", ".sh", ".svg", ".desktop", ".xml", ".html", ".css", ""}
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")


def sources() -> list[Path]:
    return sorted(p for folder in CODE for p in (ROOT / folder).rglob("*.py"))


def texts() -> list[Path]:
    top = [p for p in ROOT.iterdir() if p.is_file()]
    below = [p for folder in (*CODE, ".ci") for p in (ROOT / folder).rglob("*") if p.is_file()]
    return sorted(p for p in top + below if p.suffix in TEXT and "__pycache__" not in p.parts)


@pytest.fixture(scope="module")
def pyproject() -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_module_says_what_it_is_for() -> None:
    silent = []
    for path in sources():
        if "tests" in path.relative_to(ROOT).parts:
            continue  # names of tests speak
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if tree.body and not ast.get_docstring(tree):
            silent.append(str(path.relative_to(ROOT)))
    assert not silent


def test_every_package_folder_has_a_docstring() -> None:
    folders = {p.parent for top in ("viewer", "widgets", "resources") for p in (ROOT / top).rglob("*.py")}
    assert len(folders) > 8
    for folder in folders:
        init = folder / "__init__.py"
        assert init.is_file(), f"{folder} has no __init__.py"
        assert ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))), f"{init} has no docstring"


def test_packaging_is_no_python_package() -> None:
    """It would shadow the library of that name."""
    assert not (ROOT / "packaging" / "__init__.py").exists()


def test_no_file_is_too_long_to_read() -> None:
    long = {str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text().splitlines())) > MAX_LINES}
    assert not long


def test_no_developer_paths_in_the_tree() -> None:
    suspicious = re.compile(r"(?<![\w.~])/(?:work|root|Users)/|/home/(?!you\b|user\b)\w")
    found = []
    for path in texts():
        if path == Path(__file__).resolve() or path.name.startswith(".git"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if suspicious.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found


def test_pins_and_entry_point(pyproject: dict[str, dict[str, object]]) -> None:
    project = pyproject["project"]
    assert project["requires-python"] == ">=3.11"
    dependencies = project["dependencies"]
    assert isinstance(dependencies, list)
    names = {re.split(r"[<>=!~\[ ]", d)[0].lower() for d in dependencies}
    assert not names & {"pytest", "orjson", "torch", "pandas"}
    (qt,) = [d for d in dependencies if d.startswith("PySide6")]
    assert "<6.12" in qt  # 6.12.0 aborts the process on Python 3.11
    assert project["scripts"] == {"rankscope": "viewer.app.cli:main"}


def test_imports_of_the_code_are_declared(pyproject: dict[str, dict[str, object]]) -> None:
    dependencies = pyproject["project"]["dependencies"]
    assert isinstance(dependencies, list)
    declared = {re.split(r"[<>=!~\[ ]", d)[0].lower().removesuffix("-essentials") for d in dependencies}
    declared = {"backports" if name == "backports.zstd" else name for name in declared}
    used = set()
    for path in sources():
        if path.parts[len(ROOT.parts)] not in ("viewer", "widgets", "resources"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                used.add(node.module.split(".")[0])
    foreign = {name.lower() for name in used - set(sys.stdlib_module_names)}
    foreign -= {"viewer", "widgets", "resources", "compression"}  # the last: in the standard library from 3.14 on
    assert foreign - {"llvmlite", "shiboken6"} == declared & foreign - {"llvmlite", "shiboken6"}
    assert foreign <= declared | {"llvmlite", "shiboken6"}


@pytest.mark.parametrize("module", ["viewer.app.cli", "viewer.app.demo.job"])
def test_loads_nothing_heavy(module: str) -> None:
    heavy = "{'PySide6', 'shiboken6', 'numba', 'pyarrow', 'pyqtgraph', 'numpy'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_readme_has_two_commands_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Two commands")[1].split("\n## ")[0]
    commands = re.findall(r"^ {4}\./(\S+)(?: demo)? +#", section, re.MULTILINE)
    assert commands == ["packaging/run.sh", "packaging/test.sh"]
    for command in commands:
        assert os.access(ROOT / command, os.X_OK)
        assert subprocess.run(["sh", "-n", str(ROOT / command)], check=False).returncode == 0
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert commands[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_readme_lists_the_commands_of_the_program() -> None:
    from viewer.app.cli import COMMANDS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ {4}rankscope ([a-z]+)\b", readme, re.MULTILINE))
    assert listed == set(COMMANDS)


def test_readme_keys_are_those_of_the_window() -> None:
    from viewer.app.key_table import all_keys

    there = all_keys()
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## Keys")[1].split("\n## ")[0]
    named = set(re.findall(r"`([^`]+)`", table))
    assert len(named) > 10
    assert {key.lower() for key in named} <= {key.lower() for key in there}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_documents_name_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(([\w./-]+)\)", text))
    named |= set(re.findall(r"`((?:viewer|widgets|resources|tests|packaging|\.ci)/[\w./*-]+)`", text))
    named = {name for name in named if not Path(name).name.startswith("your")}  # files to be written
    assert named
    missing = {name for name in named if "*" not in name and not (ROOT / name).exists()}
    missing |= {name for name in named if "*" in name and not list(ROOT.glob(name))}
    assert not missing


@pytest.mark.parametrize("path", sorted((ROOT / "resources").rglob("*.toml")), ids=lambda p: p.name)
def test_toml_resources_parse(path: Path) -> None:
    assert tomllib.loads(path.read_text(encoding="utf-8"))


def test_shipped_themes_load() -> None:
    from viewer.app.themes import NAMES, load_theme

    assert {p.stem for p in (ROOT / "resources" / "themes").glob("*.toml")} == set(NAMES)
    assert {name: load_theme(name).dark for name in NAMES} == {"light": False, "dark": True}


def test_shipped_rules_load() -> None:
    from viewer.store.rules import shipped_rules

    assert shipped_rules().paint("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL") == Paint.COMM


@pytest.mark.parametrize("path", sorted((ROOT / "resources").rglob("*.svg")), ids=lambda p: p.name)
def test_svg_resources_are_plain_pictures(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    assert root.get("viewBox")
    assert not [e for e in root.iter() if e.tag.endswith(("script", "foreignObject", "image"))]


def test_no_test_sleeps() -> None:
    """A program in a string, which a test starts in order to end it, may."""
    sleeping = []
    for path in (p for p in sources() if "tests" in p.parts and "bench" not in p.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            calls = isinstance(node, ast.Attribute) and ast.unparse(node) == "time.sleep"
            imports = isinstance(node, ast.ImportFrom) and node.module == "time" and "sleep" in ast.unparse(node)
            if calls or imports:
                sleeping.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert sleeping == []


def test_library_check_finds_nothing_missing_here() -> None:
    """The tests run with Qt, so its libraries are there; the check must agree."""
    script = ROOT / "packaging" / "missing_libraries.py"
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert run.stdout == ""


def test_library_check_names_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a linker report that lacks two libraries, one of them unknown to us."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("missing_libraries", ROOT / "packaging" / "missing_libraries.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\necho '	libEGL.so.1 => not found'\necho '	libQt6Core.so.6 => not found'\n")
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert module.missing_packages(tmp_path) == ["libegl1"]
    ldd.write_text("#!/bin/sh\necho '	libunheard-of.so.3 => not found'\n")
    assert "libxcb-cursor0" in module.missing_packages(tmp_path)
    assert not module.has_fonts((str(tmp_path),))
    (tmp_path / "a.TTF").write_bytes(b"")
    assert module.has_fonts((str(tmp_path),))
