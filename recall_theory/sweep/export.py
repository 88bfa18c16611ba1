"""Results in files that other programs read: CSV, Parquet, netCDF."""

from __future__ import annotations

import importlib
import os

from ..numerics.plain_data import as_csv
from ..settings import SettingError
from .results import Results

# ending -> the libraries that write it
NEEDS: dict[str, tuple[str, ...]] = {".csv": (), ".parquet": ("pandas", "pyarrow"), ".nc": ("xarray", "scipy")}


def check_export(path: str) -> str:
    """The ending of an export file; `SettingError` where it is unknown, or its libraries are missing."""
    ending = os.path.splitext(path)[1]
    if ending not in NEEDS:
        raise SettingError("export", f"export={path!r} must end in {', '.join(NEEDS)}")
    folder = os.path.dirname(os.path.abspath(path))
    if "\0" in path or not os.path.isdir(folder):
        raise SettingError("export", f"export={path!r} can't be written: its directory doesn't exist")
    for library in NEEDS[ending]:
        try:
            importlib.import_module(library)
        except ImportError:
            raise SettingError("export", f"export={path!r} needs {library}, which is not installed: "
                               "pip install 'recall-theory[export]'") from None
    return ending


def write(results: Results, path: str) -> None:
    """Write the results to a file whose ending says how: a table of finished seeds, or (.nc) a dataset.

    The file is replaced in one step. Raises `SettingError` where it can't be written, or there is no result.
    """
    ending = check_export(path)
    if not results.problems:  # a netCDF file without a cell can't be read again
        raise SettingError("export", f"export={path!r}: there is no result to write")
    aside = f"{path}.{os.urandom(6).hex()}.part"
    try:
        try:
            if ending == ".csv":
                with open(aside, "w", encoding="utf-8", newline="") as file:
                    file.write(as_csv(results.records()))
            elif ending == ".parquet":
                results.to_pandas().to_parquet(aside, engine="pyarrow", index=False)
            else:
                data = results.to_xarray()
                # netCDF 3 has integers of 32 bits; a float holds all of ours (below 2^53) exactly.
                whole = {name: x.astype(float) for name, x in data.coords.items() if x.dtype.kind == "i"}
                data.assign_coords(whole).to_netcdf(aside, engine="scipy")
            os.replace(aside, path)
        finally:
            if os.path.exists(aside):
                os.unlink(aside)
    except OSError as error:
        raise SettingError("export", f"export={path!r} can't be written: {error.strerror or error}") from None
