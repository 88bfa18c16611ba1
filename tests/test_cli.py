"""The command line as people and scripts meet it: help, endings, pipes, files, signals, widths."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_line import all_commands, answer, call, read_json, refused

import recall_theory
from recall_theory.commands import COMMANDS, RENAMED, text_layout
from recall_theory.commands.answers import program
from recall_theory.numerics.formatting import parse_integer, parse_real
from recall_theory.simulate import workers

# Attention is right here, also at half of each size: the quickest case of the theory.
PREDICT = ["predict", "--V", "64", "--L", "4", "--d", "128", "--N", "8192"]
SIMULATE = ["simulate", *PREDICT[1:], "--seeds", "3", "--seed", "1", "--n-test", "64"]
ALL = dict(all_commands())


def run_process(*argv, code=None, **more):
    """The program in a process of its own; `code` is run in its place."""
    start = ["-c", code] if code else ["-m", "recall_theory"]
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | more.pop("env", {})
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([sys.executable, *start, *argv], stderr=subprocess.PIPE, text=True, env=env, **more)


# Help


@pytest.mark.parametrize("words", ["", *COMMANDS, *ALL])
def test_every_help_has_two_examples_and_fits_a_terminal(words):
    code, out, err = call(*words.split(), "--help", columns=80)
    assert (code, err) == (0, "")
    assert out.count("  recall-theory ") >= 2
    assert "…" not in out
    # An example is to be copied, and not broken.
    assert all(len(line) <= 80 or line.startswith("    recall-theory") for line in out.splitlines())


@pytest.mark.parametrize("words", ALL)
def test_the_examples_of_the_help_are_accepted(words):
    for line in ALL[words].epilog.splitlines():
        if line.startswith("  recall-theory "):
            group, argv = program, shlex.split(line)[1:]
            while hasattr(group, "table"):
                name = argv.pop(0) if argv[0] in group.table else group.default
                group = group.get_command(None, name)
            group.make_context(name, argv)  # raises where an option is unknown or out of range


def test_the_help_of_capacity_fits_one_screen():
    assert len(call("capacity", "--help", columns=80)[1].splitlines()) <= 50


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_says_the_new_one(old):
    assert refused(old, "--V", "7") == f"recall-theory: {old} is now `{RENAMED[old]}`\n"


def test_version():
    line = f"recall-theory {recall_theory.__version__}\n"
    assert call("--version") == (0, line, "")
    code, out, err = call("--version", "--verbose")
    assert (code, err) == (0, "") and out.startswith(line)
    assert f"numpy {np.__version__}" in out and "threads" in out and "cores" in out
    assert call("--verbose", "--version")[1] == out
    assert "--version" in refused("--verbose")


def test_completion():
    source = run_process(env={"_RECALL_THEORY_COMPLETE": "zsh_source"})
    assert source.returncode == 0 and "_RECALL_THEORY_COMPLETE" in source.stdout
    env = {"_RECALL_THEORY_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "recall-theory cap"}
    done = run_process(env=env)
    assert (done.returncode, done.stdout.strip()) == (0, "plain,capacity")


# Errors


def test_an_internal_error_is_one_line(monkeypatch):
    def broken(setting):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(importlib.import_module("recall_theory.theory.predict"), "predict", broken)
    code, out, err = call(*PREDICT)
    assert (code, out) == (70, "")
    assert err.count("\n") == 1 and "internal error" in err and "RECALL_THEORY_DEBUG" in err
    monkeypatch.setenv("RECALL_THEORY_DEBUG", "1")
    code, _, err = call(*PREDICT)
    assert code == 70 and "Traceback" in err


@pytest.mark.parametrize("text, value", [
    ("1e6", 10**6), ("2^16", 65536), ("2**16", 65536), ("1_000", 1000), ("65,536", 65536), (" 7 ", 7),
    ("1.5e3", 1500), ("0x10", None), ("1.5", None), ("1__0", None), ("12,34", None), ("1e-400", None),
    ("²", None), ("9007199254740993", 9007199254740993), ("-2^2", 4), ("", None), ("1" * 5000, None),
])
def test_integers_as_people_type_them(text, value):
    assert parse_integer(text) == value


def test_reals_as_people_type_them():
    assert [parse_real(text) for text in ("1e-3", "2^10", "three")] == [1e-3, 1024, None]


# Output


def test_output_is_whole_or_untouched(tmp_path):
    path, link = tmp_path / "answer.json", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    assert call(*PREDICT, "--json", "--output", str(link)) == (0, "", "")
    assert json.loads(path.read_text())["schema_version"] == 2
    assert path.stat().st_mode & 0o777 == 0o640 and link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["answer.json", "link"]


def test_output_to_a_device_leaves_the_device():
    assert call(*PREDICT, "--output", os.devnull)[0] == 0
    assert not os.path.isfile(os.devnull)


def test_output_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "not writable" in refused(*PREDICT, "--output", str(tmp_path / "file"))
    assert os.listdir(tmp_path) == []


def test_an_answer_that_cannot_be_written_is_printed(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, out, err = call(*PREDICT, "--json", "--output", str(tmp_path / "file"))
    assert code == 2 and json.loads(out) and "No space left" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("width", [None, 30, 40, 80, 200])
def test_tables_hold_every_cell_at_every_width(width):
    rng = np.random.default_rng(0)
    for _ in range(15):
        names = [f"{rng.choice(['V', 'one seed', 'facts / parameter'])} {i}" for i in range(rng.integers(1, 9))]
        words = [name for name in names if rng.random() < 0.4]
        rows = [{name: " ".join("w" * int(n) for n in rng.integers(1, 12, 5)) if name in words
                 else int(10 ** rng.uniform(0, 14)) for name in names} for _ in range(3)]
        table = text_layout.table(rows, title="t")
        assert (table.headings, table.wraps) == (names, set(words))
        text = text_layout.rendered([table], width)
        for row in rows:
            for name, cell in row.items():
                assert all(part in text for part in (cell.split() if name in words else [f"{cell:,}"]))
        assert width is None or all(len(line) <= width for line in text.splitlines())


def test_bold_type_is_for_terminals(monkeypatch):
    from recall_theory.commands import streams

    monkeypatch.setattr(streams, "is_terminal", lambda stream: stream is sys.stdout)
    assert "\x1b[1m" in call(*PREDICT)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in call(*PREDICT)[1]
    monkeypatch.undo()
    assert "\x1b" not in call(*PREDICT)[1]


def test_quiet_leaves_the_answer():
    loud, quiet = call(*PREDICT)[1], call(*PREDICT, "-q")[1]
    assert "Std is that" in loud and "Std is that" not in quiet
    assert "accuracy" in quiet


def test_a_closed_pipe_is_no_error():
    for argv in (["formulas"], ["--help"], PREDICT):
        read, write = os.pipe()
        os.close(read)
        done = run_process(*argv, stdout=write)
        os.close(write)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = run_process(*PREDICT, stdout=full)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "No space left" in done.stderr


def test_output_is_text_in_any_locale():
    done = run_process(*PREDICT, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 0 and done.stdout.isascii()


# Signals


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def observed_then(number, times):
    """In place of the map over tasks: some observations, and then a signal to this process."""

    def some(work, tasks, jobs=1):
        for _, task in zip(range(times), tasks, strict=False):
            yield [(1.0, 1.0, 1.0)] * len(task[-1]) if isinstance(task[-1], range) else (1.0, 0.5, 0.25)
        signal.raise_signal(number)

    return some


@pytest.mark.parametrize("number, code", SIGNALS)
@pytest.mark.parametrize("done", [0, 2])
def test_a_signal_keeps_what_is_finished(number, code, done, monkeypatch):
    monkeypatch.setattr(workers, "ordered_map", observed_then(number, done))
    before = signal.getsignal(number)
    ended, out, err = call(*SIMULATE, "--json")
    assert ended == code and err.count("\n") == 1
    assert signal.getsignal(number) is before
    if done == 0:
        assert (out, err) == ("", "recall-theory simulate: interrupted\n")
        return
    assert "after 2 of 3 seeds; --seed 1 repeats them" in err
    found = read_json(out)
    assert found["interrupted"] is True and found["seeds"] == 2
    assert found["observed"]["recall"]["values"] == [0.5, 0.5]


def test_an_ignored_signal_stays_ignored(monkeypatch):
    monkeypatch.setattr(workers, "ordered_map", observed_then(signal.SIGHUP, 3))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert call(*SIMULATE)[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


AT_IMPORT = """
import os, signal, sys
def press(event, arguments):
    if event == "import" and arguments[0] == {name!r} and not pressed:
        pressed.append(1)
        signal.raise_signal({number})
pressed = []
signal.signal(signal.SIGINT, signal.default_int_handler)
from recall_theory.cli import main
sys.addaudithook(press)
sys.exit(main({argv!r}))
"""


@pytest.mark.parametrize("name", ["click", "numpy", "recall_theory.simulate.run", "recall_theory.theory.predict"])
@pytest.mark.parametrize("number, code", SIGNALS[:2])
def test_an_interrupt_is_quiet_at_any_moment(name, number, code):
    done = run_process(code=AT_IMPORT.format(name=name, number=int(number), argv=SIMULATE))
    assert done.returncode == code
    assert done.stderr.count("\n") <= 1 and "Traceback" not in done.stderr


def test_workers_are_quiet_when_interrupted():
    code = ("import os, signal, sys\nfrom recall_theory.cli import main\nfrom recall_theory.simulate import workers\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\nwhole = workers.ordered_map\n"
            "def some(*given):\n"
            "    for i, result in enumerate(whole(*given)):\n"
            "        yield result\n"
            "        if i == 1:\n"
            "            os.killpg(0, signal.SIGINT)\n"
            f"workers.ordered_map = some\nsys.exit(main({[*SIMULATE[:-5], '500', '--seed', '1', '--jobs', '2']!r}))")
    done = run_process(code=code, start_new_session=True)
    assert done.returncode == 130 and "500 seeds" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_drawn_seed_repeats_the_run():
    first = answer(*SIMULATE[:-4], "--n-test", "64")
    again = answer(*SIMULATE[:-4], "--n-test", "64", "--seed", str(first["seed"]))
    assert first["observed"] == again["observed"]
