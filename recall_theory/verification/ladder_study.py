"""The ladder as a study: its settings by rule, the rows of a file that grows, and the law beside every rung."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SettingError
from ..settings import OBSERVABLES, Setting
from ..simulate.workers import unordered_map
from ..theory.predict import predict_each
from ..training.rungs import RUNGS, check_trainable, rates, train_rung

DIMENSIONS = (8, 12, 16, 24, 32)
RATIO = 32  # N/V, where N isn't what varies
LINE = '{"key": '  # how a line of the file begins
Row = dict[str, Any]  # one line of the file: JSON
Progress = Callable[[int, int, str], None]  # (trainings done, trainings in all, which begins)


@dataclasses.dataclass(frozen=True)
class Place:
    """One training of the study: a rung at a setting. `part` names the question that it belongs to; `rate` multiplies
    the learning rate of the rung's rule, `decay` is the weight decay, `steps` the most steps."""

    part: str
    rung: str
    setting: Setting
    seeds: int
    steps: int
    rate: float = 1.0
    decay: float = 0.01

    @property
    def key(self) -> str:
        """What tells the training from all others, whichever part asks for it."""
        return json.dumps([self.rung, self.setting.to_dict(), self.seeds, self.steps, self.rate, self.decay])

    @property
    def training(self) -> str:
        """The same whatever the most steps."""
        return training_of(self.key)


# The 42 settings of the table in docs/ladder.md: facts against d, against L, and against the samples.
STUDY = {
    "width": [Setting(V=c * d, L=8, d=d, N=RATIO * c * d) for c in (2, 4, 1, 8) for d in DIMENSIONS],
    "length": [Setting(V=c * 16, L=L, d=16, N=RATIO * c * 16) for c in (2, 4, 1, 8) for L in (2, 16, 32)],
    "samples": [Setting(V=64, L=8, d=d, N=64 * ratio) for ratio in (8, 128, 4, 16, 2) for d in (16, 32)],
}
# Grids by name: a few minutes of work, and that table.
GRIDS = {
    "small": [Setting(V=c * d, L=4, d=d, N=RATIO * c * d) for d in (8, 16) for c in (2, 4)],
    "study": [setting for settings in STUDY.values() for setting in settings],
}


def places_of(settings: Sequence[Setting], rungs: Sequence[str], seeds: int, steps: int) -> list[Place]:
    """Every rung named in `rungs` at every setting, each with so many seeds and at most so many steps, cheap settings
    first. Raises `SettingError` where one of them can't be trained."""
    places = [Place("grid", rung, setting, seeds, steps)
              for setting in sorted(settings, key=lambda s: s.N * s.V) for rung in rungs]
    for place in places:
        check_trainable(RUNGS[place.rung], place.setting, seeds)
    return places


def training_of(key: str) -> str:
    """A line's key without its most steps."""
    rung, setting, seeds, _, rate, decay = json.loads(key)
    return json.dumps([rung, setting, seeds, rate, decay])


def is_at_its_end(row: Row) -> bool:
    """Whether every seed has met the stopping rule, so that more steps would change nothing."""
    return max(row["steps"]) < row["most_steps"]


def finished(rows: Iterable[Row], steps: int) -> list[Row]:
    """Each training once, as it stands at its end or after so many steps, as part of the question that first asked for
    it; without those that the file has for fewer steps only."""
    found: dict[str, Row] = {}
    for row in rows:
        training = training_of(row["key"])
        before = found.get(training, row)
        if before["most_steps"] <= row["most_steps"] <= steps:
            found[training] = {**row, "part": before["part"]}
    return [row for row in found.values() if row["most_steps"] == steps or is_at_its_end(row)]


def run_place(place: Place, seed: int) -> Row:
    """Train one place of the study and return its line of the file."""
    rung = RUNGS[place.rung]
    plan = rung.plan(place.setting, place.steps, place.rate, place.decay)
    found = train_rung(rung, place.setting, place.seeds, seed, plan=plan)
    return {"key": place.key, "part": place.part, "rate": place.rate, "decay": place.decay, "most_steps": place.steps,
            **found.to_dict()}


def read_rows(path: str | Path) -> list[Row]:
    """The lines of a file of the study; none where it is not there. A last line that was cut short is left out.

    Raises `SettingError` where another line is not JSON of the study.
    """
    if not Path(path).exists():
        return []
    *lines, rest = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    if not LINE.startswith(rest[:len(LINE)]):
        lines.append(rest)  # no line of the study that was cut short
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows.append({**row, "key": row["key"]})
        except (ValueError, KeyError, TypeError):
            raise SettingError("store", f"store={str(path)!r} is no file of the ladder: line {number}") from None
    return rows


def run_ladder(places: Sequence[Place], seed: int, path: str | Path | None = None, progress: Progress | None = None,
               mapped: Callable[..., Iterable[tuple[int, Row]]] = unordered_map) -> list[Row]:
    """Train every place that the file does not have; each line is appended once its training is finished.

    A training that the file has at its end serves for any larger number of steps. `mapped` does the work, here one
    training after another, or on other machines as `sweep.run_sweep.cluster_map` does.
    Returns the rows of all places, in their order. Ctrl-C loses the trainings under way only. Raises `SettingError`
    where the file can't be read or written, before any work is done.
    """
    rows: dict[str, Row] = {}
    keys = [place.key for place in places]

    def say(what: str) -> None:
        if progress is not None:
            progress(sum(key in rows for key in keys), len(places), what)

    def missing() -> Iterator[tuple[Place, int]]:
        for place, key in zip(places, keys, strict=True):
            if path is not None and key not in rows:  # another run may have written it by now
                there = [row for row in read_rows(path) if row["seed"] == seed]
                at_end = {training_of(row["key"]): row for row in there if is_at_its_end(row)}
                rows.update({other.key: at_end[other.training] for other in places if other.training in at_end
                             and at_end[other.training]["most_steps"] <= other.steps})
                rows.update({row["key"]: row for row in there})
            if key not in rows:
                say(f"rung {place.rung}, {place.setting.describe()}")
                yield place, seed

    if path is not None:
        try:
            read_rows(path)
            with open(path, "ab+") as file:  # without a last line that a kill left unfinished
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        except OSError as error:
            raise SettingError("store", f"store={str(path)!r} can't be written: {error.strerror}") from None
    for _, row in mapped(run_place, missing()):
        rows[row["key"]] = row
        if path is not None:
            with open(path, "ab", buffering=0) as lines:  # in one piece: others may append too
                lines.write(f"{json.dumps(row)}\n".encode())
        say("")
    return [rows[key] for key in keys]


def setting_of_row(row: Mapping[str, Any]) -> Setting:
    """The setting of a line."""
    return Setting(**row["setting"])


_laws: dict[Setting, Mapping[str, float]] = {}  # kept, since every rung stands beside the law


def laws_of(settings: Sequence[Setting], rung: str = "1") -> list[Mapping[str, float]]:
    """Rung 0 of each: what the law predicts at the rates of rung 1, in the limit, or of rung 2."""
    at_rates = []
    for setting in settings:
        eta, gamma = rates(RUNGS[rung], setting)
        at_rates.append(setting.replace(eta=eta, gamma=gamma))
    for found in predict_each([setting for setting in dict.fromkeys(at_rates) if setting not in _laws]):
        _laws[found.setting] = {name: float(getattr(found, name)) for name in OBSERVABLES}
    return [_laws[setting] for setting in at_rates]


def law_of(setting: Setting, rung: str = "1") -> Mapping[str, float]:
    """`laws_of` one setting."""
    return laws_of([setting], rung)[0]


def compare_rungs(rows: Sequence[Row]) -> list[Row]:
    """Every rung that has rows beside the law at the same settings, in the order of the ladder; rows of Zipf facts too,
    whose law this is not.

    Returns for each `rung` the number of its `settings`; the means over them of the observables and of
    `training_accuracy`; `against_law`, the mean difference of accuracy from the law's, and `worst`, the largest in
    size; `steps`, the median of the steps, and `stopped`, the share of models that met the stopping rule; and the most
    `facts_per_parameter` and `bits_per_parameter` of a setting.
    """
    result = []
    for rung in RUNGS:
        mine = [row for row in rows if row["rung"] == rung]
        if not mine:
            continue
        means = {name: np.array([row["observed"][name]["mean"] for row in mine])
                 for name in (*OBSERVABLES, "training_accuracy")}
        excess = means["accuracy"] - [law["accuracy"] for law in laws_of([setting_of_row(row) for row in mine])]
        steps, most = np.array([(steps, row.get("most_steps", 0)) for row in mine for steps in row["steps"]]).T
        result.append({
            "rung": rung, "settings": len(mine), **{name: float(values.mean()) for name, values in means.items()},
            "against_law": float(excess.mean()), "worst": float(excess[np.abs(excess).argmax()]),
            "steps": float(np.median(steps)), "stopped": float(np.mean(steps < most)),
            **{name: max(row[name] for row in mine) for name in ("facts_per_parameter", "bits_per_parameter")}})
    return result
