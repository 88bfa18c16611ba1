"""Predictions compared with simulations: seeds, intervals, verdicts, and anyone's formulas."""
