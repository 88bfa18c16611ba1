"""How a critical size scales: found by simulation at several values, fitted, and set beside the predicted one."""

from .fit import Line, crossing, logistic, straight_line
from .run import Critical, Scaling, scaling

__all__ = ["Critical", "Line", "Scaling", "crossing", "logistic", "scaling", "straight_line"]
