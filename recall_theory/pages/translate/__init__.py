"""From Python to JavaScript: the functions that compute a prediction, as a script for a browser.

A function is read from its source, and everything that it reaches is read too: other functions and classes become
JavaScript, constants become literals, numpy and scipy.special become calls of the runtime (`pages/runtime`). What
the translation does not know is refused when the script is made, so that nothing is computed in a way of its own.
"""

from .linker import Linker

__all__ = ["Linker"]
