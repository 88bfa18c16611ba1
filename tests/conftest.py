"""Settings that all tests share, and the browser in which pages are tested."""

import pytest
from browser import BROWSERS, PATIENCE, browser_path, headless_chromium
from hypothesis import settings

# The same examples on every run: a failure that nobody can repeat helps nobody. No deadline: the first call
# of a function pays for its imports.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium (playwright's `Browser`), started once."""
    if browser_path() is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    with headless_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def new_context(chromium):
    """Opens a context of the browser, with playwright's options, in which pages are given all the time they need."""

    def opened(**options):
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE)
        return context

    return opened
