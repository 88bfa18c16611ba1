"""How many codes on a circle a floating-point format tells apart, kept and scored in it.

    python -m validation.geometric_circle          # a minute

N codes (cos, sin)(2 pi a / N) are rounded to the format, and so are the two products and the sum of each score; an
attribute is told apart where its own score is larger than all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FORMATS = {"bfloat16": (8, -126), "float16": (11, -14), "float32": (24, -126)}  # significand bits, least exponent
BLOCK = 2**22  # scores held at a time


def rounded(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Numbers to the nearest of a format, ties to even; subnormal numbers as they are there."""
    bits, least = FORMATS[name]
    _, exponent = np.frexp(x)
    exponent = np.maximum(exponent, least + 1)
    return np.ldexp(np.rint(np.ldexp(x, bits - exponent)), exponent - bits)


def told_apart(N: int, name: str) -> float:
    """The share of N codes whose own score is the largest."""
    angle = 2 * np.pi * np.arange(N) / N
    x, y = rounded(np.cos(angle), name), rounded(np.sin(angle), name)
    right, block = 0, max(1, BLOCK // N)
    for i in range(0, N, block):
        part = slice(i, i + block)
        scores = rounded(rounded(x[part, None] * x, name) + rounded(y[part, None] * y, name), name)
        at = np.arange(len(scores)), np.arange(i, i + len(scores))
        own = scores[at].copy()
        scores[at] = -np.inf
        right += int(np.sum(own > scores.max(axis=1)))
    return right / N


if __name__ == "__main__":
    for name in ("bfloat16", "float16"):
        shares = {N: told_apart(N, name) for N in range(2, 700)}
        print(name, "all N up to", min(N for N, share in shares.items() if share < 1) - 1, "and none beyond",
              max(N for N, share in shares.items() if share == 1))
    for N in (1024, 2048, 4096, 5000, 6000, 7000, 8192, 16384):
        print("float32", N, told_apart(N, "float32"))
