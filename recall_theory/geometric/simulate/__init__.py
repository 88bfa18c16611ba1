"""Geometric recall, seen: random codes, maps and bijections, and what they recall."""

from __future__ import annotations

from .run import GeometricObservation, simulate

__all__ = ["GeometricObservation", "simulate"]
