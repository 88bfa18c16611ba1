"""Formulas of the registry as MathML, which browsers typeset without a library or a font from anywhere."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy
    from sympy.printing.mathml import MathMLPresentationPrinter

    from ..theory.formulas.registry import Formula

__all__ = ["formula_math", "math", "symbol_math"]

NOISE = "<msup><mrow><mo>(</mo><mtext>noise</mtext><mo>/</mo><mtext>signal</mtext><mo>)</mo></mrow><mn>2</mn></msup>"
FUNCTIONS = {"log": "ln", "loggamma": "ln Γ"}  # class of sympy -> how the field writes it


def math(expression: sympy.Basic, before: str = "") -> str:
    """A sympy expression as a <math> element; `before` is MathML that is to stand in front of it.

    >>> from sympy import Symbol, log
    >>> math(log(Symbol("L")))
    '<math><mrow><mi>ln</mi><mrow><mo>(</mo><mi>L</mi><mo>)</mo></mrow></mrow></math>'
    """
    return f"<math>{before}{_printer().doprint(expression)}</math>"


def formula_math(item: Formula, left: str = "", relation: str = "") -> str:
    """A registered formula with the symbols of the field, as `left relation expression` in a <math> element.

    `left` is a product of powers of declared symbols, such as "N^2 d^4", or "noise" for (noise/signal)^2. Raises
    `ValueError` for a formula without an expression.

    >>> from recall_theory.theory.formulas.registry import formulas
    >>> formula_math(formulas["law.attention.trigger_overlap"], "d", "≥")[:39]
    '<math><mrow><mi>d</mi></mrow><mo>≥</mo>'
    """
    if item.expr is None:
        raise ValueError(f"{item.name} has no expression: {item.regime}")
    before = ""
    if left:
        product = NOISE if left == "noise" else "<mo>&InvisibleTimes;</mo>".join(map(_power, left.split()))
        before = f"<mrow>{product}</mrow><mo>{relation}</mo>"
    return math(item.expr.xreplace({s: _typeset(a) for a, s in item.symbols.items()}), before)


def symbol_math(name: str) -> str:
    """A declared symbol in a <math> element.

    >>> symbol_math("kv")
    '<math><msub><mi>k</mi><mi>v</mi></msub></math>'
    """
    return math(_typeset(name))


def _power(factor: str) -> str:
    name, _, exponent = factor.partition("^")
    base = _printer().doprint(_typeset(name))
    return f"<msup>{base}<mn>{exponent}</mn></msup>" if exponent else str(base)


def _typeset(name: str) -> sympy.Symbol:
    """The symbol under the name that the printer makes letters, Greek ones and indices of."""
    import sympy

    from ..theory.formulas.registry import SYMBOLS

    return sympy.Symbol(SYMBOLS[name].latex.removeprefix("\\"))


@functools.cache
def _printer() -> MathMLPresentationPrinter:
    from sympy.printing.mathml import MathMLPresentationPrinter

    class Printer(MathMLPresentationPrinter):  # type: ignore[misc]
        def mathml_tag(self, e: sympy.Basic) -> str:
            return FUNCTIONS.get(type(e).__name__) or str(super().mathml_tag(e))

    return Printer()
