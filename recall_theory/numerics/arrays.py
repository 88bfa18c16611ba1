"""What arrays hold, for annotations, and dataclasses of arrays that have rows in common."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Base of a frozen dataclass whose arrays have a row each for the same things; other fields are all rows'."""

    def at(self, rows: slice | BoolArray | NDArray[np.intp]) -> Self:
        """Some of the rows."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: value[rows] for name, value in values.items()
                                            if isinstance(value, np.ndarray)})
