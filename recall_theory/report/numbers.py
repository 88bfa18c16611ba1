"""The formatting of numbers, which pages share, stands in `recall_theory.numerics.formatting`."""

from ..numerics.formatting import NOTHING, count, deviation, number, percent, plural, probability, ratio, signed

__all__ = ["NOTHING", "count", "deviation", "number", "percent", "plural", "probability", "ratio", "signed"]
