"""What `--version --verbose` prints: versions, the linear algebra in use and its threads. It sets nothing."""

from __future__ import annotations

import os
import platform

from .. import __version__
from . import PROGRAM

PACKAGES = ("numpy", "scipy", "sympy", "mpmath", "click", "rich", "cloudpickle", "threadpoolctl")
# Kernels that OpenBLAS falls back to where it doesn't know the processor: half the speed, or less.
OLD_KERNELS = ("prescott", "nehalem", "core2", "generic", "armv8", "atom", "barcelona")


def report(verbose: bool) -> str:
    """The version in one line; where `verbose`, a line each for what the numbers depend on."""
    lines = [f"{PROGRAM} {__version__}"]
    if verbose:
        lines += [f"Python {platform.python_version()}", platform.platform()]
        lines += [f"{name} {_version(name)}" for name in PACKAGES]
        lines += _linear_algebra()
        present = os.cpu_count() or 1
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present
        lines.append(f"cores: {usable} usable of {present}")
    return "\n".join(lines) + "\n"


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _linear_algebra() -> list[str]:
    """A line for each linear algebra library that numpy and scipy load."""
    import numpy.linalg
    import scipy.linalg
    from threadpoolctl import threadpool_info

    assert numpy.linalg and scipy.linalg  # imported for what they load
    lines = []
    for library in threadpool_info():
        if library.get("user_api") != "blas":
            continue
        path, kernels = str(library.get("filepath", "")), str(library.get("architecture"))
        user = next((name for name in ("numpy", "scipy") if name + ".libs" in path), "numpy and scipy")
        lines.append(f"linear algebra of {user}: {library.get('internal_api')} {library.get('version') or ''}, "
                     f"{kernels} kernels, threads: {library.get('num_threads')}")
        if kernels.lower() in OLD_KERNELS and platform.machine().lower() in ("x86_64", "amd64"):
            lines.append(f"  {kernels} kernels suit old processors. If this one is newer, OPENBLAS_CORETYPE=Haswell "
                         "(or SkylakeX, Zen) in the environment may double its speed.")
    return lines
