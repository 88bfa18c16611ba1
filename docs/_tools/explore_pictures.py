"""Renews the pictures of the explore page in docs/pictures (`make pictures`); needs the extra "test" and a Chromium."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from recall_theory.web.explore_page import answers
from recall_theory.web.explore_page import page as make_page
from recall_theory.web.explore_server import Server

DOCS = Path(__file__).parent.parent
sys.path.insert(0, str(DOCS.parent / "tests"))
from browser import headless_chromium  # noqa: E402

DESKTOP, PHONE = {"width": 1040, "height": 860}, {"width": 360, "height": 740}
MLP = "?V=512&L=32&d=256&N=262144&m=256&activation=relu&along=m"
# Name -> the setting in the address, the options of the browser, the heading that the picture begins with.
PICTURES = {
    "explore-light": ("?V=1024&L=64&d=128&N=65536", {"viewport": DESKTOP}, "h1"),
    "explore-dark": (MLP, {"viewport": DESKTOP, "color_scheme": "dark"}, ".result:has(#plot)"),
    "explore-phone": ("?V=1024&L=64&d=128&N=65536", {"viewport": PHONE, "is_mobile": True}, "#predicted"),
}


def main() -> None:
    with Server(0, make_page, answers) as server, headless_chromium() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, (setting, options, first) in PICTURES.items():
            page = browser.new_page(**options)
            page.goto(server.address + setting)
            page.wait_for_selector("body[aria-busy=false]")
            page.evaluate(f"document.querySelector('{first}').scrollIntoView()")
            page.screenshot(path=DOCS / "pictures" / f"{name}.png")
            print(f"docs/pictures/{name}.png")
        server.shutdown()


if __name__ == "__main__":
    main()
