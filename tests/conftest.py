"""Settings that all tests share, and the browser in which pages are tested."""

import shutil

import pytest
from hypothesis import settings

# The same examples on every run: a failure that nobody can repeat helps nobody. No deadline: the first call
# of a function pays for its imports.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("repeatable")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium (playwright's `Browser`), started once."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()
