"""Versions, linear algebra, cores and memory, and what among them would slow the work."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

from .. import __version__
from .answer import Answer, Block, Column, Prose, Table
from .numbers import NOTHING, plural

PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "click", "rich", "joblib", "threadpoolctl")
# Kernels that OpenBLAS falls back to where it doesn't know the processor: half the speed, or less.
OLD_KERNELS = ("prescott", "nehalem", "core2", "generic", "armv8", "atom", "barcelona")


def answer() -> Answer:
    """The report in its three forms."""
    packages = {name: _version(name) for name in PACKAGES}
    blas, cores, memory = _blas(), _cores(), _memory()
    advice = _advice(blas, cores)
    data = {
        "schema_version": 1, "recall_theory": __version__, "python": platform.python_version(),
        "platform": platform.platform(), "packages": packages, "blas": blas,
        "cores": cores, "memory_bytes": memory, "advice": advice,
    }
    rows = [("recall-theory", __version__), ("Python", platform.python_version()),
            ("platform", platform.platform()),
            *((name, version or "missing") for name, version in packages.items()),
            *((f"linear algebra of {b['used_by']}", _describe(b)) for b in blas),
            ("cores", f"{cores['usable']} usable of {cores['present']}"),
            ("memory", NOTHING if memory is None else f"{memory / 2**30:.3g} GiB")]
    blocks: list[Block] = [Table([Column("what", words=True), Column("found", words=True)], rows)]
    blocks += [Prose(line) for line in advice] or [Prose("Nothing that would slow the work was found.")]
    return Answer(data, [{"what": what, "found": found} for what, found in rows], blocks)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> list[dict[str, Any]]:
    """The linear algebra libraries that numpy and scipy have loaded."""
    import numpy.linalg
    import scipy.linalg
    from threadpoolctl import threadpool_info

    assert numpy.linalg and scipy.linalg  # imported for what they load
    found = []
    for info in threadpool_info():
        if info.get("user_api") == "blas":
            path = str(info.get("filepath", ""))
            used_by = next((name for name in ("numpy", "scipy") if name + ".libs" in path), "numpy and scipy")
            found.append({"used_by": used_by, "library": info.get("internal_api"),
                          "version": info.get("version"), "kernels": info.get("architecture"),
                          "threads": info.get("num_threads")})
    return found


def _describe(b: dict[str, Any]) -> str:
    kernels = f", {b['kernels']} kernels" if b["kernels"] else ""
    return f"{b['library']} {b['version'] or ''}{kernels}, {plural(int(b['threads'] or 1), 'thread')}"


def _cores() -> dict[str, int]:
    present = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present
    return {"usable": usable, "present": present}


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _advice(blas: list[dict[str, Any]], cores: dict[str, int]) -> list[str]:
    advice = []
    old = sorted({str(b["kernels"]) for b in blas if str(b["kernels"]).lower() in OLD_KERNELS})
    if old and platform.machine().lower() in ("x86_64", "amd64"):
        advice.append(f"OpenBLAS runs its {', '.join(old)} kernels, which suit old processors. If this one is newer, "
                      "OPENBLAS_CORETYPE=Haswell (or SkylakeX, Zen) in the environment may double its speed.")
    if cores["usable"] < cores["present"]:
        advice.append(f"This process may use {cores['usable']} of {cores['present']} cores.")
    return advice
