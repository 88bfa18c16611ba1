"""Names in JavaScript."""

RESERVED = frozenset("""
arguments await break case catch class const continue debugger default delete do else enum eval export extends false
finally for function if implements import in instanceof interface let new null package private protected public return
static super switch this throw true try typeof undefined var void while with yield nd py special engine
""".split())


def local(name: str) -> str:
    """A Python variable's name; one that JavaScript keeps for itself gets an underscore."""
    return name + "_" if name in RESERVED else name
