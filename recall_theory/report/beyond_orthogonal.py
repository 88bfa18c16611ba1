"""Random against orthogonal embeddings: tables and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, count, deviation, number, plural, probability
from .picture import save

if TYPE_CHECKING:
    from ..verification.embedding_comparison import BeyondOrthogonal, Facts, Need

COLOURS = {"gaussian": "#0072B2", "orthogonal": "#D55E00"}
MARKERS = {"gaussian": "o", "orthogonal": "s"}
NAMES = {"gaussian": "random", "orthogonal": "orthogonal"}


def answer(found: BeyondOrthogonal, pictures: tuple[str, ...] = (), exit_code: int = 0) -> Answer:
    """The comparison in its three forms."""
    records = [{**found.setting, "target": found.target, "V": f.V, "embedding": e, "N": need.N,
                "observed": need.observed, "se": need.se} for f in found.facts for e, need in f.needs.items()]
    return Answer(found.to_dict(), records, _blocks(found, pictures), exit_code)


def _blocks(found: BeyondOrthogonal, pictures: tuple[str, ...]) -> list[Block]:
    s = found.setting
    share = 2 * (1 + int(s["trigger_in_value"]))
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    blocks: list[Block] = [
        Prose(f"Beyond orthogonal embeddings: d = {count(s['d'])}, L = {count(s['L'])}{value}", heading=True),
        Table([Column("d"), Column("random"), Column("leading law"), Column("orthogonal"), Column("ratio")],
              [(count(x.d), "none" if x.random is None else count(x.random), count(x.law), count(x.orthogonal),
                NOTHING if x.random is None else number(x.random / x.orthogonal)) for x in found.dimensions],
              title=f"Facts stored at an accuracy of {found.target:g}, with samples without end"),
        Prose(f"The leading law of random embeddings is d^2 = {share} V ln V; orthogonal ones are there up to V = d "
              "only.", remark=True),
        Table([Column("V"), Column("N, random"), Column("N/V"), Column("N, orthogonal"), Column("N/V"),
               Column("random pay")],
              [_row(f) for f in found.facts],
              title=f"The samples that they pay, at d = {count(s['d'])}: least N for {found.target:g}"),
    ]
    if found.seeds:
        blocks.append(Table([Column("V"), Column("random"), Column("orthogonal")],
                            [(count(f.V), _seen(f.needs.get("gaussian")), _seen(f.needs.get("orthogonal")))
                             for f in found.facts],
                            title=f"Accuracy seen at that N, {plural(found.seeds, 'seed')} each "
                                  f"(--seed {found.seed}), ± standard error"))
    blocks += [Prose(f"Picture: {path}") for path in pictures]
    return blocks


def _row(f: Facts) -> tuple[str, ...]:
    random, orthogonal = f.needs["gaussian"].N, f.needs["orthogonal"].N if "orthogonal" in f.needs else None
    impossible = "none" if "orthogonal" in f.needs else "V > d"
    pay = NOTHING if random is None or orthogonal is None else f"{number(random / orthogonal)} times"
    return (count(f.V), *_need(random, f.V, "none"), *_need(orthogonal, f.V, impossible), pay)


def _need(N: int | None, V: int, impossible: str) -> tuple[str, str]:
    return (impossible, NOTHING) if N is None else (count(N), number(N / V))


def _seen(need: Need | None) -> str:
    if need is None or need.observed is None:
        return NOTHING
    return probability(need.observed) + ("" if need.se is None else f" ± {deviation(need.se)}")


def draw(found: BeyondOrthogonal, path: str) -> None:
    """Draw facts over d, and samples over V, into a .svg, .png or .pdf file."""
    save(lambda plt: _figure(plt, found), path)


def _figure(plt: Any, found: BeyondOrthogonal) -> Any:
    s = found.setting
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
    d = [x.d for x in found.dimensions]
    stored = [x for x in found.dimensions if x.random is not None]
    left.plot([x.d for x in stored], [x.random for x in stored], color=COLOURS["gaussian"], marker="o", lw=2,
              label="random")
    share = 2 * (1 + int(s["trigger_in_value"]))
    left.plot(d, [x.law for x in found.dimensions], color=COLOURS["gaussian"], ls=":", lw=1.5,
              label=f"leading law d² = {share} V ln V")
    left.plot(d, d, color=COLOURS["orthogonal"], marker="s", lw=2, label="orthogonal, V = d")
    left.set(xscale="log", yscale="log", xlabel="embedding dimension d", ylabel="facts stored V")
    left.set_title("How many facts, with samples without end", fontsize=10)
    left.legend(fontsize=8.5, frameon=False)
    _plain(left.xaxis, d)
    for e in COLOURS:
        needs = [(f.V, f.needs[e]) for f in found.facts if e in f.needs and f.needs[e].N is not None]
        right.plot([V for V, _ in needs], [need.N for _, need in needs], color=COLOURS[e], lw=2, label=NAMES[e])
        for V, need in needs:
            if need.observed is not None:
                right.plot(V, need.N, color=COLOURS[e], marker=MARKERS[e], ms=6, mfc="white")
                right.annotate(f"{need.observed:.2f}", (V, need.N), xytext=(4, -13) if e == "orthogonal" else (-4, 6),
                               textcoords="offset points", fontsize=8, ha="left" if e == "orthogonal" else "right")
    right.margins(x=0.12, y=0.09)
    right.axvline(s["d"], color=COLOURS["orthogonal"], lw=1, ls="--", label="V = d")
    most = next(x.random for x in found.dimensions if x.d == s["d"])
    if most is not None:
        right.axvline(most, color=COLOURS["gaussian"], lw=1, ls="--", label=f"random: V = {most} at most")
    right.set(xscale="log", yscale="log", xlabel="facts V", ylabel=f"least N for accuracy {found.target:g}")
    marks = f"\n(marks: the accuracy simulated there, {plural(found.seeds, 'seed')})" if found.seeds else ""
    right.set_title(f"What they pay in samples, at d = {s['d']}{marks}", fontsize=10)
    right.legend(fontsize=8.5, loc="upper left", framealpha=1, edgecolor="none")
    _plain(right.xaxis, [f.V for f in found.facts])
    return figure


def _plain(axis: Any, values: list[int]) -> None:
    """Ticks at the values themselves, in plain numbers."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FixedFormatter([f"{v:,}" for v in values]))
    axis.set_minor_locator(NullLocator())
