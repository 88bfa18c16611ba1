"""`python -m recall_theory` is the command `recall-theory`."""

import sys

from recall_theory.cli import main

if __name__ == "__main__":
    sys.exit(main())
