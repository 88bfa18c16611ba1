"""The command line: `main` is the console entry, and maps every way of ending to an exit code.

This file imports next to nothing at first, so that Ctrl-C is answered in one way from the first moment on.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # for type checkers; typing itself would delay every start
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130
DEBUG = "RECALL_THEORY_DEBUG"
COMPLETE = "_RECALL_THEORY_COMPLETE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` is `sys.argv[1:]` where None.

    0: done, or theory and simulation agree. 1: they disagree. 2: bad input. 3: inconclusive. 70: an
    internal error. 75: a cluster has no worker left. 129, 130, 143: interrupted by SIGHUP, Ctrl-C, SIGTERM.
    """
    received: list[int] = []
    try:
        from signal import SIG_DFL

        from .errors import signals_handled

        def interrupt(number: int, frame: object) -> None:
            received.append(number)
            raise KeyboardInterrupt

        # SIGTERM and SIGHUP end the work as Ctrl-C does, with what is finished. What is ignored, as SIGHUP under nohup,
        # stays ignored.
        with signals_handled(("SIGTERM", "SIGHUP"), interrupt, where=lambda handler: handler == SIG_DFL):
            code = _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        code = INTERRUPTED
    return 128 + received[0] if code == INTERRUPTED and received else code


def _run(arguments: list[str]) -> int:
    """Run one command line; every way of ending becomes an exit code and at most one line on stderr."""
    import os
    import warnings

    import click

    from .commands import PROGRAM, streams
    from .commands.answers import BAD_INPUT, INTERNAL_ERROR, NO_WORKERS, program
    from .commands.options import complaint
    from .errors import NoWorkers, SettingError
    from .numerics.machine_code import on_compiling

    if streams.is_terminal(sys.stderr):
        on_compiling[:] = [lambda: streams.say("compiling loops to machine code, once: this takes some seconds")]
    called = PROGRAM
    try:
        if COMPLETE in os.environ:
            from click.shell_completion import shell_complete

            return int(shell_complete(program, {}, PROGRAM, COMPLETE, os.environ[COMPLETE]))
        called = program.command_path(arguments)
        with warnings.catch_warnings():
            if not os.environ.get(DEBUG):
                warnings.simplefilter("ignore")  # stderr is for progress and for one line of error
            # Not program.main(): it turns a broken pipe and Ctrl-C into exit code 1.
            with program.make_context(program.name, arguments) as context:
                result = program.invoke(context)
        streams.emit("")  # flushes standard output while a failure can still be told
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:  # the reader of our output is gone, as after `| head`
        streams.discard_stdout()
        return 0
    except KeyboardInterrupt:
        streams.say(f"{called}: interrupted")
        return INTERRUPTED
    except (SettingError, click.ClickException) as error:
        streams.say(f"{called}: {complaint(error)}")
        return NO_WORKERS if isinstance(error, NoWorkers) else BAD_INPUT
    except OSError as error:  # a full disk, a file that is not there
        streams.discard_stdout()
        streams.say(f"{called}: {error}")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get(DEBUG):
            import traceback

            traceback.print_exc()
        streams.say(f"{called}: internal error: {type(error).__name__}: {error} (set {DEBUG}=1 for the traceback)")
        return INTERNAL_ERROR
