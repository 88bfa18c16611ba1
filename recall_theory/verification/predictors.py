"""Anyone's formula: what a predictor may return, predictors loaded by name, and where a formula fails.

A predictor is a function of a `Setting`. It returns a number, the predicted recall, or an object or a mapping with one
or more of attention, recall and accuracy; all are probabilities. A `margin` beside them is the error that it admits.

It comes from a module, or from a file of expressions such as sympy prints them, of which nothing is ever run. That has
one definition a line, in terms of V, L, d, N, m and of what stands above it; # begins a comment:

    noise = V*log(V)/d**2 + V**2/(N*d)       # any name
    recall = P(1/sqrt(noise), V)             # attention, recall, accuracy: what is predicted

A file of one expression without a name predicts recall.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import math
import os
import pkgutil
import re
import runpy
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.special import lambertw

from ..expressions import Language, evaluate, parse
from ..numerics.forced_choice import forced_choice, forced_choice_inverse
from ..numerics.formatting import number as in_words
from ..numerics.formatting import plural
from ..settings import OBSERVABLES, SIZES, Setting, SettingError
from ..theory.phase import binding
from .problem import P, Problem, S
from .results import Cell, Comparison, Verification
from .verdicts import DISAGREE

LONGEST_FILE = 20_000  # characters
CONSTANTS = {"pi": math.pi, "E": math.e, "e": math.e}
ANY = 1000  # arguments
# Of a file of expressions: by name the function, and how few and how many arguments it takes.
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    **{name: (getattr(math, name), 1, 1) for name in ("exp", "sqrt", "erf", "erfc", "tanh", "atan", "sin", "cos",
                                                      "sinh", "cosh", "floor", "gamma")},
    "log": (math.log, 1, 2), "Abs": (abs, 1, 1), "abs": (abs, 1, 1), "ceiling": (math.ceil, 1, 1),
    "loggamma": (math.lgamma, 1, 1), "Min": (min, 2, ANY), "Max": (max, 2, ANY), "min": (min, 2, ANY),
    "max": (max, 2, ANY), "Phi": (lambda x: math.erfc(-x / math.sqrt(2)) / 2, 1, 1),
    "LambertW": (lambda x: float(lambertw(x).real), 1, 1), "P": (forced_choice, 2, 2),
    "forced_choice": (forced_choice, 2, 2),
}


def _refused(*parts: str) -> SettingError:
    return SettingError("predictor", ": ".join(parts))


@contextlib.contextmanager
def _errors_named(before: str, after: str = "") -> Iterator[None]:
    """What someone else's code raises in the block is refused in one line; what it prints is no part of the answer."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except SettingError:
        raise
    except (Exception, SystemExit) as error:  # an exit with code 0 would read as "agree"
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise _refused(f"{before} {said}{after}") from None


def claim_of(predictor: Callable[[S], object], setting: S,
             problem: Problem[S, P]) -> tuple[dict[str, float], float | None]:
    """What a predictor says of a setting, checked: values by observable, and its margin where it declares one.

    Raises `SettingError` with one line where the predictor raises, or returns no probability; its own
    `SettingError`s pass.
    """
    where = f" (at {problem.describe(setting)})"
    with _errors_named("the predictor raised", where):
        returned = predictor(setting)

    names = (*problem.observables, "margin")
    if isinstance(returned, Mapping):
        given = dict(returned)
    else:
        given = {name: getattr(returned, name) for name in names if hasattr(returned, name)} or {"recall": returned}
    if given.get("margin", 0) is None:
        del given["margin"]

    claimed = {}
    for name, value in given.items():
        if name not in names:
            raise _refused(f"the predictor returned the key {str(name)[:40]!r}; known are {', '.join(names)}{where}")
        claimed[name] = _number(value)
        if not 0 <= claimed[name] <= 1 or (name == "margin" and claimed[name] in (0, 1)):
            allowed = "above 0 and below 1" if name == "margin" else "from 0 to 1"
            shown = " ".join(repr(value).split())[:60]
            raise _refused(f"the predictor says {name} = {shown}, which is not a number {allowed}{where}")
    margin = claimed.pop("margin", None)
    if not claimed:
        raise _refused(f"the predictor returned none of {', '.join(problem.observables)}{where}")
    return {o: claimed[o] for o in problem.observables if o in claimed}, margin


def _number(value: Any) -> float:
    """The float that a number of any kind (numpy, sympy, mpmath) stands for; NaN for anything else."""
    if isinstance(value, bool | str | bytes):
        return math.nan
    try:
        return float(value)
    except Exception:  # None, an array, an expression with free symbols, a complex number
        return math.nan


def load(name: str) -> Callable[[Setting], object]:
    """The predictor `module:function`, `path/to/file.py:function`, or a file of expressions.

    A module is looked for where Python looks, and in the working directory first. Raises `SettingError` with one line
    where there is no such thing, or where importing it fails.
    """
    if os.path.isfile(name):
        try:
            return formula_of(Path(name).read_text("utf-8-sig"), name)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise _refused(f"predictor={name!r} can't be read: {reason}") from None
    module, _, function = name.rpartition(":")
    if not (module and function):
        raise _refused(f"predictor={name!r} is neither module:function nor a file of expressions")
    with _errors_named(f"predictor={name!r} can't be loaded:"):
        if module.endswith(".py"):
            predictor = runpy.run_path(module, run_name=Path(module).stem)[function]
        else:
            if str(Path.cwd()) not in sys.path:
                sys.path.insert(0, str(Path.cwd()))
            predictor = pkgutil.resolve_name(name)
    if not callable(predictor):
        raise _refused(f"predictor={name!r} is not a function")
    return cast("Callable[[Setting], object]", predictor)


def formula_of(text: str, name: str) -> Callable[[Setting], dict[str, float]]:
    """The predictor that the text of a file of expressions defines; `name` is the file's, for errors.

    Raises `SettingError` with one line that names the file, the line and what is wrong.

    >>> law = formula_of("recall = 1 - exp(-N/V)", "law.txt")
    >>> law(Setting(V=64, L=4, d=64, N=64))
    {'recall': 0.6321205588285577}
    """
    if len(text) > LONGEST_FILE:
        raise _refused(f"predictor {name}: it has {len(text)} characters, and {LONGEST_FILE} are the most")
    definitions = _definitions(text, name)
    predicted = [defined for defined in definitions if defined in OBSERVABLES]
    if not predicted:
        raise _refused(f"predictor {name}: it defines none of {', '.join(OBSERVABLES)}")
    functions = {called: function for called, (function, _, _) in FUNCTIONS.items()}

    def predictor(setting: Setting) -> dict[str, float]:
        at = f"V={setting.V}, L={setting.L}, d={setting.d}, N={setting.N}"
        sizes = {size: getattr(setting, size) for size in SIZES}
        values = CONSTANTS | {size: float(value) for size, value in sizes.items() if value is not None}
        for defined, (where, tree) in definitions.items():
            try:
                values[defined] = float(evaluate(tree, values, functions))
            except KeyError:
                raise _refused(where, f"it uses m, and the setting {at} has no MLP") from None
            except (ArithmeticError, ValueError, TypeError):
                raise _refused(where, f"it has no real value at {at}") from None
        return {o: values[o] for o in predicted}

    return predictor


def _definitions(text: str, name: str) -> dict[str, tuple[str, ast.expr]]:
    """By the name that a line defines, which line that is, for errors, and the tree of its expression."""
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(number, line) for number, line in lines if line]
    definitions: dict[str, tuple[str, ast.expr]] = {}
    for number, line in lines:
        where = f"predictor {name}, line {number}"
        match = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", line, re.ASCII | re.DOTALL)
        if match is None and len(lines) > 1:
            raise _refused(where, "give it a name: recall = ...")
        defined, expression = match.groups() if match else ("recall", line)
        known = (*SIZES, *CONSTANTS, *definitions)
        if defined in known or defined in FUNCTIONS:
            raise _refused(where, f"the name {defined!r} is taken")
        language = Language(
            names=known, functions={called: (fewest, most) for called, (_, fewest, most) in FUNCTIONS.items()},
            refused=functools.partial(_refused, where), example="an expression, such as recall = 1 - exp(-N/V)",
            hint=f"there are {', '.join(SIZES)}, what stands above, and the functions {', '.join(FUNCTIONS)}")
        definitions[defined] = where, parse(expression, language)
    return definitions


# --- where a formula fails ---------------------------------------------------------------------------------
#
# Attention and recall are turned into noise: observed and predicted probabilities p into (noise/signal)^2 = 1/s^2 with
# P(s, K) = p, K the number of competitors' places (L, or V). On that scale contributions add, so that the difference is
# what the formula leaves out (or, where it is negative, has too much of), and its slopes over the sizes are exponents.

MOST_CERTAIN = 0.999  # a probability beyond it says little of its noise
SPARE_CELLS = 3  # beyond the number of unknowns, so that a fit means something


@dataclasses.dataclass(frozen=True)
class Regime:
    """How a formula does on one observable in the cells that the same thing limits ("recall: interference")."""

    name: str
    observable: str
    cells: int
    disagree: int
    mean_difference: float
    largest: float


@dataclasses.dataclass(frozen=True)
class Missing:
    """What a formula lacks (`sign` +1) or has too much of (-1) in one observable, over `cells` cells where it shows.

    `exponents` are the slopes of log |missing noise| over the logarithms of the sizes, empty where cells are too few.
    `term` is the theory's term that is nearest to proportional to it, `ratio` how many times that term it typically is.
    """

    observable: str
    sign: int
    cells: int
    exponents: dict[str, float]
    term: str | None
    ratio: float | None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The residuals of a verification, explained; its dictionary is in the JSON of `verify --predictor`."""

    regimes: tuple[Regime, ...]
    missing: tuple[Missing, ...]


def explain(verification: Verification) -> Explanation:
    """Where and how the formula of a verification fails: in which regime, and what its noise lacks.

    >>> from recall_theory import Setting, verify
    >>> done = verify([Setting(V=32, L=4, d=64, N=1024)], seeds=8, seed=1, predictor=lambda s: 0.1)
    >>> explain(done).regimes[0].observable
    'recall'
    """
    groups: defaultdict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for cell, observable, comparison in verification.comparisons:
        name = "the theory says nothing" if cell.theory is None else binding(cell.theory)
        groups[name, observable].append(comparison)
    regimes = []
    for (name, observable), group in groups.items():
        differences = [c.difference for c in group]
        regimes.append(Regime(name, observable, len(group), sum(c.verdict == DISAGREE for c in group),
                              float(np.mean(differences)), max(differences, key=abs)))
    missing = (_missing(verification.cells, observable) for observable in ("attention", "recall"))
    return Explanation(tuple(regimes), tuple(m for m in missing if m is not None))


def paragraph(explanation: Explanation) -> str:
    """The explanation in a few sentences."""
    wrong = [r for r in explanation.regimes if r.disagree]
    if not wrong:
        return "In no cell does the formula disagree with the simulation."
    worst = max(wrong, key=lambda r: abs(r.mean_difference))
    direction = "low" if worst.mean_difference > 0 else "high"
    place = worst.name.replace(": ", " is limited by ")
    off = in_words(abs(worst.mean_difference), 2)
    sentences = [f"The formula is furthest from the simulation where {place}: there the {worst.observable} that it "
                 f"predicts is on average {off} too {direction}, and it disagrees in {worst.disagree} of "
                 f"{plural(worst.cells, 'cell')}."]
    for m in explanation.missing:
        much, large, amount = ("little", "small", "missing") if m.sign > 0 else ("much", "large", "surplus")
        among = "label" if m.observable == "recall" else "position"
        sentences.append(f"Its {m.observable} is that of too {much} noise in the choice of a {among}: (noise/signal)^2 "
                         f"is too {large} in {plural(m.cells, 'cell')}.")
        if m.exponents:
            powers = " ".join(f"{size}^{x:.1f}" for size, x in m.exponents.items())
            sentences.append(f"Over these cells the {amount} noise varies roughly as {powers}.")
        if m.term:
            sentences.append(f"Of the noise terms in the library's own theory '{m.term}' varies most like it, and the "
                             f"{amount} noise is about {m.ratio:.2g} times that term.")
    return " ".join(sentences)


def noise(p: float, K: int) -> float:
    """(noise/signal)^2 at which one of K is picked rightly with probability p; NaN at and near chance, and near 1."""
    if K < 2 or not 1.5 / K < p < MOST_CERTAIN:
        return math.nan
    return float(forced_choice_inverse(p, K)) ** -2


def _missing(cells: Sequence[Cell], observable: str) -> Missing | None:
    """The missing noise over the cells in which the difference is beyond doubt and its size can be told."""
    gaps: list[tuple[Cell, float]] = []
    for cell in cells:
        c = cell.comparisons.get(observable)
        if c is not None and (c.low > 0 or c.high < 0):
            K = cell.setting.V if observable == "recall" else cell.setting.L
            gaps.append((cell, noise(c.observed.mean, K) - noise(c.predicted, K)))
    sign = 1 if sum(np.sign(gap) for _, gap in gaps if math.isfinite(gap)) >= 0 else -1
    shown = [cell for cell, gap in gaps if gap * sign > 0]  # no NaN
    if not shown:
        return None
    log_gap = np.log([gap * sign for _, gap in gaps if gap * sign > 0])

    sizes = {size: [getattr(cell.setting, size) for cell in shown] for size in SIZES}
    varied = {size: np.log(values) for size, values in sizes.items() if None not in values and len(set(values)) > 1}
    design = np.column_stack([np.ones(len(shown)), *varied.values()])
    slopes, _, rank, _ = np.linalg.lstsq(design, log_gap, rcond=None)
    determined = rank == design.shape[1] and len(shown) >= rank + SPARE_CELLS
    exponents = dict(zip(varied, slopes[1:].tolist(), strict=True)) if determined else {}

    budgets = [{} if cell.theory is None else cell.theory.terms.get(observable, {}) for cell in shown]
    log_ratios = {name: log_gap - np.log([budget[name] for budget in budgets]) for name in budgets[0]
                  if len(shown) >= SPARE_CELLS and all(budget.get(name, 0) > 0 for budget in budgets)}
    term = min(log_ratios, key=lambda name: float(log_ratios[name].std()), default=None)
    ratio = None if term is None else float(np.exp(log_ratios[term].mean()))
    return Missing(observable, sign, len(shown), exponents, term, ratio)
