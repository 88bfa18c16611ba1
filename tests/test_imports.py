"""Who imports what, what `predict` may touch, and where the numbers in the theory come from."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from support import in_new_process

import recall_theory
from recall_theory import predict_many
from recall_theory.settings import PARAMETERS
from recall_theory.verification.simulated_alternatives import beyond_orthogonal

PACKAGE = Path(recall_theory.__file__).parent
THEORY = sorted((PACKAGE / "theory").rglob("*.py"))


def test_theory_imports_no_source_of_chance():
    """In any form: `import random`, `from numpy import random`, `from scipy import stats`, `np.random`."""
    chance = re.compile(r"^\s*(import|from) .*\b(random|secrets|stats)\b|\bnp\.random\b", re.MULTILINE)
    for path in THEORY:
        found = chance.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: {found[0]}"


@pytest.mark.parametrize("code, allowed", [
    ("import recall_theory", set()), ("from recall_theory.cli import main; main(['predict', '--help'])", {"click"})])
def test_the_package_and_the_help_of_its_commands_are_light(code, allowed):
    heavy = {"numpy", "scipy", "sympy", "mpmath", "rich", "click", "cloudpickle", "matplotlib"} - allowed
    assert in_new_process(f"{code}\nimport sys\nprint({heavy!r} & set(sys.modules))").endswith("set()")


def test_numba_waits_for_a_prediction_or_a_simulation():
    commands = ("simulate --help", "formulas recall.interference", "bounds --V 256 --L 16 --d 64 --N 16384")
    loaded = in_new_process("import sys\nfrom recall_theory.cli import main\n"
                            f"for line in {commands}:\n    main(line.split())\nprint('numba' in sys.modules)")
    assert loaded.endswith("False")


@pytest.mark.parametrize("name", recall_theory.__all__)
def test_a_public_name_is_that_of_its_object(name):
    assert getattr(recall_theory, name).__name__ == name
    assert name in dir(recall_theory)


@pytest.mark.parametrize("before", [
    "import recall_theory.simulate.run, recall_theory.verification.engine, recall_theory.numerics.forced_choice",
    "from recall_theory import Observation, Verification, predict",
    "from recall_theory import *",
    "from recall_theory.theory.predict import predict",
    "import recall_theory.theory.formulas.leading_laws, recall_theory.theory.predict",
    "pass",
])
def test_functions_are_not_shadowed_by_modules_of_their_names(before):
    """Whatever was imported first: `simulate`, `verify` and `forced_choice` are functions."""
    kinds = in_new_process(
        f"{before}\n"
        "import recall_theory\n"
        "from recall_theory import simulate, verify\n"
        "from recall_theory.theory import forced_choice\n"
        "import recall_theory.simulate.run\n"
        "print({type(x).__name__ for x in (simulate, verify, forced_choice, recall_theory.simulate)})")
    assert kinds == "{'function'}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = recall_theory.no_such_name


PREDICTING = """
import os, random, secrets, sys
import numpy, scipy.special, numpy.random
from recall_theory import Setting, capacity, predict, predict_many
predict(Setting(V=64, L=8, d=32, N=512))  # numba looks for kept machine code when a function is first called

def refuse(name):
    def raiser(*args, **kwargs):
        raise AssertionError(f"{name} was called")
    return raiser

for module in (numpy.random, random, secrets):
    for name in dir(module):
        if not name.startswith("_") and callable(getattr(module, name)):
            setattr(module, name, refuse(f"{module.__name__}.{name}"))
os.urandom = refuse("os.urandom")

opened = []
def watch(event, args):
    if event == "open":
        opened.append(str(args[0]))
sys.addaudithook(watch)

for embedding, V, d in (("gaussian", 64, 32), ("sphere", 64, 32), ("orthogonal", 32, 32),
                        ("orthogonal", 32, 40)):
    for trigger_in_value in (True, False):
        for L in (1, 8):
            predict(Setting(V=V, L=L, d=d, N=512, embedding=embedding, trigger_in_value=trigger_in_value))
predict_many(V=[64, 128], L=8, d=32, N=4096)
capacity(d=32, L=8, ratios=(16, None))

code = (".py", ".pyc", ".so", ".pyd", ".dylib", ".pth")
print([p for p in opened if not p.endswith(code) and ".pyc." not in p])
slow = {"sympy", "scipy.optimize", "scipy.interpolate", "scipy.stats"}  # to import
print([m for m in sys.modules if m.startswith("recall_theory.simulate") or m in slow])
"""


def test_predict_draws_nothing_reads_nothing_and_imports_nothing_slow():
    files, modules = in_new_process(PREDICTING).splitlines()
    assert files == "[]"
    assert modules == "[]"


PUBLIC = [getattr(recall_theory, name) for name in recall_theory.__all__]
FUNCTIONS = [thing for thing in PUBLIC if inspect.isfunction(thing)]


@pytest.mark.parametrize("function", [*FUNCTIONS, beyond_orthogonal], ids=lambda f: f.__name__)
def test_functions_are_called_alike_and_say_how(function):
    parameters = inspect.signature(function).parameters
    sizes = [name for name in parameters if name in PARAMETERS]
    assert sizes == [name for name in PARAMETERS if name in sizes]
    # Arrays of sizes go by position too.
    assert function is predict_many or all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in sizes)
    assert ">>> " in function.__doc__ and f"{function.__name__}(" in function.__doc__
    assert " at 0x" not in str(inspect.signature(function))


def test_predicting_twice_gives_the_same_bits():
    setting = recall_theory.Setting(V=64, L=8, d=32, N=512)
    assert recall_theory.predict(setting) == recall_theory.predict(setting)
