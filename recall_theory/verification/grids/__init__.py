"""The shipped grids of settings, and grids read from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from ...settings import PARAMETERS, Setting, SettingError

SHIPPED = {
    "default": ("default.toml",),
    "full": ("full.toml", "mlp.toml"),
    "attention-only": ("full.toml",),
    "mlp": ("mlp.toml",),
}
MOST_CELLS = 100_000
MOST_CHARACTERS = 20_000_000


Made = TypeVar("Made")


def load(name: str) -> list[Setting]:
    """The settings of a shipped grid or of a TOML file.

    "default" is quick and holds both models; "full" are the grids of the validation, "attention-only" and "mlp".
    A file holds one table [[cell]] a setting, with the parameters of `Setting` as keys. Raises
    `SettingError` with one line that names the file and what is wrong.
    """
    return read(name, SHIPPED, Setting, tuple(PARAMETERS), ("V", "L", "d", "N"))


def read(name: str, shipped: Mapping[str, Sequence[str]], make: Callable[..., Made], allowed: Collection[str],
         needed: Collection[str]) -> list[Made]:
    """What `make` makes of each [[cell]] of a grid: a shipped one (name -> files in this package) or a TOML file.

    A cell's keys are among `allowed` and hold all `needed`.
    """
    try:
        if name in shipped:
            files = resources.files(__package__)
            text = "\n".join(files.joinpath(file).read_text("utf-8") for file in shipped[name])
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
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError("grid", f"{name} is not TOML: {error}") from None
    except RecursionError:
        raise SettingError("grid", f"{name} is not a grid: its values are nested too deeply") from None
    return _made(tables, name, make, allowed, needed)


def _made(tables: dict[str, Any], name: str, make: Callable[..., Made], allowed: Collection[str],
          needed: Collection[str]) -> list[Made]:
    cells = tables.pop("cell", None)
    if tables:
        raise SettingError("grid", f"{name}: unknown key {next(iter(tables))!r}; a grid holds tables [[cell]]")
    if not isinstance(cells, list) or not cells:
        raise SettingError("grid", f"{name} holds no table [[cell]]")
    if len(cells) > MOST_CELLS:
        raise SettingError("grid", f"{name} holds {len(cells)} cells; at most {MOST_CELLS} are allowed")
    settings = []
    for number, cell in enumerate(cells, start=1):
        where = f"{name}, cell {number}"
        if not isinstance(cell, dict):
            raise SettingError("grid", f"{where} is not a table")
        for key in cell:
            if key not in allowed:
                raise SettingError("grid", f"{where}: unknown key {key!r}; allowed are {', '.join(allowed)}")
        missing = [key for key in needed if key not in cell]
        if missing:
            raise SettingError("grid", f"{where}: {', '.join(missing)} missing")
        try:
            settings.append(make(**cell))
        except SettingError as error:
            raise SettingError("grid", f"{where}: {error}") from None
    return settings
