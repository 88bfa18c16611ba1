"""The formulas that the page shows, from the registry: typeset, with where each comes from and where it holds."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

from ...theory.formulas.registry import SYMBOLS, Formula
from ..mathematics import formula_math, symbol_math

__all__ = ["groups"]

SIZES = ("V", "L", "d", "N", "m")
MODELS = ("plain", "mlp", "orthogonal")
NOISE = ("noise", "=")

# Group -> (heading, when it is shown, what it says, {formula: the product of sizes that it bounds, and how}).
GROUPS: dict[str, tuple[str, str, str, dict[str, tuple[str, str]]]] = {
    "laws": (
        "The leading laws", "plain",
        "What a size must reach so that one cause alone does no harm, to leading order in large sizes. The prediction "
        "above counts all causes together, at any size.",
        {"law.attention.trigger_overlap": ("d", "≥"), "law.attention.mean_embedding": ("N", "≥"),
         "law.attention.noise_tokens": ("N", "≥"), "law.attention.informative_tokens": ("N", "≥"),
         "law.recall.interference": ("V", "≤"), "law.recall.mean_bias": ("N", "≥"),
         "law.recall.coverage": ("N", "≥")}),
    "noise": (
        "The noise terms of recall", "plain",
        "Each is one cause's variance over the squared signal, at typical lengths, once the right token is attended.",
        {"recall.interference": NOISE, "recall.gradient_noise": NOISE, "recall.mean_bias": NOISE,
         "recall.own_outputs": NOISE}),
    "mlp": (
        "The leading laws with an MLP", "mlp",
        "What products of sizes must reach; the activation enters through a few of its averages over Gaussian inputs.",
        {"law.attention.trigger_overlap": ("d", "≥"), "mlp.law.attention.mean_bias": ("N^2 d^3", "≥"),
         "mlp.law.attention.gradient_noise": ("N^2 d^4", "≥"), "mlp.law.attention.mlp_mean": ("m N^2 d^2", "≥"),
         "mlp.law.attention.mlp_noise": ("m N^2 d^2", "≥"), "mlp.law.recall.interference": ("d^2", "≥"),
         "mlp.law.recall.mlp_noise": ("m d", "≥"), "mlp.law.recall.mean_bias": ("N d", "≥"),
         "law.recall.coverage": ("N", "≥")}),
    "orthogonal": (
        "The leading laws with orthogonal embeddings", "orthogonal",
        "Orthonormal embeddings leave no overlaps: what is left is the counting of samples.",
        {"orthogonal.attention.least_samples": ("N", "≥"), "orthogonal.recall.most": ("N", "≥"),
         "orthogonal.recall.all": ("N", "≥")}),
}


def groups(models: Collection[str] = MODELS) -> str:
    """The groups of some models as HTML; the calculator shows those of the model at hand."""
    from ...theory import formulas

    return "\n".join(
        f'<section class="formulas" data-model="{model}" id="formulas-{key}">\n<h3>{escape(heading)}</h3>\n'
        f"<p>{escape(words)}</p>\n<dl>\n"
        + "\n".join(_entry(formulas[name], *bounds) for name, bounds in items.items())
        + f"\n</dl>\n{_symbols([formulas[name] for name in items])}</section>"
        for key, (heading, model, words, items) in GROUPS.items() if model in models)


def _entry(item: Formula, left: str, relation: str) -> str:
    # "Least N: every fact must occur" and "N d that the trigger asks for": the formula below has the first part.
    title = re.sub(r"^(Least|Largest) \w+: |^[\w^ ]+ that (?=.* asks? for)", "", item.title)
    regime = item.regime.replace("<<", "≪").replace(">>", "≫")
    return (f'<dt>{escape(title[:1].upper() + title[1:])}</dt>\n<dd data-formula="{item.name}"><div class="scroll">'
            f"{formula_math(item, left, relation)}</div>\n"
            f'<p class="source"><b>{item.provenance}</b> in {escape(item.reference)}; holds for {escape(regime)}. '
            f"<code>recall-theory formulas {item.name}</code></p></dd>")


def _symbols(items: list[Formula]) -> str:
    """What the symbols mean that are not sizes."""
    names = dict.fromkeys(a for item in items for a in item.arguments if a not in SIZES)
    if not names:
        return ""
    said = "; ".join(f"{symbol_math(name)} {escape(SYMBOLS[name].meaning)}" for name in names)
    return f'<p class="symbols">Here {said}.</p>\n'
