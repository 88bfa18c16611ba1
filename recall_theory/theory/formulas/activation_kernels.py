"""Closed forms of activations in sympy: Hermite coefficients and the kernel, where there are any.

Polynomials exactly, relu (arc-cosine kernel) and erf (arc-sine kernel); None for everything else, which
`hermite_coefficients` and `kernel` of `recall_theory.activations` compute by quadrature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...activations import Activation

if TYPE_CHECKING:
    import sympy


def symbolic_hermite(phi: Activation, n: int) -> sympy.Expr | None:
    """c_n(s) = E phi(sqrt(s) u) He_n(u)/sqrt(n!) in the symbol s, or None without a closed form.

    >>> from recall_theory.activations import activation
    >>> symbolic_hermite(activation("quadratic"), 2)
    sqrt(2)*s
    """
    import sympy

    s = sympy.Symbol("s", positive=True)
    norm = sympy.sqrt(sympy.factorial(n))
    if phi.degree is not None:
        u = sympy.Symbol("u", real=True)
        power = sympy.Poly(phi.expr.subs(sympy.Symbol("x", real=True), sympy.sqrt(s) * u) * sympy.hermite_prob(n, u), u)
        # E u^k is (k - 1)!! for even k, else 0
        moments = sum(c * sympy.factorial2(k - 1) for (k,), c in power.terms() if k % 2 == 0)
        return sympy.simplify(sympy.expand(moments) / norm)
    if phi.name == "relu":
        # relu'' is a delta at 0: E relu(u) He_n(u) = He_{n-2}(0)/sqrt(2 pi)
        if n == 1:
            return sympy.sqrt(s) / 2
        at_zero = sympy.Integer(1) if n == 0 else sympy.hermite_prob(n - 2, 0)
        return sympy.sqrt(s) * at_zero / sympy.sqrt(2 * sympy.pi) / norm
    if phi.name == "erf":
        # erf' is a Gaussian: under it He_{n-1} averages as a moment of variance 1/(1 + 2 s)
        if n % 2 == 0:
            return sympy.Integer(0)
        even = (-2 * s / (1 + 2 * s)) ** sympy.Rational(n - 1, 2) * sympy.factorial2(n - 2)
        return 2 * sympy.sqrt(s / (sympy.pi * (1 + 2 * s))) * even / norm
    return None


def symbolic_kernel(phi: Activation) -> sympy.Expr | None:
    """kappa(s1, s2, rho) in the symbols s1, s2, rho, or None without a closed form.

    >>> from recall_theory.activations import activation
    >>> symbolic_kernel(activation("quadratic"))
    2*rho**2 + (s1 - 1)*(s2 - 1)
    """
    import sympy

    s1, s2 = sympy.symbols("s1 s2", positive=True)
    rho = sympy.Symbol("rho", real=True)
    if phi.name == "relu":
        cos = rho / sympy.sqrt(s1 * s2)
        return (sympy.sqrt(s1 * s2 - rho**2) + rho * (sympy.pi - sympy.acos(cos))) / (2 * sympy.pi)
    if phi.name == "erf":
        return 2 / sympy.pi * sympy.asin(2 * rho / sympy.sqrt((1 + 2 * s1) * (1 + 2 * s2)))
    if phi.degree is None:
        return None
    s = sympy.Symbol("s", positive=True)
    total = sympy.Integer(0)
    for n in range(phi.degree + 1):
        # c_n is s^(n/2) times a polynomial: the roots of s1 and s2 cancel against those of r^n
        part = sympy.expand(symbolic_hermite(phi, n) * sympy.sqrt(s) ** -n)
        total += sympy.factor(part.subs(s, s1) * part.subs(s, s2)) * rho**n
    return total
