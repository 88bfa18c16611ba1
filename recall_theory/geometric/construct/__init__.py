"""Transformer layers that hold N R facts in their subject embeddings, written down weight by weight."""

from __future__ import annotations

from .build import build
from .model import Layer, Model
from .tables import draw_bijections, word_tables

__all__ = ["Layer", "Model", "build", "draw_bijections", "word_tables"]
