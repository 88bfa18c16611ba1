"""Options from the declared parameters: one declaration drives validation, help and the words of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..errors import SettingError
from ..numerics.formatting import parse_integer, parse_real
from ..settings import MOST_BITS, MOST_SEEDS, N_TEST, OBSERVABLES, PARAMETERS, SIZES, Parameter, above_0, share
from .streams import BadInput, shown

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic in new versions of click only


EXTRA: dict[str, Parameter] = {  # parameters of commands, not of a setting
    p.name: p
    for p in (
        share("target", "accuracy to be reached", 0.99),
        share("at", "critical level of the observable, and the boundary in phase diagrams", 0.5),
        above_0("ratio", "training samples a fact, N/V, instead of --N", 1e9),
        above_0("bits", "bits that a parameter holds, for the bits bound", 1024, 16.0),
        share("margin", "largest difference that still counts as agreement", 0.02),
        Parameter("seeds", "independently drawn models a setting", "integer", 1, MOST_SEEDS, default=32),
        Parameter("seed", "fixes everything random; drawn and shown where absent", "integer", 0, 2**53),
        Parameter("points", "numbers of samples, or of dimensions, to compute", "integer", 2, 64),
        Parameter("jobs", "processes that share the work; the answer doesn't depend on it", "integer", 1, 1024,
                  default=1),
        Parameter("port", "port of this machine", "integer", 1, 65535),
        Parameter("n_test", "fresh sequences a seed on which attention and accuracy are counted", "integer", 1, 10**9,
                  default=N_TEST),
        Parameter("observable", "what has to reach the target", "choice", default="accuracy", choices=OBSERVABLES),
        Parameter("facts", "facts to be stored, each with an output of its own", "integer", 2, 1e15),
        Parameter("rank", "rank of a further Hebbian memory, at most d", "integer", 1, 1e9, (2, 16)),
        Parameter("zipf", "exponent of Zipf's law, for facts of unequal frequency", "real", 1.001, 20),
        Parameter("classes", "outputs that the facts of Zipf's law share, at most d/4", "integer", 2, 1e8, (2, 8)),
        Parameter("samples", "samples from which Zipf's facts are learned", "integer", 1, 1e15),
        Parameter("steps", "gradient steps at most, from rung 3 on", "integer", 1, 10**6, default=20_000),
        above_0("rate", "factor on the learning rate of the rung's rule", 1e3, 1.0),
        Parameter("for", "the size to solve for", "choice", choices=SIZES),
        Parameter("normalise", "what is done to the embeddings: nothing, one factor a matrix, or every row to norm 1",
                  "choice", default="none", choices=("none", "scale", "rows")),
    )
}

QUANTISED = {"bits": Parameter("bits", "bits that an entry of Val is quantised to after training; full precision where "
                               "absent", "integer", 1, MOST_BITS, optional=True)}


def option_of(name: str) -> str:
    """The option that sets a parameter: trigger_in_value -> --trigger-in-value."""
    return "--" + name.replace("_", "-")


def bad_setting(error: SettingError) -> BadInput:
    """The library's complaint about a parameter, in terms of the option that set it."""
    message = str(error)
    rest = message.removeprefix(f"{error.name}=").removeprefix(f"{error.name} ")
    return BadInput(f"{option_of(error.name)}{':' if rest == message else ''} {rest}")


def complaint(error: SettingError | click.ClickException) -> str:
    """What is wrong with the input, in one line that names the option."""
    if isinstance(error, SettingError):
        return bad_setting(error).format_message()
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        return f"{error.param.opts[0]} is missing: {error.param.help}"
    return error.format_message()


class Declared(ParamType):
    """The type of an option that sets a declared parameter; every complaint names its domain."""

    def __init__(self, parameter: Parameter):
        self.parameter = parameter
        self.name = {"integer": "integer", "real": "number"}.get(parameter.kind, "name")

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        p = self.parameter
        if value in p.choices:
            return value
        read = {"integer": parse_integer, "real": parse_real}.get(p.kind)
        typed = read(value) if read and isinstance(value, str) else None
        try:
            checked: object = p.check(value if typed is None else typed)
        except SettingError as error:
            if p.kind == "activation":  # it says what is wrong with the expression
                raise bad_setting(error) from None
            domain = p.domain.replace(", or none", "; leave it out for none")
            raise BadInput(f"{option_of(p.name)} {shown(value)} is not {domain}", ctx) from None
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
    text = help or p.meaning
    if not required:
        more.setdefault("default", p.default)
    if p.kind == "flag":
        return flag(name, text, switch=True, show_default=True, **more)
    if p.kind != "activation":  # its meaning says the domain; the metavar says integer or number already
        domain = ", ".join(p.choices) or p.domain.removesuffix(", or none")
        domain = domain.removeprefix("an integer ").removeprefix("a number ")
        text += f"; {domain.replace('e+', 'e').replace('e0', 'e')}"
    return click.Option([option_of(name), name], type=Declared(p), help=text, required=required, show_default=True,
                        **more)


def setting_options(required: Sequence[str] | None = None, leave_out: Sequence[str] = (),
                    among: Mapping[str, Parameter] = PARAMETERS) -> list[click.Parameter]:
    """An option for each parameter of a setting, in the order of their declaration; `required` are those that a setting
    must give where None."""
    return [option(name, required=p.required if required is None else name in required, among=among)
            for name, p in among.items() if name not in leave_out]


def flag(name: str, help: str, *, switch: bool = False, **more: Any) -> click.Option:
    """--name; as a `switch` also --no-name."""
    dashed = option_of(name)
    return click.Option([f"{dashed}/--no-{dashed[2:]}" if switch else dashed, name], is_flag=True, help=help, **more)


def choice(name: str, choices: Sequence[str], help: str, *, metavar: str, **more: Any) -> click.Option:
    """An option of one command that takes one of a few words."""
    declared = Declared(Parameter(name, "", "choice", choices=tuple(choices)))
    return click.Option([option_of(name), name], type=declared, metavar=metavar, help=help, **more)


def file_option(name: str, help: str, *, metavar: str = "FILE", **more: Any) -> click.Option:
    """An option whose value is free text: a file, a grid, a list of values."""

    def named(_: click.Context, __: click.Parameter, value: Any) -> Any:
        if "\0" in str(value):  # no file has such a name, and looking for one raises ValueError
            raise SettingError(name, f"{value!r} holds a null character, as no file's name does")
        return value

    return click.Option([option_of(name), name], metavar=metavar, help=help, callback=named, **more)


def plot_option() -> click.Option:
    return file_option("plot", "draw it into FILE.svg, FILE.png or FILE.pdf; may be repeated", multiple=True)
