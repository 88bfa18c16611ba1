"""Draws docs/pictures/ladder.svg from validation/ladder.jsonl:  python -m validation.ladder_picture"""

from __future__ import annotations

from pathlib import Path

from recall_theory.plots.ladder_diagram import ladder_figure
from recall_theory.plots.style import save_pictures
from recall_theory.verification.ladder_study import read_rows

HERE = Path(__file__).parent

if __name__ == "__main__":
    rows = read_rows(HERE / "ladder.jsonl")
    save_pictures(lambda: ladder_figure(rows), [str(HERE.parent / "docs" / "pictures" / "ladder.svg")])
