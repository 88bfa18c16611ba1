"""What a store shows: its judged cells, and slices that scan two sizes, with phase diagrams and critical sizes.

Critical sizes are read off between cells, where the logit of the mean is taken for a straight line in the logarithm of
the size; where noise crosses the level several times, from the first crossing to the last. Observed and predicted means
are treated alike, so what interpolation does to the one it does to the other.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray
from ..settings import OBSERVABLES, PARAMETERS, Setting, SettingError, check_proportion
from ..theory.phase import OrderedMap, PhaseDiagram, phase
from ..verification.results import Cell
from .scaling_experiment import CriticalSize, Scaling
from .scaling_search import Crossing, crossing_between
from .sweep_grid import Reproduction, reproductions
from .sweep_results import Results, StoreAnalysis, analyse_cells, beside_defaults

ACROSS = ("N", "d", "m", "V", "L")  # of two sizes the first is drawn across
MOST_SLICES = 4  # a store of many scans has more
CELLS_A_LINE = 2  # that each line of a slice has on average: cells along a mere curve are no slice
DIAGRAM_CELLS = (13, 9)  # of a phase diagram
MARGIN = 1.25  # a diagram reaches so much beyond the outermost cells, as a factor
FEWEST_SEEDS = 8  # at every size that an observed line goes through
FEW_SEEDS = 0.5  # sizes with a smaller share of the seeds of the fullest, such as those of a pilot, blur the crossing
FEWEST_POINTS = 2  # crossings of a scaling


@dataclasses.dataclass(frozen=True)
class Slice2D:
    """Cells (by number) that differ in the sizes x and y only, with their predicted phase diagram (or why there is
    none) and critical sizes.

    `fixed` is all else; where it holds a ratio, N = ratio V.
    """

    x: str
    y: str
    fixed: Mapping[str, Any]
    cells: tuple[int, ...] = ()
    diagram: PhaseDiagram | str = ""
    scalings: tuple[Scaling, ...] = ()

    def title(self) -> str:
        """What is fixed, in words: "L = 4, N/V = 32"."""
        return described(self.fixed)

    def to_dict(self) -> dict[str, object]:
        """The slice and its diagram as the JSON contract has them."""
        where = {"x": self.x, "y": self.y, "fixed": self.fixed, "reason": self.diagram}
        return {"cells": list(self.cells), **(where if isinstance(self.diagram, str) else self.diagram.to_dict())}


def described(parameters: Mapping[str, object]) -> str:
    """Sizes, and other parameters of a setting where they aren't the defaults, in words.

    >>> described({"L": 4, "ratio": 32.0, "embedding": "sphere", "trigger_in_value": False})
    'L = 4, N/V = 32, embedding sphere, trigger in keys only'
    """
    words = []
    for name, value in beside_defaults(parameters).items():
        if name == "trigger_in_value":
            words.append("trigger in keys only")
        elif isinstance(value, str):
            words.append(f"{name} {value}")
        else:
            number = f"{value:,g}" if isinstance(value, float) else f"{value:,}"
            words.append(f"{'N/V' if name == 'ratio' else name} = {number}")
    return ", ".join(words)


def slices_of(settings: Sequence[Setting]) -> tuple[list[Slice2D], int]:
    """The slices that hold most cells, and how many more there are. A slice whose cells are all on earlier ones is
    left out.
    """
    candidates = []
    for (x, y), by_ratio in itertools.product(itertools.combinations(ACROSS, 2), (False, True)):
        if by_ratio and ("V" not in (x, y) or "N" in (x, y)):
            continue
        groups: dict[tuple[tuple[str, object], ...], list[int]] = {}
        for i, s in enumerate(settings):
            if s.is_limit and None not in (getattr(s, x), getattr(s, y)):
                fixed = s.to_dict() | ({"N": None, "ratio": s.ratio} if by_ratio else {}) | {x: None, y: None}
                key = tuple((name, value) for name, value in fixed.items() if value is not None)
                groups.setdefault(key, []).append(i)
        for key, members in groups.items():
            lines = min(len({getattr(settings[i], size) for i in members}) for size in (x, y))
            if lines > 1 and len(members) >= CELLS_A_LINE * lines:
                candidates.append(Slice2D(x, y, dict(key), tuple(members)))

    chosen: list[Slice2D] = []
    covered: set[int] = set()
    for candidate in sorted(candidates, key=lambda s: -len(s.cells)):  # stable: else in the order of ACROSS
        if not covered.issuperset(candidate.cells):
            chosen.append(candidate)
            covered.update(candidate.cells)
    return chosen[:MOST_SLICES], max(0, len(chosen) - MOST_SLICES)


def phase_diagram_of(of: Slice2D, settings: Sequence[Setting], target: float, *,
                     cells: tuple[int, int] = DIAGRAM_CELLS, mapped: OrderedMap = map) -> PhaseDiagram | str:
    """The predicted phase diagram around a slice's cells, with a boundary at `target`; or why there is none."""
    ends = []
    for p in (PARAMETERS[of.x], PARAMETERS[of.y]):
        values = [getattr(settings[i], p.name) for i in of.cells]
        ends.append((max(p.low, min(values) / MARGIN), min(p.high, max(values) * MARGIN)))
    try:
        return phase(of.x, of.y, *ends, cells=cells, target=target, mapped=mapped, **of.fixed)
    except SettingError as error:
        return str(error)


def critical_scalings(of: Slice2D, cells: Sequence[Cell], at: float, seed: int) -> tuple[Scaling, ...]:
    """How critical sizes scale over a slice: one scaling for each observable with two crossings at least.

    The critical size is that of the two which more scans cross. `cells` are all of the store's, `seed` is the seed of
    its sweep.
    """
    ways = []
    for size, along in ((of.x, of.y), (of.y, of.x)):
        scans: dict[int, dict[int, Cell]] = {}  # by value of `along` and of `size`
        for cell in sorted((cells[i] for i in of.cells), key=lambda cell: -cell.seeds):  # of a setting the fullest
            scans.setdefault(getattr(cell.setting, along), {}).setdefault(getattr(cell.setting, size), cell)
        scalings = [Scaling(size, along, at, o, of.fixed, seed,
                            tuple(_critical_size(size, value, scans[value], o, at) for value in sorted(scans)))
                    for o in OBSERVABLES]
        ways.append([s for s in scalings if len(s.usable) >= FEWEST_POINTS])
    return tuple(max(ways, key=lambda way: sum(len(s.usable) for s in way)))


def _critical_size(of: str, value: int, scan: Mapping[int, Cell], observable: str, at: float) -> CriticalSize:
    fullest = max(cell.seeds for cell in scan.values())
    cells = [scan[size] for size in sorted(scan) if scan[size].seeds >= FEW_SEEDS * fullest]
    log_sizes = np.log([getattr(cell.setting, of) for cell in cells])
    comparisons = [cell.comparisons[observable] for cell in cells]
    predicted = crossing_of_scan(log_sizes, [np.array([c.predicted]) for c in comparisons], at)
    observed = crossing_of_scan(log_sizes, [c.observed.values for c in comparisons], at, FEWEST_SEEDS)
    return CriticalSize.from_crossings(value, observed, predicted.log_size, sum(cell.seeds for cell in cells),
                                       lambda size: cells[0].setting.replace(**{of: size}))


def crossing_of_scan(log_sizes: FloatArray, values: Sequence[FloatArray], at: float, fewest: int = 1) -> Crossing:
    """Where the means of the values cross `at`, or why nowhere. `values` has an array of values for each of
    `log_sizes`, of which those beside the crossing must hold `fewest`."""
    means = np.array([v.mean() for v in values])
    changes = np.flatnonzero(np.diff(means > at))
    if len(changes) % 2 == 0:
        return Crossing(reason=f"{at:g} is crossed there and back" if changes.size else f"{at:g} is not crossed")
    beside = slice(changes[0], changes[-1] + 2)
    if min(map(len, values[beside])) < fewest:
        return Crossing(reason=f"fewer than {fewest} seeds beside the crossing")
    if np.isin(means[beside], (0, 1)).any():
        return Crossing(reason="0 or 1 next to the crossing: a finer scan would tell")
    return crossing_between(log_sizes[beside], values[beside], at, 1) or Crossing(
        reason="no curve can be laid through the sizes beside the crossing")


@dataclasses.dataclass(frozen=True)
class StoreSummary:
    """What a store shows. `at` is the level of critical sizes and of the boundaries in phase diagrams, `more_slices`
    counts the slices beyond those in `slices`."""

    analysis: StoreAnalysis
    at: float
    slices: tuple[Slice2D, ...]
    more_slices: int
    reproductions: tuple[Reproduction, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON contract of `recall-theory report`."""
        return {**self.analysis.to_dict(), "at": self.at, "phase": [s.to_dict() for s in self.slices],
                "scaling": [x.to_dict() for s in self.slices for x in s.scalings],
                "repeat": [r.command for r in self.reproductions]}


def summarise_store(results: Results, at: float = 0.5, *, diagram_cells: tuple[int, int] | None = DIAGRAM_CELLS,
                    mapped: OrderedMap = map) -> StoreSummary:
    """What the results of a sweep show: judged cells, slices with phase diagrams and critical sizes, commands.

    `at`, above 0 and below 1, is the level whose crossings are critical. Phase diagrams have `diagram_cells` (columns,
    rows), and are left out where that is None; `mapped` may be a parallel map, which predicts. Raises `SettingError`
    where there is no result.

    >>> from recall_theory.sweep import product, sweep
    >>> cells = product({"d": [8, 16, 32], "L": [2, 4]}, V=16, N=128)
    >>> summary = summarise_store(sweep(cells, seeds=8, seed=1), diagram_cells=(3, 2))
    >>> summary.slices[0].diagram.accuracy.shape
    (2, 3)
    """
    if not results.found:
        raise SettingError("store", "the store holds no result of the present model")
    check_proportion("at", at)
    analysis = analyse_cells(results, mapped=mapped)
    settings = [cell.setting for cell in analysis.cells]
    slices, more = slices_of(settings)
    for k, s in enumerate(slices):
        if diagram_cells is not None:
            s = dataclasses.replace(s, diagram=phase_diagram_of(s, settings, at, cells=diagram_cells, mapped=mapped))
        scalings = critical_scalings(s, analysis.cells, at, analysis.all_problems[s.cells[0]].seed)
        slices[k] = dataclasses.replace(s, scalings=scalings)
    commands = reproductions(analysis.all_problems, analysis.seed_counts, analysis.planned)
    return StoreSummary(analysis, at, tuple(slices), more, tuple(commands))
