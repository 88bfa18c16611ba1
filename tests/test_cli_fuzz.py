"""Thousands of command lines, built from the declared options with values in range, at its edges, beyond it, and
garbage: each ends with a documented exit code, and a refusal is one line without a traceback."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import random
import warnings
import webbrowser

import click
import numpy as np
import pytest
from command_line import all_commands
from support import replace_everywhere

from recall_theory.cli import main
from recall_theory.commands import COMMANDS
from recall_theory.commands.answers import map_with_progress
from recall_theory.commands.geometric_models import MEASURES, TRANSFER_MEASURES
from recall_theory.commands.options import Declared
from recall_theory.geometric import (
    GeometricObservation,
    GeometricSetting,
    construction,
    geometric_prediction,
    geometric_setting,
    geometric_simulation,
    geometric_training,
    superposition,
)
from recall_theory.numerics.arrays import Observable
from recall_theory.settings import OBSERVABLES
from recall_theory.simulate import memories, workers
from recall_theory.sweep import run_sweep
from recall_theory.theory import predict as prediction
from recall_theory.theory.length_exponents import Exponents
from recall_theory.theory.memories import hebbian_memory
from recall_theory.theory.solve import Model
from recall_theory.training import rungs
from recall_theory.training.rungs import RungObservation
from recall_theory.verification.ladder_study import Place
from recall_theory.web import explore_server

ALL = list(all_commands())
GARBAGE = ("", " ", "nan", "inf", "-inf", "1e400", "-1e400", "0", "-1", "0.5", "1e-5", "abc", "--", "-", "1e", "e5",
           "2^", "^2", "2^2^2", "9^99999999", "1e99999999999", "1_", "_1", "1,2", "0x10", "٣", "²", "½", "1\n2",
           "\x1b[31m", "\t", "None", "True", "[]", "{}", "'", '"', "a\0b", "9" * 400, "x" * 3000, "\udcff", "🙂",
           "1+1j", "V", "--V", "__import__('os')", "x**x**x**9**9", "100000000000000000000000", "1e15", "1e-320")
CALLS, PARTS = 3200, 8  # of each model's commands; the second paper's are fewer
OFTEN_GIVEN = {"compare memories": ("d",), "solve": ("V", "L", "d", "N"), "sweep": ("V", "L", "d", "N"),
               "geometric": ("N", "R", "d", "code_length")}
EXPONENTS = {name: functools.cache(getattr(Exponents, name)) for name in ("conditions", "along_edge")}  # of few models
NEVER_HIGH = ("seeds", "points", "jobs")  # the largest is in range, and takes hours even of a stand-in


def in_range(parameter, rng):
    """A value inside the domain, as it would be typed: an edge of it, a typical one, or any."""
    if parameter.kind == "choice":
        return rng.choice(parameter.choices)
    if parameter.kind == "activation":
        return rng.choice(["relu", "tanh", "x**3 - 3*x", "gelu"])
    low, high = max(parameter.low, -1e300), min(parameter.high, 1e300)
    if parameter.name in NEVER_HIGH:
        high = 8
    kind = rng.random()
    if kind < 0.15:
        value = low
    elif kind < 0.3:
        value = high
    elif kind < 0.7 and parameter.typical:
        value = rng.uniform(*map(float, parameter.typical))
    else:
        floor = max(low, 1e-300)
        value = math.exp(rng.uniform(math.log(floor), math.log(max(high, floor))))
    if parameter.kind == "integer":
        value = int(min(max(round(value), math.ceil(low)), math.floor(high)))
        return rng.choice([str(value), f"{value:_}", f"{value:,}", f" {value}"])
    return repr(float(min(max(value, low), high)))


def around(parameter, rng):
    """A value at or just beyond an edge of the domain."""
    edges = [parameter.low, parameter.high, parameter.low - 1, parameter.high + 1, -parameter.high]
    edge = rng.choice([e for e in edges if math.isfinite(e)] or [0.0])
    if parameter.name in NEVER_HIGH and edge == parameter.high:
        edge = parameter.high + 1
    return str(int(edge)) if float(edge).is_integer() and abs(edge) < 1e18 else repr(edge)


def value_of(param, rng, files, wildness):
    """What is typed after an option."""
    if rng.random() < wildness:
        return rng.choice(GARBAGE)
    if isinstance(param.type, Declared):
        parameter = param.type.parameter
        if rng.random() < wildness and parameter.kind in ("integer", "real"):
            return around(parameter, rng)
        return in_range(parameter, rng)
    return rng.choice(files.get(param.name, GARBAGE))


def command_line(rng, files, geometric):
    """One command line; most are nearly right, so that they get beyond the parser."""
    if rng.random() < 0.02:
        return [rng.choice([*GARBAGE, *COMMANDS]) for _ in range(rng.randrange(4))]
    words, command = rng.choice([known for known in ALL if known[0].startswith("geometric") == geometric])
    likely = OFTEN_GIVEN.get(words) or OFTEN_GIVEN.get(words.split()[0], ())
    wildness = rng.choice([0.0, 0.0, 0.03, 0.2])
    often, seldom = rng.choice([(1.0, 0.1), (0.95, 0.3), (0.7, 0.7)])
    argv = words.split()
    for param in command.params:
        if rng.random() >= (often if param.required or param.name in likely else seldom):
            continue
        if isinstance(param, click.Argument):
            argv.append(value_of(param, rng, files, wildness))
        elif param.is_flag:
            argv.append(rng.choice([*param.opts, *param.secondary_opts]))
        else:
            value = value_of(param, rng, files, wildness)
            argv += [f"{param.opts[0]}={value}"] if rng.random() < 0.2 else [param.opts[0], value]
    if rng.random() < wildness:
        argv.insert(rng.randrange(1, len(argv) + 1), rng.choice([*GARBAGE, "--help", "--json"]))
    if rng.random() < wildness:
        argv.pop()
    return argv or ["--help"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Values for the options that aren't declared parameters: files good and bad, names and shells."""
    monkeypatch.chdir(tmp_path)  # `--output 1e` writes a file of that name

    def made(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    cell = b"[[cell]]\nV = 16\nL = 2\nd = 64\nN = 512\n"
    np.save(tmp_path / "good.npy", np.random.default_rng(0).standard_normal((16, 8)))
    bad = [str(tmp_path), str(tmp_path / "no" / "file"), "", "\0", made("broken", b"\xff\xfe[[cell")]
    return {
        "grid": [made("good.toml", cell), made("wrong.toml", cell + b"eta = 3"), "full ",
                 made("geometric.toml", b"[[cell]]\nN = 9\nR = 2\nd = 30\ncode_length = 9\n"), *bad],
        "embeddings": [str(tmp_path / "good.npy"), made("zip.npy", b"PK\x03\x04"), *bad],
        "file": [str(tmp_path / "output"), *bad[:3]],  # of --output
        "name": ["law.recall.coverage", "paper.capacity", "law", "nothing", "law.recall.coverag"],
        "x": ["N=2^10..2^12", "V=64..128", "d=16..1", "m=1..2", "q=1..2"],
        "y": ["d=16..64", "L=4..4", "N=2^10..2^12", "V=2.."],
        "cells": ["2x2", "3x1", "1x1", "0x2", "3"],
        "scan": ["d=16:64:x2", "L=4,8", "m=none,8", "N=1:2:+0", "d=64", "embedding=sphere,orthogonal", "q=1", "V"],
        "store": [str(tmp_path / "sweep.db"), *bad],
        "merge": [str(tmp_path / "sweep.db"), *bad],
        "values": ["8,16", "4:16:x2", "none", "8,8"],
        "part": ["1/2", "3/2", "0/0", "1"],
        "export": [str(tmp_path / "export.csv"), *bad[:3]],
        "plot": [*bad[:3], str(tmp_path / "plot.unknown")],
    }


class Served:
    """In place of explore's server: listens to nothing, and its Ctrl-C comes at once, as a good end."""

    address, port = "http://127.0.0.1:8000/", 8000

    def __init__(self, *given):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *given):
        pass

    def warm_up(self):
        pass

    def serve_forever(self):
        raise click.exceptions.Exit(0)


def trained(rung, setting, seeds, seed, *, n_test=64, **how):
    """In place of a training: numbers out of thin air."""
    names = (*OBSERVABLES, "attention_weight", "training_accuracy", "loss")
    return RungObservation(setting, seed, {name: Observable(np.full(seeds, 0.5)) for name in names}, rung, n_test,
                           np.full(seeds, 3), 7)


def networks(tables):
    """In place of the training of transformers: numbers out of thin air."""
    names = [name for table in tables.values() for name in table]

    def observed(setting, seeds, seed, *, resume, progress):
        return GeometricObservation(setting, seed, {name: Observable(np.full(seeds, 1 / (2 + i)))
                                                    for i, name in enumerate(names)})

    return observed


def predicted(sizes):
    """In place of the theory's quadratures: shares that fall and rise as they should."""
    V, L, d, N = (sizes[name] for name in "VLdN")
    score = d / (d + np.sqrt(V) + L / 10 + V / N)
    values = {o: score / (1 + i / 50) for i, o in enumerate(OBSERVABLES)}
    spread = {o: v * (1 - v) / 10 for o, v in values.items()}
    terms = {"attention": {"one": 1 / d, "two": L / d}, "recall": {"three": V / d**2}}
    return {**values, "std": spread, "spread": spread, "terms": terms, "attention_weight": values["attention"]}


def observed(work, todo, jobs=1):
    """In place of a map over simulations: observations, of whatever makes them."""
    for i, task in enumerate(todo):
        if isinstance(task[-1], range):
            yield [(0.5,) if isinstance(task[1], GeometricSetting) else (0.75, 0.5, 0.25)] * len(task[-1])
        elif isinstance(task[0], GeometricSetting):
            yield 1 / (2 + i)
        else:
            yield (0.75, 0.5, 0.25, 0.5, 0.5) if work.__name__ == "observe" else (0.75, 0.5, 0.25)


def numbered(work, todo, *where, **more):
    """The same in place of a map that says which task it was."""
    for number, task in enumerate(todo):
        yield number, work(*task) if isinstance(task[0], Place) else (0.75, 0.5, 0.25)


@pytest.fixture
def quick(monkeypatch):
    """Cheap stand-ins for the theory's quadratures and for training: what is tested here is what lies around."""
    for function, stand_in in (
            (prediction._predicted, lambda batch, accuracy: predicted(vars(batch))),
            (workers.ordered_map, observed), (workers.unordered_map, numbered),
            (run_sweep.cluster_map, numbered), (map_with_progress, lambda jobs, progress: map),
            (hebbian_memory.gaussian_errors, lambda n, d, outputs: n / (n + d * outputs)),
            (hebbian_memory.sphere_errors, lambda n, d: n / (n + d * d)),
            (memories.one_hebbian_memory, lambda *given: 0.5), (rungs.train_rung, trained),
            (explore_server.Server, Served),
            (superposition.superposition_recall,
             lambda N, words, k, d, nodes=None, noise=0, precision=None: float(d / (d + words + np.log(N) + 9 / k))),
            (geometric_prediction.variance_by_cause,
             lambda N, words, k, d, noise=0: {"own": 1 / N, "codes": 0.0, "maps": 0.0, "subjects": 0.0}),
            (geometric_training.train, networks(MEASURES)), (geometric_training.transfer, networks(TRANSFER_MEASURES))):
        replace_everywhere(monkeypatch, function, stand_in)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(Model, "estimate", lambda model, at: predicted(at))
    monkeypatch.setattr(Model, "estimate_recall", lambda model, at: predicted(at)["recall"])
    monkeypatch.setattr(Model, "attention", lambda model, at: predicted(at)["attention"])
    for name, known in EXPONENTS.items():
        monkeypatch.setattr(Exponents, name, lambda self, known=known: known(self))
    # Large models are refused, as others are at 10^8.
    monkeypatch.setattr(geometric_simulation, "MOST_NUMBERS", 20_000)
    monkeypatch.setattr(geometric_setting, "MOST_RUN", 20_000)
    monkeypatch.setattr(construction, "MOST_QUERIES", 200)


def check(argv):
    """Run one command line and hold it to what is promised; its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        code = main(argv)
    text = err.getvalue()
    told = f"{argv!r}: exit {code}, {text!r}"
    assert code in ((0, 1, 2, 3) if "verify" in argv[:2] else (0, 2)), told
    assert "Traceback" not in text, told
    if code == 2:
        assert out.getvalue() == "", told
        assert text.startswith("recall-theory") and text.count("\n") == 1 and text.endswith("\n"), told
        assert len(text) < 700, told
        assert all(c.isprintable() for c in text[:-1]), told
    else:
        assert text == "", told
        printed = out.getvalue()
        if "--json" in argv and printed.startswith("{") and "--output" not in " ".join(argv):
            json.loads(printed, parse_constant=lambda name: pytest.fail(f"{name} in the JSON of {told}"))
    return code


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("geometric, part", [(False, part) for part in range(PARTS)] + [(True, 0), (True, 1)])
def test_any_command_line_ends_as_documented(geometric, part, files):
    rng = random.Random(part)
    codes = [check(command_line(rng, files, geometric)) for _ in range(CALLS // PARTS)]
    assert 0.1 < codes.count(0) / len(codes) < 0.9  # both sides of the fence are seen
    assert codes.count(2) > len(codes) / 10


EDGES = {"V": ("2", "3", "1e12", "1e15"), "L": ("1", "2", "1e9"), "d": ("1", "2", "1e9"), "N": ("1", "1e15")}


@pytest.mark.parametrize("part", range(4))
def test_the_theory_bears_the_corners_of_its_domain(part):
    rng = random.Random(100 + part)
    for _ in range(5):
        argv = ["predict", "--json"]
        for name, values in EDGES.items():
            few = name == "d" and argv[3] in ("2", "3")  # 10^9 dimensions for so few tokens take up to 20 s
            argv += [f"--{name}", rng.choice(values[:2] + ("64",) if few else values)]
        argv += ["--embedding", rng.choice(["gaussian", "sphere", "orthogonal"])]
        argv += [rng.choice(["--trigger-in-value", "--no-trigger-in-value"])]
        check(argv)
    for _ in range(2):
        argv = ["capacity", "--json", "--ratio", rng.choice(["0.5", "16", "1e9"])]
        for name in ("L", "d"):
            argv += [f"--{name}", rng.choice(EDGES[name])]
        check([*argv, "--embedding", rng.choice(["gaussian", "sphere", "orthogonal"])])
