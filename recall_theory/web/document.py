"""HTML documents from Jinja2 templates, each one file that loads nothing and runs no script but its own.

Their formulas are MathML, which browsers typeset without a library or a font.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from ..plots.style import PALETTE
from ..settings import SIZES, Setting

if TYPE_CHECKING:
    import sympy
    from jinja2 import Environment
    from sympy.printing.mathml import MathMLPresentationPrinter

    from ..theory.formulas.registry import Formula


def render(template: str, *, style: str, script: str, connect: str = "'none'", style_attributes: bool = False,
           **values: object) -> str:
    """A page from a template of this package that extends frame.html.jinja and refers to `values`.

    `style` is CSS that follows style.css, `script` JavaScript that follows reading.js, both put inline. The page's
    content security policy admits these by their hashes and nothing else: no `eval`, no other file, and no host but
    `connect`, as `connect-src` writes it. With `style_attributes` elements may have styles, as matplotlib's SVG does.
    """
    from markupsafe import Markup

    from .. import __version__

    # The palette of the figures as custom properties, each the --colour of the class of its name too.
    shades = [f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items()]
    classes = [f".{name} {{ --colour: var(--{name}); }}" for name in PALETTE]
    sheet = "\n".join([":root {", *shades, "}", *classes, asset("style.css"), style])
    script = asset("reading.js") + script
    styles = "unsafe-inline" if style_attributes else hashed(sheet)
    policy = (f"default-src 'none'; script-src '{hashed(script)}'; style-src '{styles}'; img-src data:; "
              f"connect-src {connect}; base-uri 'none'; form-action 'none'")
    return environment().get_template(template).render(
        policy=policy, style=Markup(sheet), script=Markup(script), version=__version__, **values)


def fragment(template: str, macro: str, *values: object) -> str:
    """What a macro of a template of this package makes of values: safe HTML, a part of a page."""
    return getattr(environment().get_template(template).module, macro)(*values)


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
    templates.filters["math"] = formula_math
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

OF_NOISE = "<msup><mrow><mo>(</mo><mtext>noise</mtext><mo>/</mo><mtext>signal</mtext><mo>)</mo></mrow><mn>2</mn></msup>"
FUNCTIONS = {"log": "ln", "loggamma": "ln Γ"}  # class of sympy -> how the field writes it
# The title of a law begins with what it bounds: "Least N: every fact must occur", "N d that the trigger asks for".
BOUNDED = re.compile(r"^(?P<end>Least|Largest) (?P<size>\w+)(: | )|^(?P<product>[\w^ ]+) that (?=.* asks? for)")


class Group(NamedTuple):
    """Formulas of one model, "plain", "mlp" or "orthogonal", under a heading."""

    key: str
    model: str
    heading: str
    words: str
    names: Sequence[str]

    def formulas(self) -> list[Formula]:
        """The registered formulas, in order."""
        from ..theory.formulas.registry import formulas

        return [formulas[name] for name in self.names]

    def symbols(self) -> list[str]:
        """Each symbol in the formulas that is not a size, as MathML, and its meaning."""
        from ..theory.formulas.registry import SYMBOLS

        names = dict.fromkeys(a for formula in self.formulas() for a in formula.arguments if a not in SIZES)
        return [f"{math(_typeset(name))} {SYMBOLS[name].meaning}" for name in names]


GROUPS = (
    Group("laws", "plain", "The leading laws",
          "What a size must reach so that one cause alone does no harm, to leading order in large sizes. The "
          "prediction counts all causes together, at any size.",
          ("law.attention.trigger_overlap", "law.attention.mean_embedding", "law.attention.noise_tokens",
           "law.attention.informative_tokens", "law.recall.interference", "law.recall.mean_bias",
           "law.recall.coverage")),
    Group("noise", "plain", "The noise terms of recall",
          "Each is one cause's variance over the squared signal, at typical lengths, once the right token is attended.",
          ("recall.interference", "recall.gradient_noise", "recall.mean_bias", "recall.token_overlap")),
    Group("mlp", "mlp", "The leading laws with an MLP",
          "What products of sizes must reach; the activation enters through a few of its averages over Gaussian "
          "inputs.",
          ("law.attention.trigger_overlap", "mlp.law.attention.mean_bias", "mlp.law.attention.gradient_noise",
           "mlp.law.attention.mlp_mean", "mlp.law.attention.mlp_noise", "mlp.law.recall.interference",
           "mlp.law.recall.mlp_noise", "mlp.law.recall.mean_bias", "law.recall.coverage")),
    Group("orthogonal", "orthogonal", "The leading laws with orthogonal embeddings",
          "Orthonormal embeddings leave no overlaps: what is left is the counting of samples.",
          ("orthogonal.attention.least_samples", "orthogonal.recall.most", "orthogonal.recall.all")),
)


def model_of(setting: Setting) -> str:
    """The model whose formulas hold at a setting: "mlp", "orthogonal" or "plain"."""
    if setting.m is not None:
        return "mlp"
    return "orthogonal" if setting.embedding == "orthogonal" else "plain"


def math(expression: sympy.Basic, before: str = "") -> str:
    """A sympy expression as a <math> element; `before` is MathML that is to stand in front of it.

    >>> from sympy import Symbol, log
    >>> math(log(Symbol("L")))
    '<math><mrow><mi>ln</mi><mrow><mo>(</mo><mi>L</mi><mo>)</mo></mrow></mrow></math>'
    """
    return f"<math>{before}{_printer().doprint(expression)}</math>"


def formula_math(item: Formula) -> str:
    """A registered formula with the symbols of the field in a <math> element, after the size or the product of sizes
    that its title says it bounds, or after (noise/signal)^2.

    Raises `ValueError` for a formula without an expression.

    >>> from recall_theory.theory.formulas.registry import formulas
    >>> formula_math(formulas["law.attention.trigger_overlap"])[:39]
    '<math><mrow><mi>d</mi></mrow><mo>≥</mo>'
    """
    if item.expr is None:
        raise ValueError(f"{item.name} has no expression: {item.regime}")
    bounded = BOUNDED.match(item.title)
    product, relation = OF_NOISE, "="
    if bounded:
        powers = []
        for factor in (bounded["size"] or bounded["product"]).split():
            name, _, exponent = factor.partition("^")
            base = _printer().doprint(_typeset(name))
            powers.append(f"<msup>{base}<mn>{exponent}</mn></msup>" if exponent else base)
        product, relation = "<mo>&InvisibleTimes;</mo>".join(powers), "≤" if bounded["end"] == "Largest" else "≥"
    return math(item.expr.xreplace({s: _typeset(a) for a, s in item.symbols.items()}),
                f"<mrow>{product}</mrow><mo>{relation}</mo>")


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
