"""The house keeps its rules: layers, names that are found, functions that can be called from memory."""

from __future__ import annotations

import ast
import collections
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import recall_theory

PACKAGE = Path(recall_theory.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
CONTRACT = {"simulate", "predict", "capacity", "phase", "forced_choice"}  # names that other people's code uses
MOST_ANY = {"theory": 60, "elsewhere": 250}


def test_the_lowest_versions_are_those_that_are_declared():
    declared = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    constraints = (Path(__file__).parent / "lowest-versions.txt").read_text()
    lowest = re.findall(r"^(\w+)==([\d.]+?)(?:\.0)*$", constraints, re.MULTILINE)
    assert lowest == [re.match(r"(\w+)>=([\d.]+?)(?:\.0)*(?:,|$)", requirement).groups() for requirement in declared]


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)]


def test_layers_hold_and_nothing_goes_in_circles():
    """The contracts of pyproject.toml."""
    done = subprocess.run([sys.executable, "-c", "from importlinter.cli import lint_imports_command; "
                           "lint_imports_command(['--no-cache'])"], cwd=PACKAGE.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_name_of_a_module_means_one_thing():
    """Two modules may share a name where one is the command of the other."""
    places = collections.defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py":
            places[path.stem].append(path.relative_to(PACKAGE).parts[0])
    shared = {name: at for name, at in places.items() if len(at) > 1}
    assert all(len(at) == 2 and "commands" in at for at in shared.values()), shared


def test_no_module_has_the_name_of_a_function_beside_it():
    for package in {path.parent for path in FILES}:
        beside = {path.stem for path in package.glob("*.py")}
        defined = {f.name for path in package.glob("*.py") for f in ast.parse(path.read_text(encoding="utf-8")).body
                   if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
        assert beside & defined <= CONTRACT, package


def test_a_call_needs_no_more_than_six_positions():
    wide = [(path.name, f.name) for path in FILES for f in functions(path)
            if len(f.args.posonlyargs + f.args.args) - ((f.args.args[:1] or [None])[0] is not None
                                                        and f.args.args[0].arg in ("self", "cls")) > 6]
    assert wide == []


def test_types_are_named():
    count = collections.Counter("theory" if "theory" in path.relative_to(PACKAGE).parts else "elsewhere"
                                for path in FILES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                                if isinstance(node, ast.Name) and node.id == "Any")
    assert all(count[place] <= most for place, most in MOST_ANY.items()), count
