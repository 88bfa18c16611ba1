"""The shipped grids of settings, and grids read from a TOML file, of any problem."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ..settings import SettingError
from .problem import THREE_STEP_RECALL, P, Problem, S

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
    cells = table.get("cell")
    for key in table:
        if key != "cell":
            raise SettingError("grid", f"{name}: unknown key {key!r}; a grid holds tables [[cell]]")
    if not isinstance(cells, list) or not cells:
        raise SettingError("grid", f"{name} holds no table [[cell]]")
    if len(cells) > MOST_CELLS:
        raise SettingError("grid", f"{name} holds {len(cells)} cells; at most {MOST_CELLS} are allowed")
    return [_setting(problem, cell, f"{name}, cell {number}") for number, cell in enumerate(cells, start=1)]


def _setting(problem: Problem[S, P], cell: object, where: str) -> S:
    if not isinstance(cell, dict):
        raise SettingError("grid", f"{where} is not a table")
    allowed = problem.setting_type.parameters
    for key in cell:
        if key not in allowed:
            raise SettingError("grid", f"{where}: unknown key {key!r}; allowed are {', '.join(allowed)}")
    missing = [key for key in problem.required if key not in cell]
    if missing:
        raise SettingError("grid", f"{where}: {', '.join(missing)} missing")
    try:
        return problem.setting_type(**cell)
    except SettingError as error:
        raise SettingError("grid", f"{where}: {error}") from None
