"""The phase diagram in words and letters, as JSON and as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table, Verbatim
from .numbers import NOTHING, count, deviation, number, percent, probability

if TYPE_CHECKING:
    from ..theory.phase import PhaseDiagram


def answer(diagram: PhaseDiagram, pictures: tuple[str, ...] = (), exit_code: int = 0) -> Answer:
    """The diagram in its three forms; a run that was interrupted has another exit code than 0."""
    data = diagram.to_dict() | ({"interrupted": True} if exit_code else {})
    blocks = _blocks(diagram, pictures)
    if exit_code:
        blocks.insert(1, Prose("Interrupted: this is what was finished."))
    return Answer(data, diagram.cells(), blocks, exit_code)


def _blocks(diagram: PhaseDiagram, pictures: tuple[str, ...]) -> list[Block]:
    names = sorted({name for row in diagram.binding for name in row})
    letters = dict(zip(names, "abcdefghijklmnopqrstuvwxyz", strict=False))
    cells = len(diagram.x_values) * len(diagram.y_values)
    known = ", ".join(f"{'N/V' if n == 'ratio' else n} = {v if isinstance(v, str) else number(float(v))}"
                      for n, v in diagram.fixed.items() if not isinstance(v, bool))
    blocks: list[Block] = [
        Prose(f"What binds over {diagram.x} and {diagram.y}, and where accuracy reaches {diagram.target:g}"
              + (f" ({known})" if known else ""), heading=True),
        Prose("Each letter is the largest noise term of the step that falls shorter; a capital letter means "
              "that the target is reached.", remark=True),
        Verbatim(_map(diagram, letters)),
        Table([Column("letter", words=True), Column("binding", words=True), Column("cells"), Column("reached")],
              [(letters.get(name, "?"), name, *_shares(diagram, name, cells)) for name in names]),
        _boundary(diagram),
    ]
    if diagram.points:
        blocks.append(Table(
            [Column(diagram.x), Column(diagram.y), Column("predicted"), Column("simulated"), Column("se")],
            [(count(p.x), count(p.y), probability(p.predicted), probability(p.accuracy),
              NOTHING if p.se is None else deviation(p.se)) for p in diagram.points],
            title="Accuracy of the simulated settings", groups=2))
    blocks += [Prose(f"Picture: {path}") for path in pictures]
    return blocks


def _shares(diagram: PhaseDiagram, name: str, cells: int) -> tuple[str, str]:
    mine = [(j, i) for j, row in enumerate(diagram.binding) for i, n in enumerate(row) if n == name]
    reached = sum(diagram.accuracy[j, i] >= diagram.target for j, i in mine)
    return percent(len(mine) / cells), percent(reached / len(mine))


def _map(diagram: PhaseDiagram, letters: dict[str, str]) -> str:
    """One letter a cell, the largest y on top."""
    ends = [count(y) for y in diagram.y_values]
    width = max(map(len, ends))
    lines = []
    for j in range(len(ends) - 1, -1, -1):
        row = (letters.get(name, "?") for name in diagram.binding[j])
        marked = (c.upper() if a >= diagram.target else c for c, a in zip(row, diagram.accuracy[j], strict=True))
        lines.append(f"{ends[j]:>{width}} | {''.join(marked)}")
    first, last = count(diagram.x_values[0]), count(diagram.x_values[-1])
    return "\n".join([f"{diagram.y}", *lines, f"{'':{width}}   {diagram.x} from {first} to {last}"])


def _boundary(diagram: PhaseDiagram) -> Block:
    if not diagram.boundary:
        where = "everywhere" if diagram.accuracy.min() >= diagram.target else "nowhere"
        return Prose(f"The target is reached {where} in this plane; the best accuracy is "
                     f"{probability(float(diagram.accuracy.max()))}.")
    return Table([Column(diagram.x), Column(diagram.y)], [(number(x), number(y)) for x, y in diagram.boundary],
                 title=f"Capacity boundary: accuracy = {diagram.target:g}")
