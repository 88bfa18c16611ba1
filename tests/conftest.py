"""Settings that all tests share."""

from hypothesis import settings

# The same examples on every run: a failure that nobody can repeat helps nobody. No deadline: the first call
# of a function pays for its imports.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("repeatable")
