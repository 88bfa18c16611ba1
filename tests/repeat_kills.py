"""Runs the tests of kills and signals over and over: python -m tests.repeat_kills [TIMES], 20 where absent.

They race against processes, so that to pass once says little.
"""

from __future__ import annotations

import subprocess
import sys

WORDS = "kill or signal or interrupt or two_sweeps or workers_gone"


def main(times: int) -> int:
    """How many of the runs failed."""
    failed = 0
    for number in range(1, times + 1):
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "tests", "-k", WORDS], capture_output=True,
                              text=True)
        failed += done.returncode != 0
        print(f"{number} of {times}: {done.stdout.strip().splitlines()[-1]}", flush=True)
        if done.returncode:
            print(done.stdout)
    return failed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
