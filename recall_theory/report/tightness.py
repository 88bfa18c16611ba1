"""How close to the gradient bound decoders come: a table and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .answer import Answer, Block, Column, Prose, Table
from .numbers import count, deviation, number, plural, probability
from .picture import save

if TYPE_CHECKING:
    from ..verification.decoders import Point, Tightness

WORDS = {
    "gradient": "argmax of the gradient",
    "noisy gradient": "argmax, in noise",
    "matched filter": "assignment by matched filter, in noise",
    "best assignment": "best assignment, in noise",
    "three steps": "three steps",
}
CURVE, TOP, MARGIN = 200, 1.03, 1.1  # points of the bound's curve; the picture's edges
# Okabe-Ito colours; markers tell them apart in grey
STYLE = {
    "gradient": ("#0072B2", "o", "--"), "noisy gradient": ("#56B4E9", "s", "-"), "matched filter": ("#CC79A7", "v", ""),
    "best assignment": ("#009E73", "^", ""), "three steps": ("#D55E00", "D", "-."),
}


def answer(found: Tightness, pictures: tuple[str, ...] = (), exit_code: int = 0) -> Answer:
    """The points in their three forms."""
    records = [{**found.setting, "x": p.x, "N": p.N, "bound": p.bound,
                **{f"predicted.{k}": v for k, v in p.predicted.items()},
                **{f"observed.{k}": v for k, v in p.observed.items()},
                **{f"se.{k}": v for k, v in p.se.items()}} for p in found.points]
    return Answer(found.to_dict(), records, _blocks(found, pictures), exit_code)


def _blocks(found: Tightness, pictures: tuple[str, ...]) -> list[Block]:
    s = found.setting
    blocks: list[Block] = [
        Prose(f"How close to the gradient bound decoders come, at V = {count(s['V'])}, L = {count(s['L'])}, "
              f"d = {count(s['d'])}" + ("" if s["trigger_in_value"] else ", trigger left out of the values"),
              heading=True),
        Prose("x = N d^2/(V^2 L ln V). The bound binds learners that see the first gradient in noise of its own "
              "sampling covariance. It does not bind the gradient without added noise, nor three steps.", remark=True),
        Table([Column("x"), Column("N"), Column("bound"), Column("argmax, in noise"), Column("argmax"),
               Column("three steps")],
              [(number(p.x), count(p.N), probability(p.bound), probability(p.predicted["noisy gradient"]),
                probability(p.predicted["gradient"]), probability(p.predicted["three steps"])) for p in found.points],
              title="Predicted: recall, and accuracy after three steps", groups=2),
    ]
    if found.points:
        blocks.append(Table(
            [Column("x"), Column("best assignment"), Column("matched filter"), Column("argmax, in noise"),
             Column("argmax"), Column("three steps")],
            [(number(p.x), *(_seen(p, name) for name in
                             ("best assignment", "matched filter", "noisy gradient", "gradient", "three steps")))
             for p in found.points],
            title=f"Simulated on {plural(found.seeds, 'seed')} a point (--seed {found.seed}), ± standard error"))
        over = [p for p in found.points if _beats(p, "three steps")]
        if over:
            blocks.append(Prose(f"From N = {count(over[0].N)} on, three steps answer more than the bound allows one "
                                "reading of the gradient: they look at the samples again."))
    blocks += [Prose(f"Picture: {path}") for path in pictures]
    return blocks


def _beats(p: Point, name: str) -> bool:
    """Whether what was seen is above the bound by more than three standard errors."""
    return p.observed[name] > p.bound + 3 * (p.se[name] or 0)


def _seen(p: Point, name: str) -> str:
    se = p.se[name]
    return probability(p.observed[name]) + ("" if se is None else f" ± {deviation(se)}")


def draw(found: Tightness, path: str) -> None:
    """Draw bound, predictions and simulations over x into a .svg, .png or .pdf file."""
    save(lambda plt: _figure(plt, found), path)


def _figure(plt: Any, found: Tightness) -> Any:
    from ..verification.decoders import bound

    figure, axes = plt.subplots(figsize=(6.8, 4.6), layout="constrained")
    x = np.array([p.x for p in found.points])
    s = found.setting
    fine = np.geomspace(x[0], x[-1], CURVE)
    most = bound(s["V"], s["L"], s["d"], fine * s["V"] ** 2 * s["L"] * np.log(s["V"]) / s["d"] ** 2)
    axes.fill_between(fine, most, TOP, color="#EEEEEE", lw=0)
    axes.plot(fine, most, color="black", lw=2.2, label="bound for readers in noise")
    for name, (colour, marker, line) in STYLE.items():
        label = WORDS[name]
        if line:
            axes.plot(x, [p.predicted[name] for p in found.points], color=colour, ls=line, lw=1.6,
                      label=label + ", predicted")
        axes.errorbar(x, [p.observed[name] for p in found.points], [2 * (p.se[name] or 0) for p in found.points],
                      color=colour, marker=marker, ls="", ms=5, mfc="white", capsize=2, label=label + ", simulated")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.set_xlim(x[0] / MARGIN, x[-1] * MARGIN)
    axes.set_ylim(0, TOP)
    axes.set_xlabel("N d² / (V² L ln V)")
    axes.set_ylabel("share of the facts answered right")
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    sizes = f"V = {s['V']}, L = {s['L']}, d = {s['d']}{value}"
    axes.set_title(f"One reading of the first gradient, and three steps\n{sizes}", fontsize=10)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure
