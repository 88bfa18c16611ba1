"""The parameters of a problem: what each means, its domain, and the checks that refuse everything else.

Every parameter is declared once, as a field of its setting: its symbol, type, meaning, domain and typical range. The
declaration drives validation here, the options of the command line, the symbols of the formulas and the random inputs
of the tests. One `Setting` drives prediction and simulation alike.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

from .errors import SettingError as SettingError
from .errors import brief_repr
from .numerics.formatting import count, number, sizes

SIZES = ("V", "L", "d", "N", "m")  # of a setting; each but the last has a value in all settings
EMBEDDINGS = ("gaussian", "sphere", "orthogonal")
OBSERVABLES = ("attention", "recall", "accuracy")  # what is predicted and observed, in the order of tables
OBSERVABLE_MEANINGS = {
    "attention": "the informative token is attended",
    "recall": "a fact is answered right, once attended",
    "accuracy": "a fresh sequence is answered right",
}
KEYS_ONLY = "trigger left out of the values"  # what is said where trigger_in_value is False
_HUGE = 1e15  # floats hold every integer up to here; beyond it V and N would be silently rounded
N_TEST = 4096  # fresh sequences a seed on which attention and accuracy are counted, where nothing else is said
MOST_SEEDS = 10**7  # of one run
MOST_BITS = 64  # of an entry of Val
SMALL_RATES = 1e-3  # logits after step one, and eta/gamma, up to which eta counts as tending to 0
_ABOVE_0, _BELOW_1 = math.nextafter(0, 1), math.nextafter(1, 0)  # ends of a domain that excludes 0, and 1
_WORDS = {"choice": "one of {}", "flag": "true or false",
         "activation": "a name (identity, relu, gelu, tanh, erf, quadratic) or an expression in x"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter: where every other part of the project learns of it.

    `kind` is "integer", "real", "choice", "flag" or "activation"; `low` and `high` bound the domain, both
    included (`share` and `above_0` exclude them); `typical` is the range from which tests draw.
    """

    name: str
    meaning: str
    kind: str
    low: float = -math.inf
    high: float = math.inf
    typical: tuple[Any, ...] = ()
    default: Any = None
    optional: bool = False
    choices: tuple[str, ...] = ()

    @property
    def domain(self) -> str:
        """The allowed values, in words."""
        if self.kind in _WORDS:
            return _WORDS[self.kind].format(", ".join(self.choices))
        noun = "an integer" if self.kind == "integer" else "a number"
        if self.low == _ABOVE_0:
            return f"{noun} above 0 and {'below 1' if self.high == _BELOW_1 else f'at most {self.high:g}'}"
        bounds = f"from {self.low:g} to {self.high:g}" if math.isfinite(self.high) else f"of at least {self.low:g}"
        return f"{noun} {bounds}" + (", or none" if self.optional else "")

    @property
    def required(self) -> bool:
        """Whether a setting must give it."""
        return self.default is None and not self.optional

    def check(self, value: Any) -> Any:
        """`value` in its canonical type; `SettingError` names the parameter and its domain."""
        if value is None and self.optional:
            return None
        if self.kind == "activation":
            from .activations import canonical  # scipy is needed only here

            return canonical(value)
        if self.kind == "choice" and isinstance(value, str) and value in self.choices:
            return value
        if self.kind == "flag" and isinstance(value, numbers.Integral) and value in (0, 1):
            return bool(value)
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if is_number and self.kind in ("integer", "real"):
            # Compared as it is: a float holds neither all integers nor all fractions. NaN lies in no domain.
            inside = self.low <= value <= self.high and abs(value) < math.inf
            if inside and (self.kind == "real" or value == math.floor(value)):
                return float(value) if self.kind == "real" else int(value)
        raise SettingError(self.name, f"{self.name}={brief_repr(value)} is not {self.domain}")


def share(name: str, meaning: str, default: float | None = None) -> Parameter:
    """The declaration of a number above 0 and below 1, both excluded."""
    return Parameter(name, meaning, "real", _ABOVE_0, _BELOW_1, default=default)


def above_0(name: str, meaning: str, high: float, default: float | None = None) -> Parameter:
    """The declaration of a number above 0 and at most `high`."""
    return Parameter(name, meaning, "real", _ABOVE_0, high, default=default)


def declared(meaning: str, kind: str, low: float = -math.inf, high: float = math.inf, typical: tuple[Any, ...] = (), *,
             default: Any = dataclasses.MISSING, choices: tuple[str, ...] = ()) -> Any:
    """The field of a setting whose parameter this declares, as `Parameter` describes it.

    Without a `default` it must be given; None as the default is allowed as a value, whatever the domain.
    """
    parameter = Parameter("", meaning, kind, low, high, typical, None if default is dataclasses.MISSING else default,
                          default is None, choices)
    return dataclasses.field(default=default, metadata={"parameter": parameter})


@dataclass_transform(field_specifiers=(declared,), frozen_default=True)
class BaseSetting:
    """The base of settings: a subclass is a frozen dataclass whose fields are `declared` parameters.

    Each field is checked and brought to its canonical type when an object is made, and then `check_together` is called,
    which a subclass overrides for rules between fields. `parameters` are the declarations by name.
    """

    parameters: ClassVar[dict[str, Parameter]] = {}

    def __init_subclass__(cls) -> None:
        fields = dataclasses.fields(dataclasses.dataclass(frozen=True)(cls))  # type: ignore[arg-type]
        cls.parameters = {f.name: dataclasses.replace(f.metadata["parameter"], name=f.name) for f in fields}

    def __post_init__(self) -> None:
        for name, parameter in self.parameters.items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))
        self.check_together()

    def check_together(self) -> None:
        """Raise `SettingError` where fields that are right one by one do not go together."""

    def to_dict(self) -> dict[str, Any]:
        """The parameters by name, as the JSON output shows them."""
        return {name: getattr(self, name) for name in self.parameters}

    def replace(self, **changes: Any) -> Self:
        """The same setting with some parameters changed, validated again."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]  # subclasses are dataclasses


class Setting(BaseSetting):
    """One problem: the sizes of the task and the model, and the convention of the embeddings.

    V, L, d and N are integers (see `PARAMETERS` for the domains). `m` and `activation` belong to
    the Attention-MLP model. `embedding` is "gaussian" (entries iid N(0, 1/d)), "sphere" (the same,
    normalised) or "orthogonal" (orthonormal rows, d >= V). `eta` and `gamma` are both finite or both
    None, which is the limit eta -> 0, eta*gamma -> infinity that the theory describes.

    `activation` is a name, an expression in x or a sympy object (see `recall_theory.activations`); it is
    kept as its canonical text. m alone means relu.

    Raises `SettingError` (a `ValueError`) that names the parameter, the value and the domain.

    >>> Setting(V=1024, L=64, d=256, N=65536).ratio
    64.0
    """

    V: int = declared("vocabulary size: tokens, labels and facts", "integer", 2, _HUGE, (64, 2048))
    L: int = declared("sequence length: one informative token and L-1 noise tokens", "integer", 1, 1e9, (4, 256))
    d: int = declared("embedding dimension", "integer", 1, 1e9, (16, 512))
    N: int = declared("training samples, the same in each of the three steps", "integer", 1, _HUGE, (128, 2_000_000))
    m: int | None = declared("width of the fixed random MLP; without it, attention only", "integer", 1, 1e9, (64, 8192),
                             default=None)
    activation: str | None = declared(
        "activation phi of the MLP: identity, relu, gelu, tanh, erf, quadratic, or an expression in x such as "
        "x**3 - 3*x; relu where only m is given", "activation", default=None)
    embedding: str = declared("law of the random embeddings", "choice", default="gaussian", choices=EMBEDDINGS)
    trigger_in_value: bool = declared("whether the trigger is part of the values, not of the keys alone", "flag",
                                      default=True)
    eta: float | None = declared("learning rate of step one; eta -> 0 if absent", "real", 1e-300, 1e300, default=None)
    gamma: float | None = declared("of steps two and three; infinite if absent", "real", 1e-300, 1e300, default=None)

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except SettingError as error:
            value = getattr(self, error.name)
            if error.name in SIZES and hasattr(value, "__len__") and not isinstance(value, str | bytes | dict):
                raise SettingError(error.name, f"{error}; use predict_many for arrays") from None
            raise

    def check_together(self) -> None:
        if self.embedding == "orthogonal" and self.d < self.V:
            raise SettingError("d", f"d={self.d} is too small: orthogonal embeddings need d of at "
                               f"least V={self.V}")
        beta_of(self.eta, self.gamma)
        object.__setattr__(self, "activation", activation_in_use(self.m, self.activation))

    @property
    def ratio(self) -> float:
        """lambda = N/V, the expected number of training samples of each fact."""
        return self.N / self.V

    @property
    def is_limit(self) -> bool:
        """Whether the learning rates are taken to the limit that the theory describes."""
        return self.eta is None

    @property
    def beta(self) -> float:
        """eta*gamma, the inverse temperature of the attention per unit of score; infinity in the limit."""
        return math.inf if self.eta is None or self.gamma is None else self.eta * self.gamma

    @property
    def logits_after_step_one(self) -> float:
        """A bound on the root mean square of the logits that step one leaves, over labels and seeds; 0 in the limit.

        It is eta |f| |fbar| sqrt((1/V + 1/N) (1/d + 1/V)), where f = h and fbar = hbar are the value of one position
        and the mean of a sequence, |h|^2 = 1 + e and |hbar|^2 = (1 + e/L)/L with e = 1 if the trigger is in the
        values, else 0; with an MLP |f|^2 is the mean of phi(x)^2 over normal x of variance |h|^2, and so for hbar. See
        the derivation of finite rates.

        >>> round(Setting(V=1024, L=64, d=256, N=65536, eta=1e-3, gamma=1e11).logits_after_step_one, 10)
        3.921e-07
        """
        if self.eta is None:
            return 0.0
        e = int(self.trigger_in_value)
        powers = [1.0 + e, power_of_mean(self.L, e)]
        if self.activation is not None:
            from .activations import activation, gaussian_mean

            phi = activation(self.activation)
            powers = [float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, power)) for power in powers]
        return self.eta * math.sqrt(square_of_logits(self.V, self.d, self.N, *powers))

    @property
    def has_small_rates(self) -> bool:
        """Whether eta is as good as 0: logits after step one, and step one's share in Val, of `SMALL_RATES` at most.

        Then only beta = eta*gamma matters, and the limit eta -> 0 at this beta is what is simulated.
        """
        if self.eta is None or self.gamma is None:
            return True
        return self.logits_after_step_one <= SMALL_RATES and self.eta / self.gamma <= SMALL_RATES

    def describe(self) -> str:
        """The setting in one line of words.

        >>> Setting(V=1024, L=64, d=256, N=65536).describe()
        'V = 1,024, L = 64, d = 256, N = 65,536'
        """
        parts = [f"{name} = {count(getattr(self, name))}" for name in SIZES[:4]]
        if self.embedding != "gaussian":
            parts.append(f"{self.embedding} embeddings")
        if self.m is not None:
            parts.append(f"m = {count(self.m)} ({self.activation})")
        if not self.trigger_in_value:
            parts.append(KEYS_ONLY)
        if not self.is_limit:
            parts.append(f"eta = {number(self.eta)}, gamma = {number(self.gamma)}")
        return ", ".join(parts)


PARAMETERS = Setting.parameters


def sizes_and_trigger(values: Mapping[str, Any], names: Iterable[str]) -> str:
    """The sizes that are given, in words, and that the trigger is in keys only where it is.

    >>> sizes_and_trigger({"L": 64, "d": 256, "trigger_in_value": False}, "dL")
    'd = 256, L = 64, trigger left out of the values'
    """
    return sizes(values, names) + ("" if values["trigger_in_value"] else f", {KEYS_ONLY}")


def power_of_mean(L: Any, e: Any) -> Any:
    """|hbar|^2 = (1 + e/L)/L, the squared length of the mean of a sequence's L values; numbers or sympy expressions."""
    return (1 + e / L) / L


def square_of_logits(V: Any, d: Any, N: Any, value: Any, of_mean: Any) -> Any:
    """(1/V + 1/N) (1/d + 1/V) |f|^2 |fbar|^2: the square of the logits after step one, in units of eta^2, from the
    squared lengths of a value and of a sequence's mean; numbers or sympy expressions."""
    return value * of_mean * (1 / V + 1 / N) * (1 / d + 1 / V)


def beta_of(eta: float | None, gamma: float | None) -> float | None:
    """eta*gamma, None where neither is given, which is the limit.

    Raises `SettingError` where only one is given, or one is outside its domain.

    >>> beta_of(1e-6, 1e14), beta_of(None, None)
    (100000000.0, None)
    """
    if (eta is None) != (gamma is None):
        missing = "eta" if eta is None else "gamma"
        raise SettingError(missing, f"eta and gamma go together: give both, or neither for the limit ({missing} is "
                           "missing)")
    return None if eta is None else float(PARAMETERS["eta"].check(eta)) * float(PARAMETERS["gamma"].check(gamma))


def activation_in_use(m: object, activation: Any) -> str | None:
    """The canonical activation of an MLP of width m, relu where none is given; None where there is no MLP.

    Raises `SettingError` for an activation that is not accepted, or that is given without m.

    >>> activation_in_use(64, None), activation_in_use(64, "x^2 - 1"), activation_in_use(None, None)
    ('relu', 'quadratic', None)
    """
    if m is not None:
        return str(PARAMETERS["activation"].check("relu" if activation is None else activation))
    if activation is not None:
        raise SettingError("activation", f"activation={activation!r} needs an MLP: give its width m too")
    return None


def check_proportion(name: str, value: Any) -> float:
    """`value` as a float; `SettingError` unless it is a number above 0 and below 1, both excluded."""
    return float(share(name, "").check(value))


def check_at_most(name: str, value: Any, high: float) -> float:
    """`value` as a float; `SettingError` unless it is a number above 0 and at most `high`."""
    return float(above_0(name, "", high).check(value))


def check_integer(name: str, value: Any, low: float, high: float = math.inf) -> int:
    """`value` as an int; `SettingError` unless it is an integer from `low` to `high`, both included."""
    return int(Parameter(name, "", "integer", low, high).check(value))


def check_seeds(seeds: Any) -> int:
    """The number of seeds of a run; `SettingError` unless it is an integer from 1 to `MOST_SEEDS`."""
    return check_integer("seeds", seeds, 1, MOST_SEEDS)


def check_seed(seed: Any) -> int:
    """The seed itself, or a drawn one for None; `SettingError` unless it is an integer of at least 0."""
    return secrets.randbits(32) if seed is None else check_integer("seed", seed, 0)
