"""Closed forms of geometric recall. Nothing here draws a random number or imports a construction."""

from __future__ import annotations

from .predict import GeometricPrediction, predict

__all__ = ["GeometricPrediction", "predict"]
