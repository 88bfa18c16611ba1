"""The problems that can be verified: recall by three steps of gradient descent, and recall out of the geometry of
embeddings; and grids of their settings, shipped or read from a TOML file."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Generic

import numpy as np

from ..geometric import geometric_simulation
from ..geometric.geometric_prediction import GeometricPrediction
from ..geometric.geometric_prediction import predict as predict_geometric
from ..geometric.geometric_prediction import remarks as geometric_remarks
from ..geometric.geometric_setting import GeometricSetting
from ..settings import N_TEST, OBSERVABLES, BaseSetting, Setting, SettingError
from ..simulate import workers
from ..simulate.run import Triple, check_affordable, one_seed
from ..theory.domain import remarks
from ..theory.predict import Prediction, predict
from .verdicts import GEOMETRIC, Moments, declared_margin, margin_at, planned_seeds

# Types of settings and predictions; where nothing else is said, those of recall by three steps.
if TYPE_CHECKING:  # `typing` has defaults of type variables from Python 3.13 on
    from typing_extensions import TypeVar

    S = TypeVar("S", bound=BaseSetting, default=Setting)
    P = TypeVar("P", default=Prediction)
else:
    from typing import TypeVar

    S, P = TypeVar("S"), TypeVar("P")


@dataclasses.dataclass(frozen=True, repr=False)
class Problem(Generic[S, P]):
    """A model whose closed forms are laid beside its simulation.

    All observables are shares of facts, in [0, 1]. `shipped_grids` holds the files of each named grid. `check` raises
    `SettingError` where a setting can't be verified, `predict` where the library has no prediction.
    `observe(setting, seed, index)` is the observables of one of the seeds, the number itself where there is one.
    `margin` is the declared one, `has_one_margin` says whether all settings share it, `facts` is how many a seed asks,
    and `group` is the model and the regime of a setting: what cells are pooled by. `remarks` say why the library's
    prediction was not checked at a setting, where there is a declared domain.
    """

    name: str
    observables: tuple[str, ...]
    shipped_grids: Mapping[str, tuple[str, ...]]
    setting_type: type[S]
    has_one_margin: bool
    check: Callable[[S], None]
    predict: Callable[[S], P]
    moments: Callable[[P], dict[str, Moments]]
    observe: Callable[[S, int, int], float | tuple[float, ...]]
    margin: Callable[[S], float]
    facts: Callable[[S], int]
    group: Callable[[S], tuple[str, str]]
    remarks: Callable[[S], tuple[str, ...]] | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def required(self) -> list[str]:
        """The parameters that every setting has to give."""
        return [p.name for p in self.setting_type.parameters.values() if p.required]

    def margins(self, setting: S, claimed: Mapping[str, float], given: float = 0) -> dict[str, float]:
        """The margin of each claimed observable: the given one, or the declared one where that is 0."""
        declared = self.margin(setting)
        return {name: given or margin_at(value, declared) for name, value in claimed.items()}

    def planned_seeds(self, setting: S, prediction: P) -> int:
        """Seeds of one cell for a verdict on the library's own prediction."""
        moments = self.moments(prediction)
        return planned_seeds(moments, self.margins(setting, {name: m.mean for name, m in moments.items()}))

    def describe(self, setting: S) -> str:
        """The required parameters of a setting, in one short line."""
        return ", ".join(f"{name}={getattr(setting, name)}" for name in self.required)


FEW_SETTINGS = 8  # predictions that are made at once: processes take longer to start


def _moments_of_three_steps(prediction: Prediction) -> dict[str, Moments]:
    """As `observe_exactly` sees them: at finite rates with the sampling of fresh sequences."""
    spread = prediction.spread if prediction.setting.is_limit else prediction.std
    return {o: Moments(getattr(prediction, o), spread[o]) for o in OBSERVABLES}


def _group_of_three_steps(setting: Setting) -> tuple[str, str]:
    trigger = "" if setting.trigger_in_value else ", keys only"
    rates = "" if setting.is_limit else ", finite rates"
    return "attention-only" if setting.m is None else "MLP", f"{setting.embedding}{trigger}{rates}"


def observe_exactly(setting: Setting, seed: int, index: int) -> Triple:
    """Attention, recall and accuracy of one seed of a setting, summed over all sequences; at finite rates, where there
    is no such sum, over `N_TEST` fresh ones."""
    return one_seed(setting, seed, index, None if setting.is_limit else N_TEST)


def cell_seed(seed: int, number: int) -> int:
    """The seed of cell `number` of a grid: cells must not share their draws."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0])


def predict_or_reason(predict: Callable[[S], P], setting: S) -> P | str:
    """What is predicted of a setting, or why nothing is."""
    try:
        return predict(setting)
    except SettingError as error:
        return str(error)


def predictions_of(predict: Callable[[S], P], settings: Sequence[S], jobs: int = 1) -> list[P | str]:
    """What is predicted of each setting, or why nothing is; by `jobs` processes where there are many."""
    if jobs == 1 or len(settings) <= FEW_SETTINGS:
        return [predict_or_reason(predict, setting) for setting in settings]
    return list(workers.ordered_map(predict_or_reason, [(predict, setting) for setting in settings], jobs))


THREE_STEP_RECALL: Problem[Setting, Prediction] = Problem(
    name="THREE_STEP_RECALL",
    observables=OBSERVABLES,
    shipped_grids={"default": ("default.toml",), "full": ("full.toml", "mlp.toml"), "attention-only": ("full.toml",),
                   "mlp": ("mlp.toml",)},
    setting_type=Setting,
    has_one_margin=False,
    check=check_affordable,
    predict=predict,
    moments=_moments_of_three_steps,
    observe=observe_exactly,
    margin=declared_margin,
    facts=lambda setting: setting.V,
    group=_group_of_three_steps,
    remarks=remarks,
)

GEOMETRIC_RECALL: Problem[GeometricSetting, GeometricPrediction] = Problem(
    name="GEOMETRIC_RECALL",
    observables=("recall",),
    shipped_grids={"default": ("geometric.toml",)},
    setting_type=GeometricSetting,
    has_one_margin=True,
    check=geometric_simulation.check_affordable,
    predict=predict_geometric,
    moments=lambda prediction: {"recall": Moments(prediction.recall, prediction.std)},
    observe=geometric_simulation.one_seed,
    margin=lambda setting: GEOMETRIC,
    facts=lambda setting: setting.N * setting.R,
    group=lambda setting: ("geometric", setting.construction),
    remarks=geometric_remarks,
)


# --- grids of settings -----------------------------------------------------------------------------------

MOST_CELLS = 100_000
MOST_CHARACTERS = 20_000_000


def load_grid(name: str, problem: Problem[S, P] = THREE_STEP_RECALL) -> list[S]:  # type: ignore[assignment]
    """The settings of a shipped grid of the problem, or of a TOML file.

    Of recall by three steps "default" is quick and holds both models; "full" are the grids of the validation,
    "attention-only" and "mlp" its parts. A file holds one table [[cell]] a setting, with the setting's parameters as
    keys. Raises `SettingError` with one line that names the file and what is wrong.
    """
    return cells_of(problem, read_table(name, problem.shipped_grids), name)


def read_table(name: str, shipped: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    """What stands in a shipped grid (name -> files of this package) or a TOML file."""
    try:
        if name in shipped:
            folder = resources.files(__package__) / "shipped_grids"
            text = "\n".join((folder / file).read_text("utf-8") for file in shipped[name])
        else:
            with Path(name).open(encoding="utf-8-sig") as file:
                text = file.read(MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError("grid", f"grid={name!r} is not one of {', '.join(shipped)} nor a file that "
                           f"can be read: {reason}") from None
    if len(text) > MOST_CHARACTERS:
        raise SettingError("grid", f"{name} is too long for a grid: more than {MOST_CHARACTERS} characters")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError("grid", f"{name} is not TOML: {error}") from None
    except RecursionError:
        raise SettingError("grid", f"{name} is not a grid: its values are nested too deeply") from None


def cells_of(problem: Problem[S, P], table: Mapping[str, object], name: str) -> list[S]:
    """The settings of the tables [[cell]] of a grid; `name` is the grid's, for errors."""
    cells, allowed = table.get("cell"), problem.setting_type.parameters
    for key in table:
        if key != "cell":
            raise SettingError("grid", f"{name}: unknown key {key!r}; a grid holds tables [[cell]]")
    if not isinstance(cells, list) or not cells:
        raise SettingError("grid", f"{name} holds no table [[cell]]")
    if len(cells) > MOST_CELLS:
        raise SettingError("grid", f"{name} holds {len(cells)} cells; at most {MOST_CELLS} are allowed")

    settings = []
    for number, cell in enumerate(cells, start=1):
        try:
            if not isinstance(cell, dict):
                raise SettingError("grid", "it is not a table")
            unknown = [key for key in cell if key not in allowed]
            if unknown:
                raise SettingError("grid", f"unknown key {unknown[0]!r}; allowed are {', '.join(allowed)}")
            missing = [key for key in problem.required if key not in cell]
            if missing:
                raise SettingError("grid", f"{', '.join(missing)} missing")
            settings.append(problem.setting_type(**cell))
        except SettingError as error:
            raise SettingError("grid", f"{name}, cell {number}: {error}") from None
    return settings
