"""The page that `report` makes of a store, in a real browser: what it shows is what the store and the theory say."""

from __future__ import annotations

import functools
import importlib
import itertools
import json
import re
import sys

import numpy as np
import pytest

from recall_theory import Setting, predict
from recall_theory.cli import main as run
from recall_theory.report.numbers import probability, signed
from recall_theory.sweep import Problem, Store, product, sweep
from recall_theory.sweep import slices as planes

pytest.importorskip("matplotlib", reason="figures need matplotlib")

CELLS = [*product({"d": [6, 12, 24], "L": [2, 4]}, V=12, N=96), Setting(V=12, L=2, d=12, N=96, m=16)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a store, its page and its JSON."""
    folder = tmp_path_factory.mktemp("report")
    sweep(CELLS, seeds=48, seed=3, store=folder / "sweep.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "CELLS", (3, 2))  # a coarse diagram is as good a test
        once = functools.cache(predict)
        for module in ("evidence.cells", "theory.phase"):
            patch.setattr(importlib.import_module(f"recall_theory.{module}"), "predict", once)
        for file, more in (("page.html", []), ("again.html", []), ("page.json", ["--json"])):
            assert run(["report", "--store", str(folder / "sweep.db"), "--at", "0.4", "--output", str(folder / file),
                        *more]) == 0
    return folder


@pytest.fixture(scope="module")
def found(made):
    """What `report --json` says of the store."""
    return json.loads((made / "page.json").read_text())


@pytest.fixture(scope="module")
def opened(new_context, made):
    """The page in a browser, and what it complained about or asked for."""
    context = new_context(viewport={"width": 1100, "height": 800}, reduced_motion="reduce")
    tab = context.new_page()
    complaints, asked = [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((made / "page.html").as_uri())
    yield tab, complaints, asked
    context.close()


@pytest.fixture
def tab(opened):
    """The page, nothing selected."""
    tab = opened[0]
    tab.click("form.regimes button")
    tab.mouse.move(0, 0)
    return tab


@pytest.fixture(scope="module")
def phone(new_context, made):
    """The page on a phone, dark."""
    context = new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True, color_scheme="dark",
                       reduced_motion="reduce")
    tab = context.new_page()
    tab.goto((made / "page.html").as_uri())
    yield tab
    context.close()


def test_it_renders_without_a_complaint_and_asks_for_nothing(opened):
    tab, complaints, asked = opened
    assert tab.title() == "Theory and simulation in 7 cells"
    assert tab.locator("main h2").all_text_contents() == [
        "Verdict", "Predicted against observed", "Residuals against each size", "Phase diagrams",
        "How critical sizes scale", "All comparisons", "What was run, and how to run it again", "The formulas"]
    assert tab.locator("svg.figure").count() >= 3 + 3 + 1 + 1
    assert complaints == []
    assert len(asked) == 1 and asked[0].startswith("file:")


def test_it_names_no_other_file(made):
    text = (made / "page.html").read_text()
    assert re.findall(r"(?:src|href)=\"[^#]", text) == []
    assert set(re.findall(r"url\(.", text)) == {"url(#"}
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/(2000/svg|1999/xlink)", "", text)


def test_the_same_store_gives_the_same_bytes(made):
    assert (made / "page.html").read_bytes() == (made / "again.html").read_bytes()


# --- numbers --------------------------------------------------------------------------------------


def rows_of(tab):
    """The rows of the table of comparisons that are shown, by (cell, observable): heading -> what is sorted by."""
    heads = [h.strip() for h in tab.locator("#cells thead th").all_text_contents()]
    rows = tab.locator("#cells tbody tr").evaluate_all(
        "rows => rows.filter(r => !r.hidden).map(r => [r.dataset.of, ...[...r.cells].map(c => c.dataset.v ?? "
        "c.textContent)])")
    return {(int(of.split()[0]), of.split()[1]): dict(zip(heads, values, strict=True)) for of, *values in rows}


def test_the_table_says_what_the_store_and_the_theory_say(tab, found, made):
    rows = rows_of(tab)
    assert len(rows) == 3 * len(found["cells"]) == 21
    with Store(made / "sweep.db") as store:
        seen = {p.setting: np.array(list(store.known(p).values())) for p in store.current()}
    for i, setting in enumerate(CELLS):
        expected = predict(setting)
        for k, o in enumerate(("attention", "recall", "accuracy")):
            row, cell = rows[i, o], found["cells"][i]
            assert float(row["predicted"]) == getattr(expected, o) == cell["predicted"][o]
            assert float(row["observed"]) == pytest.approx(seen[setting][:, k].mean(), rel=1e-14)
            assert float(row["difference"]) == cell["difference"][o]
            assert row["verdict"].startswith(cell["verdict"][o])
            assert row["limited by"] == cell["binding"]
            assert [int(row[s]) for s in ("V", "L", "d", "N")] == [getattr(setting, s) for s in ("V", "L", "d", "N")]


def test_the_tally_adds_up(tab, found):
    verdicts = [v for cell in found["cells"] for v in cell["verdict"].values()]
    last = tab.locator("#tally tbody tr").last.locator("td").all_text_contents()
    assert list(map(int, last)) == [*(verdicts.count(v) for v in ("agree", "disagree", "inconclusive")), 21]
    assert found["verdict"] in tab.locator(".whole").text_content()


def test_marks_stand_where_their_numbers_are(tab, found):
    """Between two marks of a panel, pixels are proportional to probabilities."""
    marks = tab.locator("#agreement-recall .mark").evaluate_all(
        "marks => marks.map(m => [Number(m.dataset.cell), Number(m.getAttribute('x')), Number(m.getAttribute('y'))])")
    assert sorted(cell for cell, _, _ in marks) == list(range(7))
    cells, x, y = map(np.array, zip(*marks, strict=True))
    expected = np.array([found["cells"][i]["predicted"]["recall"] for i in cells])
    observed = np.array([found["cells"][i]["observed"]["recall"]["mean"] for i in cells])
    for pixels, values in ((x, expected), (y, observed)):
        slope, level = np.polyfit(values, pixels, 1)
        assert np.abs(level + slope * values - pixels).max() < 0.02  # coordinates have two decimals


def test_phase_and_scaling_show_the_numbers_of_the_json(tab, found):
    assert [p["x"] for p in found["phase"]] == ["d"] and len(found["phase"][0]["accuracy"]) == 2
    law = found["scaling"][0]
    shown = tab.locator("#critical ~ .law table tbody tr").first.locator("th, td").all_text_contents()
    assert shown[0] == f"{law['points'][0]['value']}"
    assert float(shown[2]) == pytest.approx(law["points"][0]["critical"], rel=1e-3)
    fitted = tab.locator("p.fitted").first
    assert f"exponent {law['exponent']['observed']:.3f}" in fitted.text_content()
    assert fitted.locator("math msup").count() == 1


# --- pointing, tapping, tabbing -------------------------------------------------------------------


def said(tab):
    """What the tip says: heading -> text, "" -> its title."""
    tip = tab.locator("#tip")
    tip.wait_for(state="visible")
    terms = tip.locator("dt").all_text_contents()
    return {"": tip.locator("b").text_content(), **dict(zip(terms, tip.locator("dd").all_text_contents(), strict=True))}


def tells(told, found, cell, observable):
    of = found["cells"][cell]
    assert told[""].startswith(f"{observable} at V = 12, L = {of['setting']['L']}, d = {of['setting']['d']}, N = 96")
    assert told["predicted"] == probability(of["predicted"][observable])
    assert told["observed"] == probability(of["observed"][observable]["mean"])
    assert told["its interval"] == " to ".join(map(signed, of["interval"][observable]))
    assert told["verdict"].startswith(of["verdict"][observable])


@pytest.mark.parametrize("name", ["agreement-recall", "residuals-d", "phase-1"])
def test_a_mark_tells_its_numbers_when_pointed_at(tab, found, name):
    mark = tab.locator(f"#{name} .mark").nth(2)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tells(said(tab), found, int(mark.get_attribute("data-cell")), mark.get_attribute("data-observable"))
    assert tab.locator(".ring").count() == 1
    tab.mouse.move(0, 0)
    tab.locator("#tip").wait_for(state="hidden")


def test_a_finger_need_not_hit_a_mark(phone, found):
    mark = phone.locator("#agreement-accuracy .mark").nth(0)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    phone.touchscreen.tap(box["x"] - 6, box["y"] + 10)
    told = said(phone)
    cell = phone.locator("#agreement-accuracy .mark").evaluate_all(
        "marks => marks.map(m => [m.getAttribute('aria-label'), m.dataset.cell])")
    tells(told, found, int({label.split(":")[0]: c for label, c in cell}[told[""]]), "accuracy")
    tip = phone.locator("#tip").bounding_box()
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= 390


def test_keys_reach_every_mark(tab, found):
    stops = tab.locator("#agreement-recall .mark[tabindex='0']")
    assert stops.count() == 1
    stops.focus()
    tab.keyboard.press("Home")
    reached = []
    for _ in range(7):
        at = tab.evaluate("[Number(document.activeElement.dataset.cell), document.activeElement.dataset.observable]")
        tells(said(tab), found, *at)
        reached.append(at[0])
        tab.keyboard.press("ArrowRight")
    assert sorted(reached) == list(range(7))
    tab.keyboard.press("Escape")
    tab.locator("#tip").wait_for(state="hidden")


# --- regimes and the table ------------------------------------------------------------------------


REGIMES = {
    "model": lambda cell, observable: "attention only" if cell["setting"]["m"] is None else "with an MLP",
    "observable": lambda cell, observable: observable,
    "attention": lambda cell, observable: "sure" if cell["attention_sure"] else "not sure",
    "limited": lambda cell, observable: cell["binding"],
}


@pytest.mark.parametrize("name", REGIMES)
def test_a_regime_leaves_its_own_alone(tab, found, name):
    value = REGIMES[name](found["cells"][-1], "recall")
    tab.select_option(f"select[name={name}]", value)
    expected = {(i, o) for i, cell in enumerate(found["cells"]) for o in cell["verdict"]
                if REGIMES[name](cell, o) == value}
    assert set(rows_of(tab)) == expected and 0 < len(expected) < 21
    assert tab.locator("form.regimes output").text_content() == f"{len(expected)} of 21 comparisons"
    for figure, whole in (("agreement-recall", False), ("residuals-L", True)):
        left = tab.locator(f"#{figure} .mark:not(.off)").evaluate_all(
            "marks => marks.map(m => [Number(m.dataset.cell), m.dataset.observable])")
        assert {tuple(x) for x in left} == {(i, o) for i, o in expected if whole or o == "recall"}
        stops = tab.locator(f"#{figure} .mark[tabindex='0']")
        assert stops.count() == (len(left) > 0) and tab.locator(f"#{figure} .mark.off[tabindex='0']").count() == 0
    tab.click("form.regimes button")
    assert len(rows_of(tab)) == 21 and tab.locator(".off").count() == 0


def test_headings_sort(tab):
    head = tab.locator("#cells thead th", has_text="observed")
    for order in ("ascending", "descending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        values = [float(row["observed"]) for row in rows_of(tab).values()]
        assert values == sorted(values, reverse=order == "descending")


# --- for every eye and ear ------------------------------------------------------------------------


@pytest.mark.parametrize("width", [320, 360, 390])
def test_no_page_is_wider_than_the_phone(phone, width):
    phone.set_viewport_size({"width": width, "height": 844})
    assert phone.evaluate("document.documentElement.scrollWidth") <= width
    smallest = phone.locator("svg.figure text").evaluate_all(
        "t => Math.min(...t.map(x => parseFloat(getComputedStyle(x).fontSize) * Math.hypot(x.getCTM().a, "
        "x.getCTM().b)))")
    assert smallest >= (7 if width == 390 else 5)  # numbers beside marks are 5.5 points of print


CONTRAST = """
() => {
  const rgb = (text) => {  // any colour as it is painted
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((x) => x / 255)
      .map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => p - q);
    return (y + 0.05) / (x + 0.05);
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (rgb(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const found = [];
  const say = (element, a, b, least) => {
    const c = contrast(a, b);
    if (c < least) found.push([element.outerHTML.slice(0, 120), a, b, c]);
  };
  let texts = 0;
  for (const e of document.querySelectorAll("body *:not(script)")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    if (!e.checkVisibility()) continue;
    texts += 1;
    const style = getComputedStyle(e);
    say(e, e.ownerSVGElement ? style.fill : style.color, behind(e), 4.5);
  }
  const paper = behind(document.body);
  for (const mark of document.querySelectorAll(".mark")) say(mark, getComputedStyle(mark).stroke, paper, 3);
  for (const region of document.querySelectorAll(".regions path"))  // letters and lines lie on regions
    say(region, getComputedStyle(document.body).color, getComputedStyle(region).fill, 4.5);
  return [texts, found];
}
"""


def test_dark_and_light_have_contrast(opened, phone):
    for tab in (opened[0], phone):
        texts, weak = tab.evaluate(CONTRAST)
        assert texts > 200
        assert weak == []
    assert phone.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 27)"


def test_every_figure_has_words_with_its_numbers(tab, found):
    labels = tab.locator("svg.figure").evaluate_all("figures => figures.map(f => f.getAttribute('aria-label'))")
    assert all(len(label) > 60 and re.search(r"\d\.\d", label) for label in labels)
    lows = min(c["predicted"]["recall"] for c in found["cells"])
    assert f"Predicted from {lows:.3f}" in tab.locator("#agreement-recall svg").get_attribute("aria-label")
    assert tab.locator("figure:not(:has(figcaption))").count() == 0
    assert tab.locator("table:not(:has(caption))").count() == 0


def test_headings_and_landmarks_are_in_order(tab):
    levels = tab.locator("h1, h2, h3").evaluate_all("h => h.map(x => Number(x.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert tab.locator(landmark).count() == 1
    targets = tab.locator("nav a").evaluate_all("a => a.map(x => document.querySelector(x.getAttribute('href')) !== "
                                                "null)")
    assert all(targets)


# --- stores of all kinds --------------------------------------------------------------------------


def reported(folder, *more):
    """The exit code of `report` and its page as text ("" for none)."""
    page = folder / "report.html"
    code = run(["report", "--store", str(folder / "s.db"), "--output", str(page), *more])
    return code, page.read_text() if page.exists() else ""


@pytest.mark.parametrize("kind, words", [
    ("absent", "is not there"), ("empty", "holds no result"), ("broken", "broken"), ("other model", "another version")])
def test_a_store_that_shows_nothing_is_one_line(tmp_path, capsys, monkeypatch, kind, words):
    path = tmp_path / "s.db"
    if kind == "empty":
        Store(path).close()
    elif kind == "broken":
        path.write_bytes(b"SQLite format 3\0" + b"x" * 4096)
    elif kind == "other model":
        with Store(path) as store:
            store.add(Problem(CELLS[0], 1, model=999), 0, (1.0, 1.0, 1.0))
    before = path.read_bytes() if path.exists() else None
    assert reported(tmp_path)[0] == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and words in err and "--store" in err
    assert (path.read_bytes() if path.exists() else None) == before


def test_one_seed_and_half_a_sweep_are_said_in_words(tmp_path):
    with Store(tmp_path / "s.db") as store:
        for number, cell in enumerate(CELLS[:2]):
            for seed in range(1 + 2 * number):
                store.add(Problem(cell, 1), seed, (0.5, 0.25, 0.25))
    code, text = reported(tmp_path)
    assert code == 0
    assert "1 cell has one seed only" in text and "from 1 to 3 seeds" in text
    assert re.search("NaN|nan\\b", text.split("<script")[0].split("</style>")[1]) is None


def test_cells_without_a_prediction_are_named(tmp_path):
    odd = [Setting(V=8, L=2, d=8, N=32, m=8, embedding="orthogonal", activation="x**3 - 3*x"),
           Setting(V=8, L=2, d=8, N=32, eta=1e-3, gamma=1e3)]
    with Store(tmp_path / "s.db") as store:
        for cell in odd:
            store.add(Problem(cell, 1, n_test=64), 0, (0.5, 0.25, 0.25))
    code, text = reported(tmp_path)
    assert code == 0
    assert "2 cells without a prediction" in text and "nothing to judge" in text
    assert "with an MLP predict describes gaussian and sphere" in text and "--n-test 64" in text


def test_without_matplotlib_it_is_one_line(tmp_path, capsys, monkeypatch):
    with Store(tmp_path / "s.db") as store:
        store.add(Problem(CELLS[0], 1), 0, (0.5, 0.25, 0.25))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert reported(tmp_path) == (2, "")
    assert "recall-theory[plot]" in capsys.readouterr().err
    assert run(["report", "--store", str(tmp_path / "s.db")]) == 0  # the tally needs no figure
    assert "Verdict: inconclusive" in capsys.readouterr().out
