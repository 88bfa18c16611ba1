"""The page of `recall-theory explore` in a real browser: what it shows, for whom, and that it shows nothing stale."""

from __future__ import annotations

import contextlib
import re
import threading
import urllib.parse

import pytest
from browser import assert_for_everybody, assert_no_sideways_scroll, serving

from recall_theory import Setting, bounds_at, predict
from recall_theory.numerics.formatting import count, deviation, number, probability
from recall_theory.theory.formulas.registry import formulas
from recall_theory.web.explore_page import answers
from recall_theory.web.explore_page import page as make_page
from recall_theory.web.explore_server import Server

OPENING = "?V=64&L=8&d=32&N=4096"
DONE = "body[aria-busy=false]"


@pytest.fixture
def held():
    """Set: answers come as they are computed. Cleared: curves stop after some points."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def visit(opened, held):
    """Opens the page at a setting, on a server of its own."""

    def answered(form):
        for i, record in enumerate(answers(form)):
            if i == 12:
                held.wait(60)
            yield record

    with serving(Server(0, make_page, answered)) as server, contextlib.ExitStack() as stack:
        yield lambda address=OPENING, **options: stack.enter_context(opened(server.address + address, **options))
        held.set()


def value(page, observable):
    """The number behind what is shown."""
    return float(page.get_attribute(f"[data-observable={observable}] .mean data", "value"))


def enter(page, **texts):
    for name, text in texts.items():
        page.fill(f"#{name}", text)


def settled(page):
    """Waits until all but the curve belongs to the setting."""
    page.wait_for_selector("body:not(:has(.stale :is(#limits, #bound-rows)))")


def assert_shows(page, setting):
    """Every number on the page is the library's: whole, and rounded as in tables."""
    settled(page)
    prediction = predict(setting)
    found = bounds_at(V=setting.V, L=setting.L, d=setting.d, N=setting.N, m=setting.m, activation=setting.activation)
    expected = {
        **{f"[data-observable={o}] .mean": (getattr(prediction, o), probability) for o in prediction.std},
        **{f"[data-observable={o}] .std": (std, deviation) for o, std in prediction.std.items()},
        **{f"#budget-{step} [data-cause='{cause}']": (term, number)
           for step, terms in prediction.terms.items() for cause, term in terms.items()},
        **{f"[data-bound='{b.name}'] td:nth-of-type(3)": (b.largest_V, lambda V: "any" if V is None else count(V))
           for b in found.bounds},
    }
    shown = page.evaluate("""(places) => places.map((place) => {
      const data = document.querySelector(`${place} data`);
      return [data.value, data.textContent.trim()]; })""", list(expected))
    for (place, (x, write)), (whole, text) in zip(expected.items(), shown, strict=True):
        assert (whole, text) == (str(x), write(x)), place
    assert page.locator(".remark").count() == len(prediction.remarks)


@pytest.mark.parametrize("setting", [
    Setting(1024, 64, 256, 65536), Setting(512, 512, 128, 16384, 7),
    Setting(100, 8, 24, 3000, embedding="sphere", trigger_in_value=False),
    Setting(64, 1, 64, 500, embedding="orthogonal"), Setting(64, 8, 32, 4096, 16, "x**2 - 1"),
])
def test_the_numbers_are_the_librarys(visit, setting):
    given = {name: x for name, x in setting.to_dict().items() if x is not None}
    given["trigger_in_value"] = "yes" if setting.trigger_in_value else "no"
    page = visit("?" + urllib.parse.urlencode({**given, "along": "L"}))
    assert_shows(page, setting)


def test_sizes_move_by_keyboard_and_are_typed(visit):
    page = visit()
    page.focus("#V-slider")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#V") == "76"  # 2^(6 + 1/4)
    assert_shows(page, Setting(76, 8, 32, 4096))
    assert page.get_attribute("#V-slider", "aria-valuetext") == "76"
    page.wait_for_url("**/?V=76&*")
    enter(page, V="2^7", N="1e4", d="4x")
    page.wait_for_selector("#d-problem:text(\"d='4x' is not an integer from 1 to 1e+09\")")
    assert page.get_attribute("#d", "aria-invalid") == "true" and page.locator(".stale").count() == 4
    assert page.inner_text("#status") == "No result: see d."
    enter(page, d="40")
    assert_shows(page, Setting(128, 8, 40, 10000))
    assert page.inner_text("#d-problem") == ""
    assert page.inner_text("#command") == "recall-theory predict --V 128 --L 8 --d 40 --N 10000"
    page.select_option("#embedding", "orthogonal")
    page.wait_for_selector("#d-problem:text('too small')")
    page.reload()  # the address holds what is wrong too
    page.wait_for_selector("#d-problem:text('too small')")
    assert page.input_value("#V") == "2^7"


def test_the_ratio_is_held_and_the_mlp_switched_on(visit):
    page = visit(OPENING + "&along=V")
    settled(page)
    page.check("#hold")
    enter(page, V="100")
    assert_shows(page, Setting(100, 8, 32, 6400))
    assert page.input_value("#N") == "6400" and page.inner_text("#ratio") == "64"
    enter(page, N="1000")
    settled(page)
    enter(page, V="50")
    assert_shows(page, Setting(50, 8, 32, 500))
    assert page.is_hidden("#m") and page.is_visible("#formulas-laws") and page.is_hidden("#formulas-mlp")
    page.check("#mlp")
    enter(page, m="7", activation="tanh")
    assert_shows(page, Setting(50, 8, 32, 500, 7, "tanh"))
    assert "--m 7 --activation tanh" in page.inner_text("#command") and page.is_visible("#formulas-mlp")
    page.uncheck("#mlp")
    assert_shows(page, Setting(50, 8, 32, 500))
    assert "--m" not in page.inner_text("#command")


def test_the_newest_setting_is_shown(visit, held):
    page = visit()
    page.wait_for_selector(DONE)
    held.clear()
    for V in range(100, 120):
        enter(page, V=str(V))
    settled(page)
    assert value(page, "recall") == predict(Setting(119, 8, 32, 4096)).recall
    page.wait_for_selector("#along-note:text('provisional: ')")
    held.set()
    page.wait_for_selector(DONE)
    assert_shows(page, Setting(119, 8, 32, 4096))
    assert page.inner_text("#along-note") == (
        "2 of 25 points, from 64 to 91 (* below): Not checked: N/V = 0.538 is below 1, the least that was checked. "
        "Expect predictions to be off by up to 0.08.")
    page.evaluate("form.dataset.token = 'of another server'")
    enter(page, V="64")
    page.wait_for_selector("#status:text('No answer: the token of this page is missing')")


def test_the_curve_is_read_by_pointer_and_keyboard(visit):
    page = visit(OPENING + "&along=d")
    page.wait_for_selector(DONE)
    page.locator("#plot").scroll_into_view_if_needed()
    plot = page.locator("#plot").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 100)
    words = r"d = [\d,]+: attention [\d.e>-]+, recall [\d.e>-]+, accuracy [\d.e>-]+"
    assert re.fullmatch(words, page.inner_text("#readout"))
    rows = page.eval_on_selector_all("#curve-table tbody tr",
                                     "rows => rows.map((r) => [...r.cells].map((c) => c.textContent.trim()))")
    for d, *shown in rows[::6]:
        there = predict(Setting(64, 8, int(d.strip("*").replace(",", "")), 4096))
        assert shown == [probability(x) for x in (there.attention, there.recall, there.accuracy)]
    page.mouse.move(0, 0)
    assert "click or Enter" in page.inner_text("#readout")
    page.focus("#plot")
    page.keyboard.press("ArrowLeft")
    d = int(re.match(r"d = (\d+)", page.inner_text("#readout")).group(1))
    assert 16 < d < 32
    page.keyboard.press("Enter")
    assert_shows(page, Setting(64, 8, d, 4096))
    assert "Along d, from 1 to" in page.get_attribute("#plot svg", "aria-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_for_everybody(visit, scheme):
    page = visit(OPENING + "&m=7", color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_selector("section:not(.stale) #plot svg")
    assert_for_everybody(page, dark=scheme == "dark")


@pytest.mark.parametrize("address", [OPENING, "?V=1e15&L=1&d=1e9&N=1e15", f"?V=x&L=1&d=1&N={'9' * 200}"])
def test_a_phone_never_scrolls_sideways(visit, address):
    page = visit(address, phone=True)
    page.wait_for_selector(DONE)
    assert_no_sideways_scroll(page, 390, 320)


def test_formulas_are_typeset_with_their_provenance(visit):
    page = visit()
    for entry in page.locator("dd[data-formula]").all():
        item = formulas[entry.get_attribute("data-formula")]
        assert entry.locator(".source b").text_content() == item.provenance
        assert item.reference in entry.locator(".source").text_content()
    page.wait_for_selector(DONE)
    shown = page.locator("#formulas-laws math").first.bounding_box()
    assert shown["height"] > 10 and shown["width"] > 30
