"""Where the length matters, in exponents: with N = V^nu, d = V^delta, L = V^c and m = V^mu, what succeeds as V grows.

A sum of powers is of the order of its largest: its exponent is the maximum of linear functions of (c, delta, nu, mu),
a tropical polynomial. sympy expands the lead and the noise of step two, and the noise of recall, into their powers,
exactly; logarithms and constants are no powers. Attention succeeds where twice the lead's exponent exceeds the noise's,
recall where no term of (noise/signal)^2 grows.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SettingError
from ..numerics.formatting import SCHEMA_VERSION
from .formulas import leading_laws as laws
from .formulas import lower_bounds, recall_formulas, step_two
from .formulas.step_two import StepTwo

if TYPE_CHECKING:
    import sympy

Form = tuple[Fraction, ...]  # coefficients of 1, c, delta, nu, mu

NAMES = ("", "c", "delta", "nu", "mu")
FAR = Fraction(10**6)  # beyond any exponent
LARGEST_DELTA = {None: Fraction(2), "relu": Fraction(1), "tanh": Fraction(1)}  # with an MLP the forms are of d <= V
STEP = Fraction(1, 24)  # of delta, along the edge: its corners are farther apart

# Powers of sqrt(L) that the moments of step two go with, the inputs of a neuron having the power s ~ 1/L (L <= V): of a
# kinked activation phi(sqrt(s) x) = sqrt(s) phi(x); of an odd smooth one even moments vanish, and are left out; else by
# Taylor's series.
MOMENTS = {
    "relu": {"A": 0, "B": 0, "A2": 2, "A4": 4, "C0": 2, "C1": 2, "h0": -1, "h1": 0, "h2": 1, "h3": 1,
             "h4": 3, "h5": 3, "K1": 0, "A0": -2, "P0": -2, "P2": 0},
    "tanh": {"A": 0, "A3": 0, "D1": 0, "h1": 0, "K1": 0, "h6": 0, "P0": -2, "P2": 0},
}
SHARE = {None: False, "relu": True, "tanh": False}  # whether all values share something without the trigger


@dataclasses.dataclass(frozen=True)
class Condition:
    """`margin` is above 0 where the condition holds: `cause` is the noise, or the bound, that it is of."""

    cause: str
    margin: Form

    def __str__(self) -> str:
        """As an inequality of whole numbers: "2 nu + 3 delta > 4 c + 1"."""
        scale = np.lcm.reduce([x.denominator for x in self.margin])
        whole = [int(x * scale) for x in self.margin]
        divisor = max(1, int(np.gcd.reduce(whole)))
        sides: tuple[list[str], list[str]] = ([], [])
        for i in (3, 4, 2, 1, 0):
            if x := whole[i] // divisor:
                sides[x < 0].append(f"{'' if abs(x) == 1 and i else abs(x)} {NAMES[i]}".strip())
        return " > ".join(" + ".join(side) or "0" for side in sides)


@dataclasses.dataclass(frozen=True)
class Piece:
    """Along the edge of recall from delta = `start` to `end` length binds at c = `at_0` + `slope` delta."""

    start: Fraction
    end: Fraction
    at_0: Fraction
    slope: Fraction
    cause: str

    def at(self, delta: Fraction) -> Fraction:
        """c at that delta."""
        return self.at_0 + self.slope * delta

    def __str__(self) -> str:
        """As in "3/4 + 1/4 delta"."""
        parts = [str(self.at_0)] if self.at_0 else []
        if self.slope:
            parts.append("delta" if self.slope == 1 else f"{self.slope} delta")
        return " + ".join(parts) or "0"


@dataclasses.dataclass(frozen=True)
class Exponents:
    """The tropical forms of a model: the lead, the noise of attention by cause, the conditions of recall, and `bounds`:
    what no learner can do without, and, last, none that sees the first gradient in noise of its own, at d <= V."""

    activation: str | None
    trigger_in_value: bool
    lead: tuple[Form, ...]
    noise: tuple[tuple[str, Form], ...]
    recall: tuple[Condition, ...]
    bounds: tuple[Condition, ...]

    def recalls(self, nu: Fraction, delta: Fraction, mu: Fraction = Fraction(1)) -> bool:
        """Whether recall at right attention succeeds, or is at its edge."""
        return all(value(condition.margin, Fraction(0), delta, nu, mu) >= 0 for condition in self.recall)

    def edge(self, delta: Fraction) -> Fraction:
        """The least nu at which recall succeeds."""
        return max(-value(x.margin, Fraction(0), delta, Fraction(0), Fraction(1)) / x.margin[3]
                   for x in self.recall if x.margin[3])

    @functools.cached_property
    def _margins(self) -> tuple[tuple[str, tuple[Form, ...]], ...]:
        """By how much twice each form of the lead exceeds each form of the noise, by the noise's cause."""
        return tuple((cause, tuple(tuple(2 * a - b for a, b in zip(lead, noise, strict=True)) for lead in self.lead))
                     for cause, noise in self.noise)

    def longest(self, nu: Fraction, delta: Fraction, mu: Fraction = Fraction(1)) -> tuple[Fraction, Condition]:
        """The least c at which attention fails, and the condition that fails there.

        A noise is too much where it exceeds twice every form of the lead: from the last of the places at which it
        comes to exceed one of them, up to the first at which it ceases to.
        """
        found: list[tuple[Fraction, Condition]] = []
        for cause, margins in self._margins:
            start, end, condition = Fraction(0), None, None
            for margin in margins:
                rest, slope = value(margin, Fraction(0), delta, nu, mu), margin[1]
                if slope < 0 and (condition is None or -rest / slope > start):
                    start, condition = max(Fraction(0), -rest / slope), Condition(cause, margin)
                elif slope > 0 or (slope == 0 and rest > 0):
                    end = min(end or FAR, -rest / slope if slope else Fraction(0))
            if condition is not None and (end is None or start < end):
                found.append((start, condition))
        return min(found, key=lambda pair: pair[0])

    def along_edge(self) -> tuple[Piece, ...]:
        """Where length binds at the edge of recall, from the least delta on, at mu = 1."""
        least = max(-x.margin[0] / x.margin[2] for x in self.recall if x.margin[2] and not any(x.margin[3:]))
        steps = int((LARGEST_DELTA[self.activation] - least) / STEP)
        points = [(delta, *self.longest(self.edge(delta), delta)) for k in range(steps + 1)
                  for delta in [least + k * STEP]]
        pieces: list[Piece] = []
        for (x0, y0, _), (x1, y1, condition) in itertools.pairwise(points):
            slope = (y1 - y0) / (x1 - x0)
            if not pieces or (slope, y0 - slope * x0) != (pieces[-1].slope, pieces[-1].at_0):
                pieces.append(Piece(x0, x1, y0 - slope * x0, slope, condition.cause))
            pieces[-1] = dataclasses.replace(pieces[-1], end=x1)
        return tuple(pieces)

    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of attention that bind somewhere where recall succeeds, up to nu = 2 and mu = 1."""
        steps = [Fraction(k, 12) for k in range(6, 25)]
        met = [self.longest(nu, delta) for nu in steps for delta in steps
               if delta <= LARGEST_DELTA[self.activation] and self.recalls(nu, delta)]
        found = {condition for c, condition in met if self.activation is None or c <= 1}  # their moments are of L <= V
        return tuple(sorted(found, key=lambda x: (x.cause, str(x))))

    def to_dict(self) -> dict[str, Any]:
        """What `recall-theory phase --exponents --json` prints; fractions as text."""
        def rows(conditions: Iterable[Condition]) -> list[dict[str, Any]]:
            return [{"cause": x.cause, "condition": str(x),
                     "margin": {name or "1": str(a) for name, a in zip(NAMES, x.margin, strict=True)}}
                    for x in conditions]

        return {"schema_version": SCHEMA_VERSION, "activation": self.activation,
                "trigger_in_value": self.trigger_in_value, "recall": rows(self.recall),
                "attention": rows(self.conditions()), "bounds": rows(self.bounds),
                "edge": [{"delta": [str(x.start), str(x.end)], "nu": [str(self.edge(x.start)), str(self.edge(x.end))],
                          "c": str(x), "c_at": [str(x.at(x.start)), str(x.at(x.end))], "cause": x.cause}
                         for x in self.along_edge()]}


def value(form: Form, c: Fraction, delta: Fraction, nu: Fraction, mu: Fraction) -> Fraction:
    """A form at exponents."""
    return form[0] + form[1] * c + form[2] * delta + form[3] * nu + form[4] * mu


@functools.cache
def exponents(activation: str | None = None, trigger_in_value: bool = True) -> Exponents:
    """The tropical forms of the model, without an MLP where `activation` is None; relu and tanh are those of kinked and
    of odd smooth activations. Raises `SettingError` for another activation.

    >>> found = exponents(None, False)
    >>> c, condition = found.longest(Fraction(1), Fraction(1, 2))
    >>> str(c), str(condition)
    ('5/8', '2 nu + 3 delta > 4 c + 1')
    """
    import sympy

    if activation not in SHARE:
        raise SettingError("activation", f"activation={activation!r}: exponents are known of relu and tanh")
    V, root, d, N, m = sympy.symbols("V root d N m", positive=True)  # root = sqrt(L)
    one = sympy.Integer(1)
    more: dict[str, Any] = {} if activation is None else {"m": m} | {
        name: root**power / (2 + place) for place, (name, power) in enumerate(MOMENTS[activation].items())}
    p = StepTwo(V, root**2, d, N, e=one * int(trigger_in_value), kappa=one, tau=one, b0=one, Q=one, **more)
    symbols = (V, root, d, N, m)
    noise = [(cause, form) for cause, pair in step_two.parts(p).items()
             for seen in pair for form in _powers(seen, symbols)]
    noise += [("trigger overlap", form) for form in _powers(step_two.lead(p)**2 / d, symbols)]
    forms = {form for _, form in noise}
    highest = {form for form in forms if not any(_below(form, other) for other in forms)}
    noise = [(cause, form) for cause, form in dict.fromkeys(noise) if form in highest]
    return Exponents(activation, trigger_in_value, tuple(_powers(step_two.lead(p), symbols)), tuple(noise),
                     _recall(activation, trigger_in_value, symbols), _bounds(activation, symbols))


def _below(form: Form, other: Form) -> bool:
    """Whether a form is less than another wherever delta >= 1/2, nu >= 1, mu >= 0 and c >= 0."""
    more = [b - a for a, b in zip(form, other, strict=True)]
    return 2 * more[0] + more[2] + 2 * more[3] > 0 and min(more[1:]) >= 0


def _recall(activation: str | None, trigger_in_value: bool, symbols: Sequence[sympy.Symbol]) -> tuple[Condition, ...]:
    """The conditions of recall, of the formulas of the noise and of the leading laws."""
    V, _, d, N, m = symbols
    e = int(trigger_in_value)
    terms = {"coverage": laws.recall_coverage(V) / N, "interference": recall_formulas.interference(V, d, e, 1)}
    if e or SHARE[activation]:
        terms["mean bias"] = recall_formulas.mean_bias(V, d, N, 1, 1)
    if activation is not None:
        terms["MLP noise"] = laws.law_recall_mlp_noise(V, 1, 0, 1) / (m * d)
    return _conditions(terms, symbols)


def _bounds(activation: str | None, symbols: Sequence[sympy.Symbol]) -> tuple[Condition, ...]:
    """The bounds, of the formulas for the samples, the bits and the noisy gradient that all V facts take."""
    V, root, d, N, m = symbols
    short = lower_bounds.permutation_bits(V) / (d * (d if activation is None else m))  # of bits a number
    return _conditions({"coverage, any learner": laws.recall_coverage(V) / N,
                        "bits, any model of so many numbers": short,
                        "information, one noisy first gradient": short / lower_bounds.gradient_snr(V, root**2, N)},
                       symbols)


def _conditions(terms: dict[str, sympy.Expr], symbols: Sequence[sympy.Symbol]) -> tuple[Condition, ...]:
    """That each term, by cause, does not grow."""
    return tuple(Condition(cause, tuple(-x for x in form))
                 for cause, term in terms.items() for form in _powers(term, symbols))


def _powers(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> list[Form]:
    """The exponents of the powers in a sum, none of which another exceeds wherever delta >= 1/2, nu >= 1, mu >= 0 and
    c >= 0. Terms that cancel are gone; what is subtracted is smaller than what is left."""
    import sympy

    V, field = symbols[0], sympy.QQ.frac_field(*symbols)

    def over_sum(x: sympy.Basic) -> bool:
        return x.is_Pow and x.exp == -1 and (x.base.is_Add or x.base.has(sympy.Min))

    def leading(x: sympy.Basic) -> sympy.Expr:
        """The powers of Q of `given_counts` are 1 + O(1/V) at Q = 1; moments of the tokens' covariance are led by
        their power of V, as d <= V with an MLP."""
        if x.base.has(sympy.Min):
            return sympy.Integer(1)
        ratio = field.from_sympy(x.base)
        return V**(ratio.denom.degree() - ratio.numer.degree())

    plain = sympy.sympify(expression).replace(over_sum, leading)
    plain = plain.replace(sympy.loggamma, lambda x: x).replace(sympy.log, lambda x: sympy.Integer(1))
    if plain == 0:
        return []
    element = field.from_sympy(plain)
    (below, _), = element.denom.terms()  # a power: the sum is a Laurent polynomial
    powers = np.array([[a - b for a, b in zip(term, below, strict=True)] for term, x in element.numer.terms() if x > 0])
    V, root, d, N, m = powers.T
    # at the corner of the region, in quarters, and along each of its directions
    at = np.stack([4 * V + 2 * d + 4 * N, root, d, N, m], axis=-1)
    at = np.unique(np.concatenate([at, powers], axis=-1), axis=0)
    below_another = [(np.all(at[:, :5] >= row[:5], axis=-1) & np.any(at[:, :5] > row[:5], axis=-1)).any() for row in at]
    return [(Fraction(int(row[5])), Fraction(int(row[6]), 2), *(Fraction(int(x)) for x in row[7:]))
            for row, is_below in zip(at, below_another, strict=True) if not is_below]
