"""What the commands about a finished store share: its results, read and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .command import Output
from .errors import BadInput, shown
from .numbers import real
from .options import option
from .progress import Progress
from .workers import mapped

if TYPE_CHECKING:
    from ..sweep.store_analysis import StoreSummary


def params() -> list[click.Parameter]:
    """--store, --at and --jobs."""
    return [
        click.Option(["--store", "store"], metavar="FILE", help="the store of a sweep or a scaling  [required]"),
        click.Option(["--at", "at"], default="0.5", metavar="NUMBER",
                     help="the level whose crossing is critical, and the boundary in phase diagrams; above 0 and "
                          "below 1  [default: 0.5]"),
        option("jobs", default=1, help="processes that share the predictions; the answer doesn't depend on it"),
    ]


def findings_of(output: Output, store: str | None, at: str, jobs: int, *, phases: bool = True) -> StoreSummary:
    """What the store shows; `phases` is whether phase diagrams are wanted, which take seconds."""
    level = real(at)
    if level is None or not 0 < level < 1:
        raise BadInput(f"--at {shown(at)} is not a number above 0 and below 1")
    if store is None:
        raise BadInput("--store is missing: the file of a sweep or a scaling")
    from ..sweep.slices import DIAGRAM_CELLS
    from ..sweep.store import Store
    from ..sweep.store_analysis import summarise_store
    from ..sweep.sweep_results import gathered

    with Store(store, must_exist=True) as kept:
        unused = kept.unused()
        results = gathered(kept, kept.current())
    if not results.found:
        raise BadInput(f"--store {shown(store)}: " + (unused or "it holds no result: nothing to report"))
    if unused:
        output.note(f"recall-theory: {store}: {unused}")
    with Progress(output.progress, "predictions") as progress:
        return summarise_store(results, level, diagram_cells=DIAGRAM_CELLS if phases else None,
                               mapped=mapped(jobs, progress))
