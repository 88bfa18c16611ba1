"""The calculator: one page on which sizes are moved and predictions follow, computed in the page itself."""

from __future__ import annotations

import functools
from string import Template

from ..document import digest, embedded, text
from ..palette import style

__all__ = ["document", "page"]

SCRIPTS = ("numbers.js", "setting.js", "engine.js", "controls.js", "results.js", "chart.js", "curve.js", "main.js")


@functools.cache
def page() -> str:
    """The calculator as one HTML document that loads nothing: style, formulas and the engine are in it.

    >>> page()[:15]
    '<!doctype html>'
    """
    from .. import engine

    return document(engine.source())


def document(engine: str) -> str:
    """The page around an engine: a script that defines `recallTheory.calculate(setting)`.

    The engine runs in a worker that the page makes of this text, so it is kept as JSON, in which no "<" can end the
    element around it. The policy lets in the page's own scripts by their hashes and nothing from elsewhere.
    """
    from ... import __version__
    from .controls import declared, sizes
    from .formulas import groups

    sheet = style() + text(__name__, "page.css")
    script = '"use strict";\n(() => {\n' + "".join(text(__name__, name) for name in SCRIPTS) + "})();\n"
    # The engine makes its inner loops with `new Function`, and workers obey the policy of the page that makes them.
    policy = (f"default-src 'none'; script-src '{digest(script)}' 'unsafe-eval'; style-src '{digest(sheet)}'; "
              "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'")
    return Template(text(__name__, "page.html")).substitute(
        policy=policy, style=sheet, script=script, version=__version__, formulas=groups(),
        **{f"sizes_{name}": control for name, control in sizes().items()},
        engine=embedded(engine), worker=embedded(text(__name__, "worker.js")), declared=embedded(declared()))
