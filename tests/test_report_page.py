"""The page that `report` makes of a store, in a real browser: what it shows is what the store and the theory say."""

from __future__ import annotations

import json

import pytest

from recall_theory.cli.app import run
from recall_theory.sweep import product, sweep

pytest.importorskip("matplotlib", reason="figures need matplotlib")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a store, its page and its JSON."""
    folder = tmp_path_factory.mktemp("report")
    cells = [*product({"d": [6, 12, 24], "L": [2, 4]}, V=12, N=96), *product({"m": [16]}, V=12, N=96, L=2, d=12)]
    sweep(cells, seeds=12, seed=3, store=folder / "sweep.db")
    for file in ("page.html", "page.json"):
        more = ["--json"] if file.endswith("json") else []
        assert run(["report", "--store", str(folder / "sweep.db"), "--output", str(folder / file), *more]) == 0
    return folder


@pytest.fixture(scope="module")
def opened(chromium, made):
    """The page in a browser, and what it complained about or asked for."""
    tab = chromium.new_page(viewport={"width": 1100, "height": 800})
    complaints, asked = [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((made / "page.html").as_uri())
    yield tab, complaints, asked
    tab.close()


def test_it_renders_without_a_complaint_and_asks_for_nothing(opened):
    tab, complaints, asked = opened
    assert tab.title().startswith("Theory and simulation")
    assert tab.locator("svg.figure").count() >= 3
    assert complaints == []
    assert len(asked) == 1 and asked[0].startswith("file:")


def test_the_table_says_what_the_store_and_the_theory_say(opened, made):
    tab, _, _ = opened
    found = json.loads((made / "page.json").read_text())
    heads = [h.strip() for h in tab.locator("#cells thead th").all_text_contents()]
    rows = tab.locator("#cells tbody tr")
    assert rows.count() == 3 * len(found["cells"])
    of_page = rows.evaluate_all("rows => rows.map(r => [r.dataset.of, ...[...r.cells].map(c => c.dataset.v ?? "
                                "c.textContent)])")
    for of, *values in of_page:
        row = dict(zip(heads, values, strict=True))
        cell, observable = found["cells"][int(of.split()[0])], of.split()[1]
        assert row["observable"] == observable
        assert float(row["predicted"]) == cell["predicted"][observable]
        assert float(row["observed"]) == cell["observed"][observable]["mean"]
        assert float(row["difference"]) == cell["difference"][observable]
        assert row["verdict"].startswith(cell["verdict"][observable])
        assert int(row["d"]) == cell["setting"]["d"]
