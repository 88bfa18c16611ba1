"""What a stored result is a result of: the setting, the model's version, the seed and the test sequences.

Results are filed under a hash of all four, so that no two different problems can ever share a place. The random
streams of a problem depend on its seed and its setting, not on its place in a grid: a grid may grow later.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cached_property

from ..settings import PARAMETERS, Setting

# The version of the simulated model: raised by every change after which a seed no longer gives the observables that
# it gave before (a test holds known ones against it). Results of another version are left where they are, unused.
SIMULATION_VERSION = 1

SEED_BITS = 53  # a cell's seed can be given to `recall-theory simulate --seed`


@dataclasses.dataclass(frozen=True)
class SweepProblem:
    """One cell of a sweep. `n_test` is None where observables are summed over all sequences, `model` is the version of
    the simulated model.

    >>> problem = SweepProblem(Setting(V=32, L=4, d=64, N=1024), seed=1)
    >>> problem == SweepProblem.from_json(problem.to_json())
    True
    """

    setting: Setting
    seed: int
    n_test: int | None = None
    model: int = SIMULATION_VERSION

    def to_json(self) -> str:
        """All that identifies the problem, in one canonical line."""
        return f"[{self.model},{self.seed},{json.dumps(self.n_test)},{self._canonical}]"

    @classmethod
    def from_json(cls, text: str) -> SweepProblem:
        """The problem of a line of `to_json`; ValueError (`SettingError`) or TypeError for any other text."""
        model, seed, n_test, values = json.loads(text)
        return cls(Setting(**values), seed, n_test, model)

    @cached_property
    def key(self) -> str:
        """The hash under which results are filed, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def cell_seed(self) -> int:
        """The seed of this cell's own streams: `simulate` with it gives the same values."""
        digest = hashlib.sha256(f"stream {self.seed} {self._canonical}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)

    @cached_property
    def _canonical(self) -> str:
        # Defaults are left out, so that a parameter added later (with a default that changes nothing) leaves the
        # hash of every setting as it was.
        given = {name: getattr(self.setting, name) for name, p in PARAMETERS.items()
                 if getattr(self.setting, name) != p.default}
        return json.dumps(given, separators=(",", ":"), sort_keys=True)
