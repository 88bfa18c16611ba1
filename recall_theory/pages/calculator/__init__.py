"""The calculator: one page on which sizes are moved and predictions follow, computed in the page itself."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib.resources import files
from string import Template

__all__ = ["document", "page"]

SCRIPTS = ("numbers.js", "setting.js", "engine.js", "controls.js", "results.js", "chart.js", "curve.js", "main.js")


@functools.cache
def page() -> str:
    """The calculator as one HTML document that loads nothing: style, formulas and the engine are in it."""
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

    style = files("recall_theory.pages").joinpath("style.css").read_text(encoding="utf-8") + _text("page.css")
    script = '"use strict";\n(() => {\n' + "".join(map(_text, SCRIPTS)) + "})();\n"
    # The engine makes its inner loops with `new Function`, and workers obey the policy of the page that makes them.
    policy = (f"default-src 'none'; script-src '{_digest(script)}' 'unsafe-eval'; style-src '{_digest(style)}'; "
              "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'")
    return Template(_text("page.html")).substitute(
        policy=policy, style=style, script=script, version=__version__, formulas=groups(),
        **{f"sizes_{name}": control for name, control in sizes().items()},
        engine=_data(engine), worker=_data(_text("worker.js")), declared=_data(declared()))


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _data(value: object) -> str:
    """JSON that may stand inside a <script> element."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _digest(text: str) -> str:
    """The hash by which a content security policy knows an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
