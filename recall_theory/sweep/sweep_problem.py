"""What a stored result is a result of: the setting, the model's version, the seed and the test sequences.

Results are filed under a hash of all four, so that no two different problems can ever share a place. The random
streams of a problem depend on its seed and its setting, not on its place in a grid: a grid may grow later.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

from ..settings import PARAMETERS, Setting

# The version of the simulated model: raised by every change after which a seed no longer gives the observables that
# it gave before (a test holds known ones against it). Results of another version are left where they are, unused.
SIMULATION_VERSION = 1

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_DEFAULTS = tuple(sorted((name, parameter.default) for name, parameter in PARAMETERS.items()))

SEED_BITS = 53  # a cell's seed can be given to `recall-theory simulate --seed`


@dataclasses.dataclass(frozen=True, slots=True)
class SweepProblem:
    """One cell of a sweep. `n_test` is None where observables are summed over all sequences, `model` is the version of
    the simulated model.

    `key` is the hash under which results are filed, in hexadecimal; `cell_seed` the seed of this cell's own streams:
    `simulate` with it gives the same values.

    >>> problem = SweepProblem(Setting(V=32, L=4, d=64, N=1024), seed=1)
    >>> problem == SweepProblem.from_json(problem.to_json())
    True
    """

    setting: Setting
    seed: int
    n_test: int | None = None
    model: int = SIMULATION_VERSION
    key: str = dataclasses.field(init=False, repr=False, compare=False)
    cell_seed: int = dataclasses.field(init=False, repr=False, compare=False)
    _line: str = dataclasses.field(init=False, repr=False, compare=False)  # kept: a sweep asks for it again

    def __post_init__(self) -> None:
        canonical = self._canonical()
        line = f"[{self.model},{self.seed},{'null' if self.n_test is None else self.n_test},{canonical}]"
        stream = hashlib.sha256(f"stream {self.seed} {canonical}".encode()).digest()
        object.__setattr__(self, "_line", line)
        object.__setattr__(self, "key", hashlib.sha256(line.encode()).hexdigest())
        object.__setattr__(self, "cell_seed", int.from_bytes(stream[:8], "big") >> (64 - SEED_BITS))

    def to_json(self) -> str:
        """All that identifies the problem, in one canonical line."""
        return self._line

    def _canonical(self) -> str:
        # Defaults are left out, so that a parameter added later (with a default that changes nothing) leaves the
        # hash of every setting as it was.
        setting = self.setting
        return _ENCODE({name: value for name, default in _DEFAULTS if (value := getattr(setting, name)) != default})

    @classmethod
    def from_json(cls, text: str) -> SweepProblem:
        """The problem of a line of `to_json`; ValueError (`SettingError`) or TypeError for any other text."""
        model, seed, n_test, values = json.loads(text)
        return cls(Setting(**values), seed, n_test, model)

