"""HTML documents from Jinja2 templates, each one file that loads nothing and runs no script but its own.

Their formulas are MathML, which browsers typeset without a library or a font.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import re
from collections.abc import Collection, Mapping
from importlib import resources
from typing import TYPE_CHECKING

from ..plots.style import PALETTE
from ..settings import SIZES, Setting

if TYPE_CHECKING:
    import sympy
    from jinja2 import Environment
    from sympy.printing.mathml import MathMLPresentationPrinter

    from ..theory.formulas.registry import Formula


def render(template: str, *, style: str, script: str, connect: str = "'none'", style_attributes: bool = False,
           **values: object) -> str:
    """A page from a template of this package that extends frame.html.jinja.

    Parameters
    ----------
    template : file name of the template
    style, script : CSS that follows style.css, and JavaScript that follows reading.js, both put inline
    connect : source to which the script may send requests, as the policy `connect-src` writes it
    style_attributes : whether elements may have `style` attributes, as those of matplotlib's SVG do
    values : what the template refers to

    Returns
    -------
    The text of the page. Its content security policy admits the given style and script by their hashes and
    nothing else: no `eval`, no other file, no other host.
    """
    from markupsafe import Markup

    from .. import __version__

    sheet = _colours() + asset("style.css") + style
    script = asset("reading.js") + script
    styles = "unsafe-inline" if style_attributes else hashed(sheet)
    policy = (f"default-src 'none'; script-src '{hashed(script)}'; style-src '{styles}'; img-src data:; "
              f"connect-src {connect}; base-uri 'none'; form-action 'none'")
    return environment().get_template(template).render(
        policy=policy, style=Markup(sheet), script=Markup(script), version=__version__, **values)


def _colours() -> str:
    """The palette of the figures as custom properties, each the --colour of the class of its name too."""
    shades = [f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items()]
    classes = [f".{name} {{ --colour: var(--{name}); }}" for name in PALETTE]
    return "\n".join([":root {", *shades, "}", *classes, ""])


def fragment(template: str, macro: str, *values: object) -> str:
    """What a macro of a template of this package makes of values: safe HTML, a part of a page."""
    return getattr(environment().get_template(template).module, macro)(*values)


def text(plain: str) -> str:
    """A text as HTML."""
    from markupsafe import escape

    return str(escape(plain))


@functools.cache
def environment() -> Environment:
    """The templates of this package, with HTML escaped; filters write numbers as tables do."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from ..numerics import formatting as numbers

    templates = Environment(loader=PackageLoader("recall_theory", "web"), autoescape=True, undefined=StrictUndefined,
                            trim_blocks=True, lstrip_blocks=True)
    for write in (numbers.count, numbers.number, numbers.probability, numbers.deviation, numbers.percent,
                  numbers.signed, numbers.plural):
        templates.filters[write.__name__] = write
    return templates


@functools.cache
def asset(name: str) -> str:
    """The text of a file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def hashed(inline: str) -> str:
    """The hash by which a content security policy admits an inline script or style of this text.

    >>> hashed("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


# Formulas

NOISE = ("noise", "=")
OF_NOISE = "<msup><mrow><mo>(</mo><mtext>noise</mtext><mo>/</mo><mtext>signal</mtext><mo>)</mo></mrow><mn>2</mn></msup>"
FUNCTIONS = {"log": "ln", "loggamma": "ln Γ"}  # class of sympy -> how the field writes it


@dataclasses.dataclass(frozen=True)
class Group:
    """Formulas of one model under a heading; `bounds` maps each name to the size that it bounds and the relation."""

    key: str
    heading: str
    model: str
    words: str
    bounds: Mapping[str, tuple[str, str]]

    def formulas(self) -> list[dict[str, str]]:
        """The formulas as a page shows them: name, heading, math (MathML), provenance, reference and regime."""
        from ..theory.formulas.registry import formulas

        return [{"name": name, "heading": _heading(formulas[name].title), "math": formula_math(formulas[name], *bound),
                 "provenance": formulas[name].provenance, "reference": formulas[name].reference,
                 "regime": formulas[name].regime.replace("<<", "≪").replace(">>", "≫")}
                for name, bound in self.bounds.items()]

    def symbols(self) -> list[str]:
        """Each symbol in the formulas that is not a size, as MathML, and its meaning."""
        from ..theory.formulas.registry import SYMBOLS, formulas

        names = dict.fromkeys(a for name in self.bounds for a in formulas[name].arguments if a not in SIZES)
        return [f"{math(_typeset(name))} {SYMBOLS[name].meaning}" for name in names]


GROUPS = {group.key: group for group in (
    Group("laws", "The leading laws", "plain",
          "What a size must reach so that one cause alone does no harm, to leading order in large sizes. The "
          "prediction counts all causes together, at any size.",
          {"law.attention.trigger_overlap": ("d", "≥"), "law.attention.mean_embedding": ("N", "≥"),
           "law.attention.noise_tokens": ("N", "≥"), "law.attention.informative_tokens": ("N", "≥"),
           "law.recall.interference": ("V", "≤"), "law.recall.mean_bias": ("N", "≥"),
           "law.recall.coverage": ("N", "≥")}),
    Group("noise", "The noise terms of recall", "plain",
          "Each is one cause's variance over the squared signal, at typical lengths, once the right token is attended.",
          {"recall.interference": NOISE, "recall.gradient_noise": NOISE, "recall.mean_bias": NOISE,
           "recall.token_overlap": NOISE}),
    Group("mlp", "The leading laws with an MLP", "mlp",
          "What products of sizes must reach; the activation enters through a few of its averages over Gaussian "
          "inputs.",
          {"law.attention.trigger_overlap": ("d", "≥"), "mlp.law.attention.mean_bias": ("N^2 d^3", "≥"),
           "mlp.law.attention.gradient_noise": ("N^2 d^4", "≥"), "mlp.law.attention.mlp_mean": ("m N^2 d^2", "≥"),
           "mlp.law.attention.mlp_noise": ("m N^2 d^2", "≥"), "mlp.law.recall.interference": ("d^2", "≥"),
           "mlp.law.recall.mlp_noise": ("m d", "≥"), "mlp.law.recall.mean_bias": ("N d", "≥"),
           "law.recall.coverage": ("N", "≥")}),
    Group("orthogonal", "The leading laws with orthogonal embeddings", "orthogonal",
          "Orthonormal embeddings leave no overlaps: what is left is the counting of samples.",
          {"orthogonal.attention.least_samples": ("N", "≥"), "orthogonal.recall.most": ("N", "≥"),
           "orthogonal.recall.all": ("N", "≥")}),
)}


def groups_of(models: Collection[str]) -> list[Group]:
    """The groups of some models: "plain", "mlp" or "orthogonal"."""
    return [group for group in GROUPS.values() if group.model in models]


def model_of(setting: Setting) -> str:
    """The model whose formulas hold at a setting: "mlp", "orthogonal" or "plain"."""
    if setting.m is not None:
        return "mlp"
    return "orthogonal" if setting.embedding == "orthogonal" else "plain"


def _heading(title: str) -> str:
    """The title without its first part, which the formula itself says: "Least N: every fact must occur"."""
    rest = re.sub(r"^(Least|Largest) \w+: |^[\w^ ]+ that (?=.* asks? for)", "", title)
    return rest[:1].upper() + rest[1:]


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
        product = OF_NOISE if left == "noise" else "<mo>&InvisibleTimes;</mo>".join(map(_power, left.split()))
        before = f"<mrow>{product}</mrow><mo>{relation}</mo>"
    return math(item.expr.xreplace({s: _typeset(a) for a, s in item.symbols.items()}), before)


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
