"""Draw docs/pictures/geometric.svg: what N R facts ask of d, in embeddings and in a matrix; and where which asks less.

    python -m validation.geometric_picture
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recall_theory.geometric import crossovers
from recall_theory.geometric.superposition import superposition_dimension
from recall_theory.plots.style import panel_grid, save_pictures
from recall_theory.theory.formulas.geometric_laws import bound_subject, linear_memory_dimension

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = Path(__file__).parent.parent / "docs" / "pictures" / "geometric.svg"
R = 8


def draw() -> Figure:
    """Left, d against the number of subjects; right, the relations below which embeddings need the smaller d."""
    N = [2**e for e in range(3, 31)]
    bits = [(n - 1).bit_length() for n in N]
    figure, (left, right) = panel_grid(2, "double", height=0.8)
    left.loglog(N, linear_memory_dimension(np.array(N, float), float(R)), "k-", label="best linear memory")
    left.loglog(N, [superposition_dimension(n, R, 4 * b, 0.99) for n, b in zip(N, bits, strict=True)], "C0-",
                label="random superposition, 99 %")
    left.loglog(N, [R * (b + 1) for b in bits], "C1-", label="exact construction")
    left.loglog(N, [bound_subject(float(n), float(R), 1.0) for n in N], "C1:", label="lower bound, 1 bit a number")
    left.set(xlabel="subjects N", ylabel="embedding dimension d", title=f"R = {R} relations")
    left.legend()
    sizes = [2**e for e in range(3, 21)]
    most = [crossovers(n, None)["to_R"] or math.nan for n in sizes]
    right.loglog(sizes, most, "C1-")
    right.fill_between(sizes, 1, most, color="C1", alpha=0.2)
    right.text(2**13, 8, "embeddings: smaller d", ha="center")
    right.text(2**8, 20_000, "matrix: smaller d", ha="center")
    right.set(xlabel="subjects N", ylabel="relations R", xlim=(sizes[0], sizes[-1]), ylim=(1, 200_000),
              title="exact construction against the best matrix")
    return figure


if __name__ == "__main__":
    save_pictures(draw, [str(FILE)])
