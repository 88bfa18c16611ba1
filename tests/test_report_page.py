"""The page that `report` makes of a store, in a real browser: it says what the store and the theory say."""

from __future__ import annotations

import html
import io
import itertools
import json
import re

import numpy as np
import pytest
from browser import assert_for_everybody, assert_no_sideways_scroll
from command_line import refused
from support import remember_summaries

from recall_theory import Setting, predict
from recall_theory.cli import main
from recall_theory.numerics.formatting import probability, signed
from recall_theory.settings import OBSERVABLES
from recall_theory.sweep import Problem, Store, product, sweep
from recall_theory.web.report_page import MOST_CELLS, page

pytest.importorskip("matplotlib", reason="figures need matplotlib")

CELLS = [*product({"d": [6, 12, 24], "L": [2, 4]}, V=12, N=96), Setting(V=12, L=2, d=12, N=96, m=16)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a store, its page made twice, and its JSON, of what the first page shows."""
    folder = tmp_path_factory.mktemp("report")
    sweep(CELLS, seeds=48, seed=3, store=folder / "sweep.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recall_theory.sweep.store_summary.DIAGRAM_CELLS", (3, 2))  # coarse phase diagrams
        line = ["report", "--store", str(folder / "sweep.db"), "--at", "0.4", "--output"]
        assert main([*line, str(folder / "again.html")]) == 0
        remember_summaries(patch)
        for file, more in (("page.html", []), ("page.json", ["--json"])):
            assert main([*line, str(folder / file), *more]) == 0
    return folder


@pytest.fixture(scope="module")
def found(folder):
    """What `report --json` says of the store."""
    return json.loads((folder / "page.json").read_text())


@pytest.fixture(scope="module")
def whole(opened, folder):
    with opened((folder / "page.html").as_uri()) as tab:
        yield tab


@pytest.fixture
def tab(whole):
    """The page at 1280 x 800, at its top, with nothing selected."""
    whole.click("#selection button")
    whole.mouse.move(0, 0)
    whole.evaluate("scrollTo(0, 0)")
    return whole


@pytest.fixture(scope="module")
def phone(opened, folder):
    """The page on a phone, dark."""
    with opened((folder / "page.html").as_uri(), phone=True, color_scheme="dark") as tab:
        yield tab


def test_the_page_is_whole_and_loads_nothing(tab, folder):
    assert tab.title() == "Theory and simulation in 7 cells"
    assert tab.locator("main h2").all_text_contents() == [
        "All comparisons", "Predicted against observed", "Residuals against each size", "Phase diagrams",
        "How critical sizes scale", "How it is judged", "How to run it again", "The formulas"]
    assert tab.locator(".drawing svg").count() >= 3 + 3 + 1 + 1
    text = (folder / "page.html").read_text()
    assert set(re.findall(r'(?:src|href)="([^"]*)"', text)) - set(re.findall(r'href="(#[^"]*)"', text)) == {"data:,"}
    assert set(re.findall(r"url\(.", text)) == {"url(#"}
    assert text == (folder / "again.html").read_text()


def test_the_first_screen_is_the_answer_and_the_table_fits(tab, found):
    verdicts = [v for cell in found["cells"] for v in cell["verdict"].values()]
    counts = {v: verdicts.count(v) for v in ("agree", "disagree", "inconclusive")}
    answer = " ".join(tab.locator("#verdict").text_content().split())
    assert " ".join(f"{n} {v}," for v, n in counts.items())[:-1] in answer
    assert re.search(r"have 48 seeds; by its spread, the widest open one would take about [\d,]+\.", answer)
    for element in ("h1", "#verdict", "#comparisons", "#cells thead"):
        box = tab.locator(element).bounding_box()
        assert box["y"] + box["height"] <= 800, element
    heads = dict(zip(tab.locator("#cells thead th").all_text_contents(), itertools.count(), strict=False))
    for head in ("verdict", "limited by", "seeds"):
        box = tab.locator("#cells thead th").nth(heads[head]).bounding_box()
        assert box["x"] + box["width"] <= 1280, head
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    last = tab.locator("#rules ~ .scroll tbody tr").last.locator("td")
    assert list(map(int, last.all_text_contents())) == [*counts.values()]


# --- numbers --------------------------------------------------------------------------------------


def rows_of(tab):
    """The shown rows of the table, by (cell, observable): heading -> what is sorted by."""
    heads = tab.locator("#cells thead th").all_text_contents()
    rows = tab.locator("#cells tbody tr").evaluate_all(
        "rows => rows.filter(r => !r.hidden).map(r => [r.dataset.of, ...[...r.cells].map(c => c.dataset.v ?? "
        "c.textContent)])")
    return {(int(of.split()[0]), of.split()[1]): dict(zip(heads, values, strict=True)) for of, *values in rows}


def test_the_table_says_what_the_store_and_the_theory_say(tab, found, folder):
    rows = rows_of(tab)
    assert len(rows) == 3 * len(found["cells"]) == 21
    with Store(folder / "sweep.db") as store:
        values = {p.setting: np.array(list(store.known(p).values())) for p in store.current()}
    for i, setting in enumerate(CELLS):
        expected, cell = predict(setting), found["cells"][i]
        for k, o in enumerate(OBSERVABLES):
            row = rows[i, o]
            assert float(row["predicted"]) == getattr(expected, o) == cell["predicted"][o]
            assert float(row["observed"]) == pytest.approx(values[setting][:, k].mean(), rel=1e-14)
            assert float(row["difference"]) == cell["difference"][o]
            assert row["verdict"] == cell["verdict"][o] and row["limited by"] == cell["binding"]
            assert [int(row[s]) for s in ("L", "d")] == [setting.L, setting.d] and "V" not in row  # all have one V


def test_marks_stand_where_their_numbers_are(tab, found):
    marks = tab.locator("#agreement-2 .mark").evaluate_all(
        "marks => marks.map(m => [parseInt(m.dataset.of), Number(m.getAttribute('x')), Number(m.getAttribute('y'))])")
    cells, x, y = map(np.array, zip(*marks, strict=True))
    assert sorted(cells) == list(range(7))
    predicted = np.array([found["cells"][i]["predicted"]["recall"] for i in cells])
    observed = np.array([found["cells"][i]["observed"]["recall"]["mean"] for i in cells])
    for pixels, values in ((x, predicted), (y, observed)):
        assert np.abs(np.polyval(np.polyfit(values, pixels, 1), values) - pixels).max() < 1e-3


def test_phase_and_scaling_show_the_numbers_of_the_json(tab, found):
    assert [p["x"] for p in found["phase"]] == ["d"] and len(found["phase"][0]["accuracy"]) == 2
    law = found["scaling"][0]
    row = tab.locator("#scaling-1 + div tbody tr").first.locator("th, td").all_text_contents()
    assert row[0] == f"{law['points'][0]['value']}"
    assert float(row[2]) == pytest.approx(law["points"][0]["critical"], rel=1e-3)
    fitted = tab.locator("p.fitted").first
    assert f"exponent {law['exponent']['observed']:.3f} (" in " ".join(fitted.text_content().split())
    assert fitted.locator("math msup").count() == 2  # and the predicted one


# --- pointing, tapping, keys ----------------------------------------------------------------------


def tells(tab, found, of):
    """The tip tells of "CELL OBSERVABLE" what the JSON says."""
    tip = tab.locator("#tip")
    tip.wait_for(state="visible")
    told = dict(zip(tip.locator("dt").all_text_contents(), tip.locator("dd").all_text_contents(), strict=True))
    number, observable = of.split()
    cell = found["cells"][int(number)]
    assert told["observable"] == observable and told["d"] == str(cell["setting"]["d"])
    assert told["predicted"] == probability(cell["predicted"][observable])
    assert told["observed"] == probability(cell["observed"][observable]["mean"])
    assert told["its interval"] == " to ".join(map(signed, cell["agreement_interval"][observable]))
    assert told["verdict"] == cell["verdict"][observable]


@pytest.mark.parametrize("name", ["agreement-2", "residuals-2", "phase-1"])
def test_a_mark_tells_its_numbers_when_pointed_at(tab, found, name):
    mark = tab.locator(f"#{name} .mark").nth(2)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tells(tab, found, tab.locator(".chosen").get_attribute("data-of"))
    tab.mouse.move(0, 0)
    tab.locator("#tip").wait_for(state="hidden")


def test_a_finger_need_not_hit_a_mark(phone, found):
    mark = phone.locator("#agreement-3 .mark").nth(0)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    phone.touchscreen.tap(box["x"] - 6, box["y"] + 10)
    tells(phone, found, phone.locator(".chosen").get_attribute("data-of"))
    tip = phone.locator("#tip").bounding_box()
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= 375


def test_keys_reach_every_mark(tab, found):
    tab.locator("#agreement-2 .drawing").focus()
    reached = []
    for _ in range(7):
        tab.keyboard.press("ArrowRight")
        of = tab.locator(".chosen").get_attribute("data-of")
        tells(tab, found, of)
        reached.append(int(of.split()[0]))
    assert sorted(reached) == list(range(7))
    tab.keyboard.press("Escape")
    tab.locator("#tip").wait_for(state="hidden")


# --- selecting and sorting ------------------------------------------------------------------------


REGIMES = {
    "model": lambda cell, observable: "attention only" if cell["setting"]["m"] is None else "with an MLP",
    "observable": lambda cell, observable: observable,
    "attention": lambda cell, observable: "sure" if cell["attention_sure"] else "not sure",
    "limited by": lambda cell, observable: cell["binding"],
}


@pytest.mark.parametrize("name", REGIMES)
def test_a_regime_leaves_its_comparisons_alone(tab, found, name):
    value = REGIMES[name](found["cells"][-1], "recall")
    tab.select_option(f"select[name='{name}']", value)
    expected = {(i, o) for i, cell in enumerate(found["cells"]) for o in cell["verdict"]
                if REGIMES[name](cell, o) == value}
    assert set(rows_of(tab)) == expected and 0 < len(expected) < 21
    assert tab.locator("#selection output").text_content() == f"{len(expected)} of 21 comparisons"
    for figure, whole in (("agreement-2", False), ("residuals-1", True)):
        left = tab.locator(f"#{figure} .mark:not(.off)").evaluate_all("marks => marks.map(m => m.dataset.of)")
        assert set(left) == {f"{i} {o}" for i, o in expected if whole or o == "recall"}
    tab.click("#selection button")
    tab.locator("#selection output", has_text="21 of 21").wait_for()
    assert len(rows_of(tab)) == 21 and tab.locator(".off").count() == 0


def test_headings_sort_and_details_come_on_demand(tab):
    head = tab.locator("#cells thead th", has_text="observed")
    for order in ("ascending", "descending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        values = [float(row["observed"]) for row in rows_of(tab).values()]
        assert values == sorted(values, reverse=order == "descending")
    detail = tab.locator("#cells thead th", has_text="design effect")
    assert not detail.is_visible()
    tab.check("#details")
    assert detail.is_visible()
    tab.uncheck("#details")


# --- for every eye and ear ------------------------------------------------------------------------


def test_a_phone_shows_all_of_it(phone):
    assert_no_sideways_scroll(phone, 320, 375, 390)
    assert phone.locator(".hint").is_visible()
    smallest = phone.locator(".drawing svg text").evaluate_all(
        "t => Math.min(...t.map(x => parseFloat(getComputedStyle(x).fontSize) * Math.hypot(x.getCTM().a, "
        "x.getCTM().b)))")
    assert smallest >= 7  # numbers beside marks are 5.5 points of print


def mean_shades(tab, element):
    """The darkest and the lightest shade of a screenshot, from 0 to 255."""
    image = pytest.importorskip("PIL.Image")
    shades = np.asarray(image.open(io.BytesIO(tab.locator(element).screenshot())).convert("L"))
    return int(shades.min()), int(shades.max()), float(np.median(shades))


def test_figures_are_light_on_dark_pages_and_dark_on_light_ones(tab, phone):
    for page_, is_dark in ((tab, False), (phone, True)):
        low, high, paper = mean_shades(page_, "#agreement-2 svg")
        assert (paper < 40 and high > 200) if is_dark else (paper > 230 and low < 60)


def test_it_is_for_everybody(tab, phone, found):
    assert_for_everybody(tab, dark=False)
    assert_for_everybody(phone, dark=True)
    assert all(tab.locator("nav a").evaluate_all("a => a.map(x => document.querySelector(x.hash) !== null)"))
    labels = tab.locator(".drawing").evaluate_all("all => all.map(x => x.getAttribute('aria-label'))")
    assert all(len(label) > 60 and re.search(r"\d\.\d", label) for label in labels)
    lowest = min(c["predicted"]["recall"] for c in found["cells"])
    assert f"Predicted from {lowest:.3f}" in tab.locator("#agreement-2 .drawing").get_attribute("aria-label")


# --- stores of all kinds --------------------------------------------------------------------------


def reported(folder, *more):
    """The exit code of `report` and its page as text ("" for none)."""
    path = folder / "report.html"
    code = main(["report", "--store", str(folder / "s.db"), "--output", str(path), *more])
    return code, path.read_text() if path.exists() else ""


@pytest.mark.parametrize("kind, words", [
    ("absent", "is not there"), ("empty", "holds no result"), ("broken", "broken"), ("other model", "another version")])
def test_a_store_that_shows_nothing_is_one_line(tmp_path, kind, words):
    path = tmp_path / "s.db"
    if kind == "broken":
        path.write_bytes(b"SQLite format 3\0" + b"x" * 4096)
    elif kind != "absent":
        with Store(path) as store:
            if kind == "other model":
                store.add(Problem(CELLS[0], 1, model=999), 0, (1.0, 1.0, 1.0))
    before = path.read_bytes() if path.exists() else None
    line = refused("report", "--store", str(path), "--output", str(tmp_path / "report.html"))
    assert words in line and "--store" in line
    assert (path.read_bytes() if path.exists() else None) == before


def test_one_seed_and_half_a_sweep_are_said_in_words(tmp_path):
    with Store(tmp_path / "s.db") as store:
        for number, cell in enumerate(CELLS[:2]):
            for seed in range(1 + 2 * number):
                store.add(Problem(cell, 1), seed, (0.5, 0.25, 0.25))
    code, text = reported(tmp_path)
    assert code == 0
    words = " ".join(html.unescape(text).split())
    for said in ("With one seed only, which has no interval: 1 cell.", "have 1 to 3 seeds", "isn't finished"):
        assert said in words
    assert re.search("NaN|nan\\b", text.split("<script")[0].split("</style>")[1]) is None


def test_cells_without_a_prediction_are_named(tmp_path):
    with Store(tmp_path / "s.db") as store:
        for cell in (Setting(V=8, L=2, d=8, N=32, m=8, embedding="orthogonal", activation="x**3 - 3*x"),
                     Setting(V=8, L=2, d=8, N=32, embedding="orthogonal", eta=1e-3, gamma=1e3)):
            store.add(Problem(cell, 1, n_test=64), 0, (0.5, 0.25, 0.25))
    code, text = reported(tmp_path)
    assert code == 0 and "2 cells without a prediction" in text and "there is nothing to judge" in text
    assert "with an MLP predict describes gaussian and sphere" in text and "--n-test 64" in text


def test_a_large_store_shows_what_disagrees_first(monkeypatch):
    from recall_theory.sweep.store_summary import summarise_store

    results = sweep(product({"d": [16, 32], "L": [2, 4]}, V=16, N=128), seeds=3, seed=1)
    summary = summarise_store(results, diagram_cells=None)
    monkeypatch.setattr("recall_theory.web.report_page.MOST_CELLS", 3)
    assert MOST_CELLS == 300
    text = page(summary)
    assert text.count("<tr data-of=") == 9 and "Of 4 cells these are the ones that disagree" in text
    note = "All have V = 16, N = 128, attention only; the margin is 0.02. The interval is that of the difference"
    assert note in " ".join(html.unescape(text).split())
