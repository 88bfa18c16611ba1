"""The formulas that pages show, by model: which of them, and on which side of them the size stands that they bound."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping

from ..settings import Setting
from ..theory.formulas.registry import SYMBOLS
from .mathematics import formula_math, symbol_math

__all__ = ["GROUPS", "Group", "groups_of", "model_of"]

SIZES = ("V", "L", "d", "N", "m")
NOISE = ("noise", "=")


@dataclasses.dataclass(frozen=True)
class Group:
    """Formulas of one model under a heading; `bounds` maps each name to the size that it bounds and the relation."""

    key: str
    heading: str
    model: str
    words: str
    bounds: Mapping[str, tuple[str, str]]

    def formulas(self) -> list[dict[str, str]]:
        """The formulas as a page shows them: name, heading, math (MathML), provenance, reference and regime."""
        from ..theory.formulas.registry import formulas

        return [{"name": name, "heading": _heading(formulas[name].title), "math": formula_math(formulas[name], *bound),
                 "provenance": formulas[name].provenance, "reference": formulas[name].reference,
                 "regime": formulas[name].regime.replace("<<", "≪").replace(">>", "≫")}
                for name, bound in self.bounds.items()]

    def symbols(self) -> list[str]:
        """Each symbol in the formulas that is not a size, as MathML, and its meaning."""
        from ..theory.formulas.registry import formulas

        names = dict.fromkeys(a for name in self.bounds for a in formulas[name].arguments if a not in SIZES)
        return [f"{symbol_math(name)} {SYMBOLS[name].meaning}" for name in names]


GROUPS = {group.key: group for group in (
    Group("laws", "The leading laws", "plain",
          "What a size must reach so that one cause alone does no harm, to leading order in large sizes. The "
          "prediction counts all causes together, at any size.",
          {"law.attention.trigger_overlap": ("d", "≥"), "law.attention.mean_embedding": ("N", "≥"),
           "law.attention.noise_tokens": ("N", "≥"), "law.attention.informative_tokens": ("N", "≥"),
           "law.recall.interference": ("V", "≤"), "law.recall.mean_bias": ("N", "≥"),
           "law.recall.coverage": ("N", "≥")}),
    Group("noise", "The noise terms of recall", "plain",
          "Each is one cause's variance over the squared signal, at typical lengths, once the right token is attended.",
          {"recall.interference": NOISE, "recall.gradient_noise": NOISE, "recall.mean_bias": NOISE,
           "recall.token_overlap": NOISE}),
    Group("mlp", "The leading laws with an MLP", "mlp",
          "What products of sizes must reach; the activation enters through a few of its averages over Gaussian "
          "inputs.",
          {"law.attention.trigger_overlap": ("d", "≥"), "mlp.law.attention.mean_bias": ("N^2 d^3", "≥"),
           "mlp.law.attention.gradient_noise": ("N^2 d^4", "≥"), "mlp.law.attention.mlp_mean": ("m N^2 d^2", "≥"),
           "mlp.law.attention.mlp_noise": ("m N^2 d^2", "≥"), "mlp.law.recall.interference": ("d^2", "≥"),
           "mlp.law.recall.mlp_noise": ("m d", "≥"), "mlp.law.recall.mean_bias": ("N d", "≥"),
           "law.recall.coverage": ("N", "≥")}),
    Group("orthogonal", "The leading laws with orthogonal embeddings", "orthogonal",
          "Orthonormal embeddings leave no overlaps: what is left is the counting of samples.",
          {"orthogonal.attention.least_samples": ("N", "≥"), "orthogonal.recall.most": ("N", "≥"),
           "orthogonal.recall.all": ("N", "≥")}),
)}


def groups_of(models: Collection[str]) -> list[Group]:
    """The groups of some models: "plain", "mlp" or "orthogonal"."""
    return [group for group in GROUPS.values() if group.model in models]


def model_of(setting: Setting) -> str:
    """The model whose formulas hold at a setting: "mlp", "orthogonal" or "plain"."""
    if setting.m is not None:
        return "mlp"
    return "orthogonal" if setting.embedding == "orthogonal" else "plain"


def _heading(title: str) -> str:
    """The title without its first part, which the formula itself says: "Least N: every fact must occur"."""
    rest = re.sub(r"^(Least|Largest) \w+: |^[\w^ ]+ that (?=.* asks? for)", "", title)
    return rest[:1].upper() + rest[1:]
