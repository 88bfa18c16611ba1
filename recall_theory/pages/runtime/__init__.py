"""What the calculator page's code runs on: NumPy's arrays, scipy.special and Python's builtins in JavaScript.

The code itself is translated from `recall_theory.theory`; it calls these by the names that they have in Python. The
files are plain scripts without modules or DOM, so that they run in a Web Worker, in Node and in any V8 alike.
"""

from __future__ import annotations

from ..document import text

__all__ = ["FILES", "source"]

FILES = ("array.js", "elementwise.js", "indexing.js", "shape.js", "reduce.js", "search.js", "linear.js", "gauss.js",
         "special_tables.js", "special.js", "python.js")  # in the order in which they build on each other


def source() -> str:
    """The whole runtime as one script, which defines `nd`, `special` and what stands for Python's builtins.

    >>> "const nd = " in source()
    True
    """
    return "\n".join(text(__name__, name) for name in FILES)
