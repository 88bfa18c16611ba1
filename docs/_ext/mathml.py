"""Formulas as MathML, written while the pages are built: browsers set it without a script or a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

# What the converter sets badly or does not know, and what means the same to it.
REWRITTEN = (
    (re.compile(r"\\(begin|end)\{aligned\}"), r"\\\1{split}"),
    (re.compile(r"\\mathrm\{([A-Za-z]{2,})\}"), r"\\operatorname{\1}"),  # a name, not a product of letters
    (re.compile(r"\\(arg)(?![A-Za-z])"), r"\\operatorname{\1}"),
    (re.compile(r"\\big(\\[lr]angle)"), r"\1"),  # brackets that the converter does not enlarge
)
SIMILAR = "<mi>&#x0007E;</mi>"  # the converter's \sim, a tilde that stands too high

# Control sequences that are left are ones that would be printed as they stand.
UNKNOWN = re.compile(r">\s*(\\[A-Za-z]+)")


def mathml(latex: str, display: str) -> tuple[str, list[str]]:
    """A <math> element, and the control sequences in it that were not understood."""
    for pattern, replacement in REWRITTEN:
        latex = pattern.sub(replacement, latex)
    element = convert(latex, display=display).replace(SIMILAR, "<mo>&#x0223C;</mo>")
    return element, UNKNOWN.findall(element)


def _put(translator: HTML5Translator, node: nodes.Element, display: str) -> None:
    element, unknown = mathml(node.astext(), display)
    if unknown:
        logging.getLogger(__name__).warning("not understood in a formula: %s", ", ".join(unknown), location=node)
    translator.body.append(f'<div class="formula">{element}</div>\n' if display == "block" else element)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's hook."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda translator, node: _put(translator, node, "inline"), None),
        block_renderers=(lambda translator, node: _put(translator, node, "block"), None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
