"""What a store of simulations says of the theory: verdicts, planes of two sizes, critical sizes.

Beside it the command that would make the store again. Nothing is simulated here.
"""

from .cells import Evidence, Refused, evidence
from .findings import Findings, Scanned, findings

__all__ = ["Evidence", "Findings", "Refused", "Scanned", "evidence", "findings"]
