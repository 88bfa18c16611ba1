"""Options from the declared parameters: one declaration drives validation, help and the words of an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..errors import SettingError
from ..numerics.formatting import parse_integer, parse_real
from ..settings import PARAMETERS, Parameter
from .streams import BadInput, shown

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic in new versions of click only


@dataclasses.dataclass(frozen=True)
class Extra(Parameter):
    """A parameter of a command, not of a setting; `words` says its domain where the ends don't belong."""

    words: str = ""

    @property
    def domain(self) -> str:
        """The allowed values, in words."""
        return self.words or super().domain


_ABOVE_0, _BELOW_1 = math.nextafter(0, 1), math.nextafter(1, 0)
_SHARE = "a number above 0 and below 1"

EXTRA: dict[str, Parameter] = {
    p.name: p
    for p in (
        Extra("target", "accuracy to be reached", "real", _ABOVE_0, _BELOW_1, default=0.99, words=_SHARE),
        Extra("at", "critical level of the observable, and the boundary in phase diagrams", "real", _ABOVE_0, _BELOW_1,
              default=0.5, words=_SHARE),
        Extra("ratio", "training samples a fact, N/V, instead of --N", "real", _ABOVE_0, 1e9,
              words="a number above 0 and at most 1e+09"),
        Extra("bits", "bits that a parameter holds, for the bits bound", "real", _ABOVE_0, 1024, default=16.0,
              words="a number above 0 and at most 1024"),
        Extra("seeds", "independently drawn models a setting", "integer", 1, 10**7, default=32),
        Extra("seed", "fixes everything random; drawn and shown where absent", "integer", 0, 2**53),
        Extra("points", "numbers of samples, or of dimensions, to compute", "integer", 2, 64),
        Extra("jobs", "processes that share the work; the answer doesn't depend on it", "integer", 1, 1024, default=1),
        Extra("port", "port of this machine", "integer", 1, 65535),
        Extra("n_test", "fresh sequences a seed on which attention and accuracy are counted", "integer", 1, 10**9,
              default=4096),
        Extra("margin", "largest difference that still counts as agreement", "real", _ABOVE_0, _BELOW_1, default=0.02,
              words=_SHARE),
        Extra("observable", "what has to reach the target", "choice", default="accuracy",
              choices=("attention", "recall", "accuracy")),
        Extra("facts", "facts to be stored, each with an output of its own", "integer", 2, 1e15),
        Extra("rank", "rank of a further Hebbian memory, at most d", "integer", 1, 1e9, (2, 16)),
        Extra("zipf", "exponent of Zipf's law, for facts of unequal frequency", "real", 1.001, 20),
        Extra("classes", "outputs that the facts of Zipf's law share, at most d/4", "integer", 2, 1e8, (2, 8)),
        Extra("samples", "samples from which Zipf's facts are learned", "integer", 1, 1e15),
        Extra("steps", "further steps of gradient descent", "integer", 1, 10**6, default=100),
        Extra("for", "the size to solve for", "choice", choices=("V", "L", "d", "N", "m")),
        Extra("normalise", "what is done to the embeddings: nothing, one factor a matrix, or every row to norm 1",
              "choice", default="none", choices=("none", "scale", "rows")),
    )
}

# How the help names a parameter of a setting where its declaration says more than fits beside an option.
IN_HELP = {
    "V": "vocabulary size",
    "L": "sequence length",
    "d": "embedding dimension",
    "N": "training samples",
    "m": "width of the random MLP; without it, attention only",
    "activation": "of the MLP: relu, identity, gelu, tanh, erf, quadratic, or an expression in x",
    "trigger_in_value": "trigger in values and keys, or in keys alone",
    "eta": "learning rate of the first step; the limit 0 where absent",
    "gamma": "learning rate of steps two and three; the limit infinity where absent",
}
DOMAIN_IN_HELP = {"activation": "", "for": "", "observable": ""}


def option_of(name: str) -> str:
    """The option that sets a parameter: trigger_in_value -> --trigger-in-value."""
    return "--" + name.replace("_", "-")


def bad_setting(error: SettingError) -> BadInput:
    """The library's complaint about a parameter, in terms of the option that set it."""
    message, name = str(error), option_of(error.name)
    if message.startswith(f"{error.name}="):
        return BadInput(f"{name} {message.removeprefix(f'{error.name}=')}")
    return BadInput(f"{name}: {message}")


class Declared(ParamType):
    """The type of an option that sets a declared parameter; every complaint names its domain."""

    def __init__(self, parameter: Parameter, needed: bool = False):
        self.parameter, self.needed = parameter, needed
        self.name = {"integer": "integer", "real": "number"}.get(parameter.kind, "name")

    def check_given(self, value: object) -> None:
        """Raise `BadInput` where the option is needed and was not given."""
        p = self.parameter
        if self.needed and value is None:
            raise BadInput(f"{option_of(p.name)} is missing: {p.domain} ({p.meaning})")

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        p = self.parameter
        typed = value
        domain = p.domain.replace(", or none", "; leave it out for none")
        refusal = BadInput(f"{option_of(p.name)} {shown(value)} is not {domain}", ctx)
        if isinstance(value, str) and p.kind in ("integer", "real"):
            typed = parse_integer(value) if p.kind == "integer" else parse_real(value)
            if typed is None:
                raise refusal
        try:
            checked: object = p.check(typed)
        except SettingError as error:
            if p.kind == "activation":  # it says what is wrong with the expression
                raise bad_setting(error) from None
            raise refusal from None
        return checked

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        kinds = {"integer": "INTEGER", "real": "NUMBER", "activation": "PHI"}
        return kinds.get(self.parameter.kind, "NAME")

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(c) for c in self.parameter.choices if c.startswith(incomplete)]


def option(name: str, *, required: bool = False, help: str | None = None,
           among: Mapping[str, Parameter] = PARAMETERS, **more: Any) -> click.Option:
    """The option of one declared parameter. click folds case, so the name is given explicitly."""
    p = among.get(name) or EXTRA[name]
    text = help or (IN_HELP.get(name, p.meaning) if among is PARAMETERS else p.meaning)
    if p.kind != "flag" and (domain := DOMAIN_IN_HELP.get(name, _brief_domain(p))):
        text += f"; {domain}"
    if required:
        text += "  [required]"
    else:
        more.setdefault("default", p.default)
        if more["default"] is not None:
            text += f"  [default: {_default_in_help(more['default'])}]"

    if p.kind == "flag":
        return flag(name, text, switch=True, **more)
    return click.Option([option_of(name), name], type=Declared(p, required), help=text, **more)


def _brief_domain(p: Parameter) -> str:
    """The domain beside the metavar, which says integer or number already."""
    if p.kind == "choice":
        return ", ".join(p.choices)
    domain = p.domain.removesuffix(", or none")
    return domain.removeprefix("an integer ").removeprefix("a number ").replace("e+", "e").replace("e0", "e")


def _default_in_help(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def setting_options(required: Sequence[str] = ("V", "L", "d", "N"), leave_out: Sequence[str] = (),
                    among: Mapping[str, Parameter] = PARAMETERS) -> list[click.Parameter]:
    """An option for each parameter of a setting, in the order of their declaration."""
    return [option(name, required=name in required, among=among) for name in among if name not in leave_out]


def flag(name: str, help: str, *, switch: bool = False, **more: Any) -> click.Option:
    """--name; as a `switch` also --no-name."""
    dashed = option_of(name)
    return click.Option([f"{dashed}/--no-{dashed[2:]}" if switch else dashed, name], is_flag=True, help=help, **more)


class _OneOf(click.Choice):  # type: ignore[type-arg]
    """click's choice, with our words for what is none of them."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if value in self.choices:
            return value
        assert param is not None
        several = f"one of {', '.join(self.choices)}"
        allowed = several if len(self.choices) > 1 else f"{self.choices[0]}, the only choice"
        raise BadInput(f"{param.opts[0]} {shown(value)} is not {allowed}", ctx)


def choice(name: str, choices: Sequence[str], help: str, *, metavar: str, **more: Any) -> click.Option:
    """An option that takes one of a few words."""
    return click.Option([option_of(name), name], type=_OneOf(choices), metavar=metavar, help=help, **more)


def file_option(name: str, help: str, *, metavar: str = "FILE", **more: Any) -> click.Option:
    """An option whose value is free text: a file, a grid, a list of values."""
    return click.Option([option_of(name), name], metavar=metavar, help=help, **more)


def plot_option() -> click.Option:
    """--plot FILE, which may be repeated."""
    return file_option("plot", "draw it into FILE.svg, FILE.png or FILE.pdf; may be repeated", multiple=True)
