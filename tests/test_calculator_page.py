"""The calculator page in a real browser: what it shows, for whom, and that it shows nothing stale.

The page's behaviour is tested around a toy engine whose answers and delays are known; the numbers, with the engine that
the page has.
"""

from __future__ import annotations

import itertools
import re
import shlex
import threading

import pytest

from recall_theory import Setting, bounds_at, predict
from recall_theory.pages import calculator
from recall_theory.pages.calculator.serve import Server
from recall_theory.report import numbers
from recall_theory.report.bounds import _least
from recall_theory.theory.capacity import limiting_term

# Attention tells V, recall N; L is the time in milliseconds that an answer takes.
TOY = """
const calculate = ({V, L, d, N, m, embedding}) => {
  if (embedding === "orthogonal" && d < V) return {error: {parameter: "d", message: `d=${d} is too small`}};
  if (d === 13) throw new Error("thirteen");
  for (const until = performance.now() + L; performance.now() < until;) { /* takes its time */ }
  const values = {attention: Math.min(V / 2**20, 1 - 1e-12), recall: 1 - 1 / N, accuracy: 1 / d};
  return {predicted: {...values, std: {attention: 0.01, recall: 0, accuracy: 0.1}}, setting: {V, L, d, N, m},
          terms: {attention: {small: 1, large: 3}, recall: {alone: 0.03125}}, limited_by: "attention: large",
          remarks: m === 7 ? ["Seven is few."] : [],
          bounds: [{name: "coverage", statement: "a <= b", strength: "exact", binds: "all", broken_by: "none",
                    recall: 0.5, allows: false, least_N: 4619, largest_V: null}]};
};
const recallTheory = {calculate, prediction: calculate};
"""
OPENING = "#V=1024&L=1&d=256&N=65536"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The address of the page around the toy engine."""
    path = tmp_path_factory.mktemp("calculator") / "toy.html"
    path.write_text(calculator.document(TOY), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def visit(new_context):
    """Opens an address; fails where the page complains, or asks for anything but itself."""
    contexts, complaints, asked = [], [], []

    def open_page(address, **context):
        contexts.append(new_context(**{"viewport": {"width": 1280, "height": 900}, **context}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append((request.url.partition("#")[0], address.partition("#")[0])))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url, page in asked if url != page and not url.startswith("blob:")] == []


def settled(page):
    """Waits until what is shown belongs to the setting."""
    page.wait_for_selector("#predicted[aria-busy=false]")


def value(page, observable):
    """The number behind what is shown."""
    return float(page.get_attribute(f"[data-observable={observable}] .mean data", "value"))


def enter(page, **texts):
    for name, text in texts.items():
        page.fill(f"#{name}", text)
        page.press(f"#{name}", "Enter")


# Moving a size


def test_a_slider_moves_by_keyboard_and_is_announced(visit, toy):
    page = visit(toy + OPENING)
    settled(page)
    page.focus("#V-slider")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert page.input_value("#V") == "1218"  # 2^(10 + 1/4)
    assert page.get_attribute("#V-slider", "aria-valuetext") == "1,218"
    assert value(page, "attention") == 1218 / 2**20
    page.wait_for_function("location.hash.startsWith('#V=1218&')")
    page.keyboard.press("Home")
    assert page.input_value("#V") == "2"
    said = "attention 1.9e-06, recall 0.999985, accuracy 0.0039; limited by attention: large"
    page.wait_for_selector(f"#announce:text('{said}')", state="attached")


def test_sizes_are_typed_as_on_the_command_line(visit, toy):
    page = visit(toy + OPENING)
    enter(page, V="2^12", N="1e6", d="1,024")
    settled(page)
    assert (value(page, "attention"), value(page, "recall"), value(page, "accuracy")) == (2**-8, 1 - 1e-6, 2**-10)
    assert page.inner_text("#command") == "recall-theory predict --V 4096 --L 1 --d 1024 --N 1000000"
    assert int(page.input_value("#V-slider")) == int(page.evaluate("document.querySelector('#V-slider').max")) - 32


def test_what_is_not_a_size_is_said_beside_it(visit, toy):
    page = visit(toy + OPENING)
    settled(page)
    for text in ("abc", "1.5", "0", "1e16", "<b>x</b>", ""):
        enter(page, N=text)
        assert page.inner_text("#N-problem") == f"“{text}” is not an integer from 1 to 1e+15"
        assert page.get_attribute("#N", "aria-invalid") == "true"
        assert "stale" in page.get_attribute("#predicted", "class")
        assert page.inner_text("#status") == "No result: see N."
    enter(page, N="4")
    settled(page)
    assert value(page, "recall") == 0.75
    assert page.inner_text("#N-problem") == ""


def test_what_the_engine_refuses_is_said_beside_the_size(visit, toy):
    page = visit(toy + OPENING)
    settled(page)
    page.select_option("#embedding", "orthogonal")
    page.wait_for_selector("#d-problem:text('d=256 is too small')")
    assert "stale" in page.get_attribute("#predicted", "class")
    enter(page, d="2048")
    settled(page)
    assert value(page, "accuracy") == 1 / 2048


def test_an_engine_that_fails_is_told(visit, toy):
    page = visit(toy + OPENING.replace("d=256", "d=13"))
    page.wait_for_selector("#status:text('The calculation failed: Error: thirteen')")
    enter(page, d="16")
    settled(page)


def test_the_ratio_is_held(visit, toy):
    page = visit(toy + OPENING)
    page.check("#hold")
    assert page.inner_text("#ratio") == "64"
    enter(page, V="100")
    assert page.input_value("#N") == "6400"
    enter(page, N="1000")
    enter(page, V="50")
    assert page.input_value("#N") == "500"


def test_the_mlp_is_switched_on_and_off(visit, toy):
    page = visit(toy + OPENING)
    assert page.is_hidden("#m") and page.is_visible("#formulas-laws") and page.is_hidden("#formulas-mlp")
    page.check("#mlp")
    enter(page, m="7")
    page.wait_for_selector("text=Seven is few.")
    assert "--m 7 --activation relu" in page.inner_text("#command")
    assert page.is_visible("#formulas-mlp") and page.is_hidden("#formulas-laws")
    page.uncheck("#mlp")
    page.wait_for_selector("text=Seven is few.", state="detached")
    assert "--m" not in page.inner_text("#command")


# The numbers, with the engine that the page has


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The address of the page itself."""
    path = tmp_path_factory.mktemp("calculator") / "page.html"
    path.write_text(calculator.page(), encoding="utf-8")
    return path.as_uri()


def assert_shown(data, shown, expected, write):
    """A number on the page: all its digits in the element, and in words as the tables write it."""
    if expected is None:
        assert data == "null"
    else:
        assert float(data) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if expected is None or expected > 1e-7:  # below, the deviation is rounding noise of the sum it comes from
        assert shown == write(expected)


NUMBERS = """() => {
  const numbers = (row, part) => [...row.querySelectorAll(part)].map((e) => [e.value, e.textContent]);
  const read = (rows, ...parts) => Object.fromEntries([...document.querySelectorAll(rows)].map((row) =>
    [Object.values(row.dataset)[0], parts.map((part) => numbers(row, part))]));
  return {
    observables: read("[data-observable]", ".mean data", ".std data"), bounds: read("[data-bound]", "data"),
    attention: read("#budget-attention [data-cause]", "data"), recall: read("#budget-recall [data-cause]", "data"),
    limited: document.querySelector("#limited b").textContent,
    remarks: [...document.querySelectorAll(".remark")].map((e) => e.textContent),
  };
}"""


def test_the_numbers_are_the_librarys(visit, real):
    page = visit(real)
    settled(page)
    for setting in (
        Setting(V=1024, L=64, d=256, N=65536),
        Setting(V=100, L=8, d=24, N=3000, embedding="sphere", trigger_in_value=False),
        Setting(V=128, L=8, d=64, N=9999, m=500, activation="tanh"),
        Setting(V=40, L=8, d=64, N=30000, m=20, activation="relu"),
        Setting(V=200, L=4, d=256, N=150, embedding="orthogonal"),
        Setting(V=10**6, L=64, d=10**9, N=10**6),  # bits that no float counts one by one
    ):
        enter(page, N="later")  # nothing is calculated until all is set
        page.set_checked("#mlp", setting.m is not None)
        page.select_option("#embedding", setting.embedding)
        page.set_checked("#trigger_in_value", setting.trigger_in_value)
        if setting.m is not None:
            page.select_option("#activation", setting.activation)
            enter(page, m=str(setting.m))
        enter(page, **{name: str(getattr(setting, name)) for name in ("V", "L", "d", "N")})
        settled(page)
        found, expected = page.evaluate(NUMBERS), predict(setting)
        for name, (mean, std) in found["observables"].items():
            assert_shown(*mean[0], getattr(expected, name), numbers.probability)
            assert_shown(*std[0], expected.std[name], numbers.deviation)
        for step, terms in expected.terms.items():
            assert found[step].keys() == terms.keys()
            for cause, ((shown,),) in found[step].items():
                assert_shown(*shown, terms[cause], numbers.number)
        assert found["limited"] == limiting_term(expected)
        assert tuple(found["remarks"]) == expected.remarks
        given = {name: getattr(setting, name) for name in ("V", "L", "d", "N", "m", "activation")}
        bounds = bounds_at(**given)
        assert list(found["bounds"]) == [b.name for b in bounds.bounds]
        for b in bounds.bounds:
            ((recall, least, largest),) = found["bounds"][b.name]
            assert_shown(*recall, b.recall, numbers.probability)
            assert_shown(*least, b.least_N, lambda _, b=b: _least(b, given))  # noqa: B023
            assert_shown(*largest, b.largest_V, lambda v: "any" if v is None else numbers.count(v))


# Order


def test_results_of_older_settings_never_overwrite_newer_ones(visit, toy):
    page = visit(toy + OPENING.replace("L=1", "L=40"))
    settled(page)
    page.evaluate("""() => {
      window.seen = [];
      new MutationObserver(() => {
        const shown = document.querySelector("[data-observable=attention] .mean data");
        window.seen.push([Number(shown.value) * 2**20, document.querySelector("#predicted").classList.contains("stale"),
                          Number(document.querySelector("#V").value)]);
      }).observe(document.querySelector("#observables"), {childList: true});
    }""")
    page.focus("#V-slider")
    for _ in range(12):
        page.keyboard.press("ArrowRight", delay=12)
    settled(page)
    assert page.input_value("#V") == "8192"
    shown = [round(v) for v, _, _ in page.evaluate("window.seen")]
    assert shown == sorted(shown) and shown[-1] == 8192
    # one that a newer setting had overtaken stayed grey
    greyed = page.evaluate("() => window.seen")
    assert all(stale for v, stale, present in greyed if round(v) != present)


def test_a_long_calculation_is_given_up_for_a_newer_setting(visit, toy):
    page = visit(toy + "#V=1024&L=10000000&d=256&N=65536")
    assert page.inner_text("#status") == "Calculating ..."
    enter(page, L="1")
    settled(page)  # long before the hours are over
    assert value(page, "attention") == 2**-10


# The address, and what one takes away


def test_the_address_holds_the_setting(visit, toy):
    page = visit(toy + "#V=100&L=2&d=30&N=4000&m=64&activation=tanh&embedding=sphere&trigger_in_value=no&along=m")
    settled(page)
    command, code = page.inner_text("#command"), page.inner_text("#python")
    expected = Setting(V=100, L=2, d=30, N=4000, m=64, activation="tanh", embedding="sphere", trigger_in_value=False)
    names = {}
    exec(code.replace("print(predict(", "found = (("), names)
    assert names["found"] == expected
    from recall_theory.cli.app import program

    words = shlex.split(command)
    given = program.get_command(None, "predict").make_context("predict", words[2:]).params
    assert Setting(**{k: given[k] for k in Setting.__dataclass_fields__}) == expected
    page.evaluate("location.hash = '#V=64&L=1&d=8&N=128'")
    page.wait_for_function("document.querySelector('#V').value === '64'")
    settled(page)
    assert value(page, "accuracy") == 1 / 8 and page.is_hidden("#m")


def test_what_is_copied_is_what_is_shown(visit, toy):
    page = visit(toy + OPENING, permissions=["clipboard-read", "clipboard-write"])
    for what in ("command", "python"):
        page.click(f"[data-copy={what}]")
        page.wait_for_selector("#copied:text('Copied.')")
        page.wait_for_function("navigator.clipboard.readText().then((text) => text === "
                               f"document.getElementById('{what}').textContent)")
    page.click("[data-copy=link]")
    page.wait_for_function("navigator.clipboard.readText().then((text) => text === location.href)")


def test_the_served_page_asks_for_nothing_more(visit):
    with Server(0, lambda: calculator.document(TOY)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            settled(visit(server.address))  # and `visit` counts the requests
        finally:
            server.shutdown()
            thread.join()


# The curve


def test_the_curve_shows_each_point(visit, toy):
    page = visit(toy + OPENING)
    page.wait_for_selector("#curve[aria-busy=false]")
    rows = page.eval_on_selector_all("#curve-table tbody tr",
                                     "rows => rows.map((r) => [...r.cells].map((c) => c.textContent))")
    assert [rows[0][0], rows[-1][0]] == ["1,024", "4,194,304"] and len(rows) == 25
    assert all(row[2] == numbers.probability(1 - 1 / int(row[0].replace(",", ""))) for row in rows)
    page.locator("#plot").scroll_into_view_if_needed()
    plot = page.locator("#plot").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 100)
    assert re.match(r"N = [\d,]+: attention 0\.0010, recall 0\.9999\d+, accuracy 0\.0039$", page.inner_text("#readout"))
    page.focus("#plot")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.select_option("#along", "d")
    page.wait_for_selector("#curve-table caption:text('along d')", state="attached")
    page.wait_for_selector("#curve[aria-busy=false]")
    assert page.text_content("#plot svg .axis") == "d"
    assert "accuracy from" in page.text_content("#curve-words")


def test_the_curve_is_closer_where_it_is_steep(visit, toy):
    page = visit(toy + "#V=262144&L=1&d=256&N=65536&along=V")
    page.wait_for_selector("#curve[aria-busy=false]")
    values = page.eval_on_selector_all("#curve-table tbody tr",
                                       "rows => rows.map((r) => Number(r.cells[1].firstChild.value))")
    assert 25 < len(values) <= 48
    assert max(b - a for a, b in itertools.pairwise(values)) <= 0.05


# Everybody's page


UNNAMED = """() => [...document.querySelectorAll("input, select, button, summary, svg, table, [role=group]")]
  .filter((e) =>
  !(e.labels?.length || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim()
    || e.querySelector("title, caption"))).map((e) => e.outerHTML)"""
REPEATED = """() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i); }"""
# Contrast of every text with what is behind it (WCAG's formula), where it is under 4.5.
FAINT = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => parse(c).slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if ((parse(c)[3] ?? 1) > 0) return c; }
    return "rgb(255, 255, 255)"; };
  const faint = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.textContent.trim() || !e.checkVisibility?.() || ["SCRIPT", "OPTION"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), ink = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([node.textContent, ink, behind(e)]);
  }
  return faint;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_and_everything_has_a_name(visit, toy, scheme):
    page = visit(toy + OPENING + "&m=7&activation=relu", color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_selector("#curve[aria-busy=false]")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert page.evaluate(FAINT) == []
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(REPEATED) == []
    assert page.get_attribute("html", "lang") == "en"
    assert page.locator("h1").count() == 1


def test_a_phone_never_scrolls_sideways(visit, toy):
    page = visit(toy + OPENING, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page.wait_for_selector("#curve[aria-busy=false]")
    for address in (OPENING, "#V=1e15&L=1&d=1e9&N=1e15&m=1e9", "#V=x&L=1&d=1&N=" + "9" * 200):
        page.evaluate(f"location.hash = '{address}'")
        page.wait_for_function(f"document.querySelector('#V').value === '{address[3:].split('&')[0]}'")
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") == width


def test_formulas_are_typeset_with_their_provenance(visit, toy):
    from recall_theory.theory import formulas

    page = visit(toy + OPENING)
    for entry in page.locator("dd[data-formula]").all():
        item = formulas[entry.get_attribute("data-formula")]
        assert entry.locator(".source b").text_content() == item.provenance
        assert item.reference in entry.locator(".source").text_content()
    shown = page.locator("#formulas-laws math").first.bounding_box()
    assert shown["height"] > 10 and shown["width"] > 30


def test_a_page_keeps_what_could_end_its_scripts():
    text = calculator.document("const x = '</script><!--<script>';")
    assert text.count("</script>") == 4 and "<!--" not in text


def test_the_policy_lets_nothing_in():
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', calculator.document(TOY)).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy and "http" not in policy and "*" not in policy
