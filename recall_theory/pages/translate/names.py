"""Names in JavaScript."""

_RESERVED = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends false
finally for function if implements import in instanceof interface let new null package private protected public return
static super switch this throw true try typeof undefined var void while with yield
"""
_OURS = "nd special py engine"  # what a script has besides the translation
_KEPT = frozenset(f"{_RESERVED} {_OURS}".split())


def local(name: str) -> str:
    """A Python variable's name; one that JavaScript keeps for itself gets an underscore."""
    return name + "_" if name in _KEPT else name
