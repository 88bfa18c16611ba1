"""What several test files share: where the kept results lie, means with errors, refusals."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import json
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import recall_theory
from recall_theory.commands import pages
from recall_theory.settings import SettingError
from recall_theory.simulate import reference
from recall_theory.simulate.data import Samples, draw_embeddings, draw_mlp

ROOT = Path(__file__).parent.parent
VALIDATION = ROOT / "validation"
PATIENCE = 120  # seconds after which what has not come never will, on a machine that is busy elsewhere too


def of_one_group(kinds):
    """Kinds of competitors as if any label could be any of them."""
    return dataclasses.replace(kinds, group=0 * kinds.group, labels=kinds.labels[:, :1])


def shipped(name):
    """The kept results of one study of `validation`."""
    return json.loads((VALIDATION / f"{name}.json").read_text(encoding="utf-8"))


def in_new_process(code):
    """What the code prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def drawn(setting, seed=0, index=0):
    """The embeddings and the samples of one seed."""
    embeddings, samples = np.random.SeedSequence(seed, spawn_key=(index,)).spawn(2)
    return draw_embeddings(setting, np.random.default_rng(embeddings)), Samples(setting, samples)


def drawn_task(setting, seed=0):
    """The task of one seed: embeddings, samples, layer, and what only the explicit path sees."""
    s_emb, s_samples, s_reference, s_layer = np.random.SeedSequence(seed).spawn(4)
    emb = draw_embeddings(setting, np.random.default_rng(s_emb))
    layer = None if setting.m is None else draw_mlp(setting, np.random.default_rng(s_layer))
    return reference.draw_task(setting, emb, Samples(setting, s_samples), s_reference, layer)


def remember_summaries(patch):
    """What `report` shows of a store is computed once, in however many forms it is then written."""
    summaries, compute = {}, pages._summary

    def summary(output, *asked):
        if asked not in summaries:
            summaries[asked] = compute(output, *asked)
        return summaries[asked]

    patch.setattr(pages, "_summary", summary)


@functools.cache
def every_module():
    """All modules of the package: one that is first imported while something is replaced would keep the stand-in."""
    found = pkgutil.walk_packages(recall_theory.__path__, "recall_theory.")
    return [importlib.import_module(module.name) for module in found if not module.name.endswith("__main__")]


def replace_everywhere(patch, original, stand_in):
    """A function or class replaced in every module of the package that holds it, under whatever name."""
    for module in every_module():
        for name in [name for name, value in vars(module).items() if value is original]:
            patch.setattr(module, name, stand_in)


def stops_after(n, answer=None):
    """In place of a map over tasks: Ctrl-C after n of them; a task gives `answer` where there is one."""

    def mapped(work, tasks, jobs=1):
        for task in itertools.islice(tasks, n):
            yield work(*task) if answer is None else answer
        raise KeyboardInterrupt

    return mapped


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


def assert_mean(values, expected, errors, margin=0.0):
    """That the mean of the values is `expected`, but for some of its standard errors and a margin."""
    off = abs(np.mean(values) - expected)
    assert off < margin + errors * standard_error(values), (np.mean(values), expected)


def wait_until(come, otherwise):
    """Until `come()` is true; AssertionError with what did not come after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


def assert_refused(name, function, *arguments, **keywords):
    """The one line with which the function refuses the argument called `name`."""
    with pytest.raises(SettingError) as error:
        function(*arguments, **keywords)
    line = str(error.value)
    assert error.value.name == name and "\n" not in line
    return line
