"""The program: which commands there are, and what each way of ending means to the shell."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click

from ..settings import SettingError
from . import errors, streams
from .group import Group

PROGRAM = "recall-theory"
COMPLETE_VARIABLE = "_RECALL_THEORY_COMPLETE"

# Command -> its one line in the list. A command lives in a module of its own name, imported only when
# it is asked for; more commands are added here.
COMMANDS = {
    "capacity": "How many facts a layer stores, and what limits it.",
    "predict": "Attention, recall and accuracy of one setting, in closed form.",
    "simulate": "The same, seen: train the model on many seeds.",
    "verify": "Prediction beside simulation over a grid, with a verdict.",
    "sweep": "Simulations over any grid, kept in a store and never run twice.",
    "scaling": "How a critical size scales: an exponent, simulated and predicted.",
    "report": "A page about a store: verdicts, figures, phase diagrams, laws.",
    "plot": "A figure about a store, for print.",
    "explore": "The calculator as a page: sliders, and predictions that follow.",
    "solve": "The largest V or L, or the least N or d, for a target.",
    "bounds": "What no learner can beat: lower bounds at a setting.",
    "tightness": "The gradient bound beside decoders that are simulated.",
    "beyond-orthogonal": "Random against orthogonal embeddings: facts stored, samples paid.",
    "phase": "What binds over a plane of two sizes, and where the target is reached.",
    "compare": "The other memories at the same size: Hebbian, linear, trained, orthogonal.",
    "train": "Gradient descent beyond the three steps: what they leave on the table.",
    "compare-activations": "Which activation remembers best in one setting, and why.",
    "geometric": "Facts in the geometry of embeddings: the second paper's model.",
    "formulas": "The formulas behind the numbers: the list, or one in full.",
    "cite": "How to cite the papers and this program.",
    "doctor": "Versions, linear algebra, cores and memory in use.",
    "completion": "The completion script of a shell.",
}

EPILOG = """\
\b
Examples:
  recall-theory capacity --d 256 --L 64
  recall-theory predict --V 1024 --L 64 --d 256 --N 65536

Exit codes: 0 done, or agreement; 1 disagreement; 2 bad input; 3 inconclusive; 70 internal error;
130 interrupted.
"""


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from .. import __version__

        streams.emit(f"{PROGRAM} {__version__}\n")
        ctx.exit()


program = Group(
    PROGRAM, COMMANDS, "recall_theory.cli",
    help="How much can a transformer remember? Closed forms that predict it, and a simulation that "
         "checks them.",
    epilog=EPILOG,
    params=[click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False,
                         callback=_version, help="Print the version and exit.")],
)


def run(arguments: list[str]) -> int:
    """Run one command line; every way of ending becomes an exit code and at most one line on stderr."""
    where = PROGRAM
    try:
        if COMPLETE_VARIABLE in os.environ:
            return _complete(os.environ[COMPLETE_VARIABLE])
        where = _called(arguments)
        code = _invoke(arguments)
        streams.finish()
        return code
    except errors.PipeClosed:
        streams.discard_stdout()
        return 0
    except KeyboardInterrupt:
        errors.say(f"{where}: interrupted")
        return errors.INTERRUPTED
    except SettingError as error:
        errors.say(f"{where}: {errors.short(errors.of_setting(error).message)}")
        return errors.BAD_INPUT
    except click.ClickException as error:
        errors.say(f"{where}: {errors.short(error.format_message())}")
        return errors.BAD_INPUT
    except Exception as error:
        if errors.debugging():
            import traceback

            traceback.print_exc()
        errors.say(f"{where}: internal error: {type(error).__name__}: {error} "
                   f"(set {errors.DEBUG}=1 for the traceback)")
        return errors.INTERNAL_ERROR


def _called(arguments: list[str]) -> str:
    """The command that the arguments begin with, for the line that says what went wrong."""
    words, group = [PROGRAM], program
    for argument in arguments:
        if argument not in group.summaries:
            break
        words.append(argument)
        command = group.get_command(None, argument)
        if not isinstance(command, Group):
            break
        group = command
    return " ".join(words)


def _invoke(arguments: list[str]) -> int:
    with warnings.catch_warnings():
        if not errors.debugging():
            warnings.simplefilter("ignore")  # stderr is for progress and for one line of error
        try:
            # Not program.main(): it turns a broken pipe and Ctrl-C into exit code 1.
            with program.make_context(PROGRAM, arguments) as ctx:
                result: Any = program.invoke(ctx)
                return result if isinstance(result, int) else 0
        except click.exceptions.Exit as done:
            return done.exit_code


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return int(shell_complete(program, {}, PROGRAM, COMPLETE_VARIABLE, instruction))
