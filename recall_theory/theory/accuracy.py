"""`Accuracy`: how finely the theory computes. Every number that decides a value without being derived is here."""

from __future__ import annotations

import dataclasses

__all__ = ["DEFAULT", "Accuracy"]


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Node counts and switches of the quadratures, each with its reason. Doubling all counts moves no prediction by
    more than 0.001.

    >>> Accuracy().doubled().tau_nodes
    10
    """

    # the law of a seed
    tau_nodes: int = 5  # of |z_trig|^2, a gamma variable
    scale_nodes: int = 3  # of |rbar|^2 and of the tokens' squared noise, gamma variables of small spread
    lead_nodes: int = 16  # of the lead on either side of 0: Gauss-Legendre over its normal density
    ahead_nodes: int = 9  # of the snr at each tau, where the lead is positive
    behind_nodes: int = 3  # of the snr at each tau, where it is negative and attention is small
    score_steps: int = 8  # steps a standard deviation of a token's score
    reach: float = 7.0  # standard deviations to which normal variables are integrated

    def doubled(self) -> Accuracy:
        """The same with twice as many nodes of every kind."""
        counts = {f.name: 2 * getattr(self, f.name) for f in dataclasses.fields(self) if f.type == "int"}
        return dataclasses.replace(self, **counts)


DEFAULT = Accuracy()
