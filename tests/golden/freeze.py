"""Today's numbers, frozen: `python -m tests.golden.freeze --check` compares, `--write` computes them anew.

A golden file maps a group's name to its cases. A case holds what is asked and the `answer`; it may hold a `tolerance`,
which maps a part of a path in the answer to [relative, absolute], with the `reason` beside it. The files say what is
asked, so to rename a command is to edit its `argv`; `validation/golden/draw.py` drew the cases that are random.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from recall_theory import Setting, SettingError, predict
from recall_theory.theory import formulas

# The adapter: internal names that the freeze needs. What moves or is renamed is followed here, and nowhere else.
from recall_theory.cli import main as command_line  # isort: skip
from recall_theory.simulate.loops import add_weights  # isort: skip
from recall_theory.simulate.data import Samples, draw_embeddings  # isort: skip
from recall_theory.simulate.run import one_seed  # isort: skip

Case = dict[str, Any]
Tolerance = dict[str, list[float]]

HERE = Path(__file__).parent
FILES = HERE / "files"  # what commands read: grids, laws of one's own
RELATIVE, ABSOLUTE = 1e-9, 1e-12  # how far a number may be off where its case declares nothing
# Spreads are roots of differences of means near one, and Gauss rules of points that nearly agree lose half the digits:
# rounding moves probabilities by 1e-10.
OF_PREDICTIONS = {".predicted": [RELATIVE, 1e-9]}
VERSIONS = ("schema_version", "law")  # say themselves that something has moved
DIGITS = 30  # of a formula's value, given as text and compared to two digits less


def predicted(case: Case) -> Any:
    """The prediction at the setting `given`, or the line with which it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a quotient that overflows is a number too
        try:
            return predict(Setting(**case["given"])).to_dict()
        except SettingError as error:
            return f"refused: {error}"


def simulated(case: Case) -> Any:
    """What one seed draws, as fingerprints, and what its trained model shows.

    Tokens, permutation and count table are integers, and hashed bit for bit. Embeddings are floats, which
    normalisation may round in another way on another machine: a weighted sum of each matrix stands for it.
    """
    setting = Setting(**case["given"])
    root = np.random.SeedSequence(case["seed"], spawn_key=(case["index"],))
    for_embeddings, for_samples = root.spawn(5)[:2]
    embeddings = draw_embeddings(setting, np.random.default_rng(for_embeddings))
    samples = Samples(setting, for_samples)
    blocks = list(samples.blocks())
    table = np.zeros((setting.V, setting.V))
    for block in blocks:
        add_weights(block.informative, block.noise, np.zeros(len(block.noise)), np.ones(block.noise.shape), table)
    return {
        "informative": _hashed(np.concatenate([block.informative for block in blocks])),
        "noise": _hashed(np.concatenate([block.noise for block in blocks])),
        "label": _hashed(embeddings.label),
        "count_table": _hashed(table),
        "embeddings": {name: _weighted(getattr(embeddings, name)) for name in ("z_in", "z_out", "z_trig")},
        "observables": list(one_seed(setting, case["seed"], case["index"], case["n_test"])),
    }


def _hashed(integers: Any) -> str:
    """SHA-256 of an array of integers, whatever its type and layout."""
    return hashlib.sha256(np.ascontiguousarray(integers, dtype="<i8").tobytes()).hexdigest()


def _weighted(floats: Any) -> float:
    """A sum of all entries in which each has a weight of its own."""
    return float(np.cos(np.arange(floats.size)) @ np.ravel(floats))


def called(case: Case) -> Any:
    """Exit code and answer of a command: its JSON, else its text, else the line on stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command_line(list(case["argv"]))
    text = out.getvalue() or err.getvalue()
    with contextlib.suppress(json.JSONDecodeError):
        return {"code": code, "json": json.loads(text)}
    return {"code": code, "text": text}


def evaluated(case: Case) -> Any:
    """The value of a registered formula, as text."""
    value = formulas[case["formula"]].evaluate(dps=DIGITS + 10, **case["at"])
    with mpmath.workdps(DIGITS + 10):
        return mpmath.nstr(value, DIGITS)


@dataclasses.dataclass(frozen=True)
class Part:
    """A golden file, what answers its cases, and the tolerance of those that declare none."""

    path: Path
    answer: Callable[[Case], Any]
    tolerance: Tolerance = dataclasses.field(default_factory=dict)

    def load(self) -> dict[str, list[Case]]:
        """The cases by group."""
        if self.path.suffix == ".gz":
            return json.loads(gzip.decompress(self.path.read_bytes()))
        return json.loads(self.path.read_text("utf-8"))

    def save(self, groups: dict[str, list[Case]]) -> None:
        """Write the file, a line for what is asked and a line for the answer."""
        text = ",\n\n".join(f"{json.dumps(name)}: [\n" + ",\n".join(map(_lines, cases)) + "\n]"
                            for name, cases in groups.items())
        data = ("{\n" + text + "\n}\n").encode()
        self.path.write_bytes(gzip.compress(data, 9, mtime=0) if self.path.suffix == ".gz" else data)

    def answered(self, group: str) -> Iterator[tuple[Case, Any]]:
        """The cases of a group with what the program answers now, in the order of the file.

        A group has a folder of its own, with the files that commands read: a case may use what an earlier one wrote.
        """
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FILES, folder, dirs_exist_ok=True)
            os.chdir(folder)
            try:
                for case in self.load()[group]:
                    yield case, json.loads(json.dumps(self.answer(case)))
            finally:
                os.chdir(before)

    def check(self, group: str) -> list[str]:
        """What has changed in a group, one line a number: the case, the path, the old value and the new one."""
        found = []
        for case, answer in self.answered(group):
            asked = json.dumps({k: v for k, v in case.items() if k not in ("answer", "tolerance", "reason")})
            found += [f"{group} {asked} {line}"
                      for line in differences(case["answer"], answer, case.get("tolerance", self.tolerance))]
        return found


def _lines(case: Case) -> str:
    asked = json.dumps({k: v for k, v in case.items() if k != "answer"}, ensure_ascii=False)
    return f'{asked[:-1]},\n "answer": {json.dumps(case.get("answer"), ensure_ascii=False)}}}'


def differences(old: Any, new: Any, tolerance: Tolerance, path: str = "") -> Iterator[str]:
    """A line for each place where two trees differ: keys and texts must be equal, numbers as near as is declared."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            where = f"{path}.{key}"
            if key in VERSIONS:
                continue
            if key not in old or key not in new:
                yield f"{where}: {'has gone' if key in old else 'is new'}"
            else:
                yield from differences(old[key], new[key], tolerance, where)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, tolerance, f"{path}[{i}]")
    elif not _equal(old, new, next((t for part, t in tolerance.items() if part in path), [RELATIVE, ABSOLUTE])):
        yield f"{path}: {json.dumps(old)} -> {json.dumps(new)}"


def _equal(old: Any, new: Any, tolerance: list[float]) -> bool:
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return True
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (old, new)):
        return isinstance(old, str) and isinstance(new, str) and _same_digits(old, new)
    relative, absolute = tolerance
    if old != old or new != new:  # not a number: an answer like another
        return old != old and new != new
    return bool(abs(old - new) <= max(relative * abs(old), absolute))


def _same_digits(old: str, new: str) -> bool:
    """Whether two texts are one number of `DIGITS` digits, but for the rounding of the last two."""
    try:
        with mpmath.workdps(DIGITS + 10):
            a, b = mpmath.mpf(old), mpmath.mpf(new)
            return len(old) >= DIGITS and abs(a - b) <= abs(a) * mpmath.mpf(10) ** (2 - DIGITS)
    except ValueError:
        return False


PARTS = {
    "predictions": Part(HERE / "predictions.json", predicted, OF_PREDICTIONS),
    "simulations": Part(HERE / "simulations.json", simulated),
    "commands": Part(HERE / "commands.json", called),
    "formulas": Part(HERE / "formulas.json", evaluated),
}
# Too many for the tests: with --all.
FURTHER = HERE.parents[1] / "validation/golden"
MORE = {
    "more predictions": Part(FURTHER / "predictions.json.gz", predicted, OF_PREDICTIONS),
    "more commands": Part(FURTHER / "commands.json", called),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the program's numbers with those that were frozen.")
    todo = parser.add_mutually_exclusive_group(required=True)
    todo.add_argument("--check", action="store_true", help="print what differs; exit code 1 if anything does")
    todo.add_argument("--write", action="store_true", help="compute every answer anew")
    parser.add_argument("--all", action="store_true", help="those of validation/golden too")
    parser.add_argument("--part", choices=[*PARTS, *MORE], help="one part alone")
    args = parser.parse_args()
    chosen = PARTS | MORE if args.all or args.part in MORE else PARTS
    cases = changed = 0
    for name, part in chosen.items():
        if args.part not in (None, name):
            continue
        groups = part.load()
        cases += sum(map(len, groups.values()))
        if args.write:
            part.save({group: [{**case, "answer": answer} for case, answer in part.answered(group)]
                       for group in groups})
            continue
        for group in groups:
            for line in part.check(group):
                changed += 1
                print(name, line, flush=True)
    print(f"{cases} cases {'written' if args.write else f'checked, {changed} differences'}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
