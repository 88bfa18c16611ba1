"""Sphinx configuration. Warnings are errors: `make docs`, or tests/test_docs.py."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import recall_theory  # noqa: E402

project = "recall-theory"
author = "The recall-theory developers"
copyright = "2026, the recall-theory developers"
version = release = recall_theory.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "mathml",  # docs/_ext: formulas as MathML, which needs no script and no network
    "computed",  # docs/_ext: tables and numbers computed while the page is built
    "formula_reference",  # docs/_ext: the pages under reference/, written from the registry
    "plain_docstrings",  # docs/_ext: docstrings are plain text, not reStructuredText
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "_static", "_tools"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures stay readable; the docstrings say what is taken
autodoc_preserve_defaults = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"recall-theory {release}"
html_static_path = ["_static"]
html_css_files = ["formulas.css"]
