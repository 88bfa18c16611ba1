"""Facts held in the geometry of the subject embeddings, not in a weight matrix.

N subjects, R relations, each a bijection from the subjects to one shared set of N attributes: N R facts. The
embedding of a subject is a superposition of the codes of its attributes, one a relation, and a small ReLU MLP
selects by relation.
"""

from __future__ import annotations

from .setting import GeometricSetting

__all__ = ["GeometricSetting"]
