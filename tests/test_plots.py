"""Figures: the size of a column, fonts embedded, the same bytes, told apart without colour, and one rule for ticks."""

from __future__ import annotations

import json
import re
import struct
import sys
import xml.etree.ElementTree as ET
from functools import partial

import numpy as np
import pytest
from command_line import refused
from support import remember_summaries

from recall_theory import Setting, phase
from recall_theory.cli import main
from recall_theory.errors import SettingError
from recall_theory.plots.diagrams import exponents_figure, phase_figure
from recall_theory.plots.store_figures import SHAPES, VERDICTS, Mark, draw_marks, store_figure
from recall_theory.plots.style import (
    COLOURS,
    FORMATS,
    PALETTE,
    check_pictures,
    log_ticks,
    panel_grid,
    picture,
    save_pictures,
    tint,
)
from recall_theory.sweep import Problem, Store, product, sweep
from recall_theory.sweep.store_summary import summarise_store
from recall_theory.theory.length_exponents import exponents
from recall_theory.theory.phase import FAMILIES, Point
from recall_theory.web.explore_page import page

pytest.importorskip("matplotlib", reason="figures need matplotlib")

FIGURES = ("agreement", "residuals", "phase", "scaling")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a store whose phase diagrams are coarse; what it shows is computed once."""
    folder = tmp_path_factory.mktemp("plots")
    sweep(product({"d": [6, 12, 24], "L": [2, 4]}, V=12, N=96), seeds=48, seed=3, store=folder / "sweep.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recall_theory.sweep.store_summary.DIAGRAM_CELLS", (3, 2))
        remember_summaries(patch)
        yield folder


def report(folder, figure, name, *more):
    """The bytes of a figure, made by the command."""
    path = folder / name
    line = ["report", "--store", str(folder / "sweep.db"), "--figure", figure, "--at", "0.4"]
    assert main([*line, "--output", str(path), *more]) == 0
    return path.read_bytes()


# --- what all figures share -----------------------------------------------------------------------


def empty():
    return panel_grid(1, "single", height=1)[0]


@pytest.mark.parametrize("path", ["a.gif", "svg"])
def test_what_cannot_be_written_is_told(path):
    with pytest.raises(SettingError, match=r"must end in one of \.svg, \.pdf, \.png"):
        check_pictures(["b.png", path])
    with pytest.raises(SettingError, match="can't be written"):
        save_pictures(empty, ["/nowhere/b.png"])


def test_without_matplotlib_it_is_one_line_at_once(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("recall_theory.sweep.store.gathered", lambda *_: pytest.fail("work has begun"))
    store = ["--store", str(folder / "sweep.db")]
    plane = ["phase", "--x", "N=2^11..2^14", "--y", "d=32..128", "--V", "64", "--L", "8"]
    figure = ["report", *store, "--figure", "phase", "--output", "no.pdf"]
    for line in (figure, ["report", *store, "--output", "no.html"], [*plane, "--plot", "no.svg"]):
        assert "needs matplotlib: pip install 'recall-theory[plot]'" in refused(*line)


@pytest.mark.parametrize("low, high, ticks", [
    (16, 512, "16 32 64 128 256 512"), (0.25, 16, "0.25 0.5 1 2 4 8 16"), (33, 85, "40 60 80"),
    (4096, 65536, "2^{12} 2^{13} 2^{14} 2^{15} 2^{16}"), (1000, 1e8, "10^{3} 10^{4} 10^{5} 10^{6} 10^{7} 10^{8}"),
    (30000, 50000, "30,000 35,000 40,000 45,000 50,000"), (2**9, 2**19, "2^{9} 2^{11} 2^{13} 2^{15} 2^{17} 2^{19}")])
def test_ticks_are_few_and_round(low, high, ticks):
    figure, (panel,) = panel_grid(1, "double", height=1)
    panel.plot([low, high], [0, 1])
    log_ticks(panel, "x", low, high)
    figure.draw_without_rendering()
    inside = [t.label1.get_text() for t in panel.xaxis.get_major_ticks()
              if low * (1 - 1e-9) <= t.get_loc() <= high * (1 + 1e-9)]
    assert [re.sub(r"[$]|\\mathdefault\{(.*)\}", r"\1", label) for label in inside] == ticks.split()


def contrast(one, other):
    """The ratio of luminances that WCAG defines."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_on_paper_and_on_regions():
    assert len(set(SHAPES.values())) == len(SHAPES)
    assert all(contrast(COLOURS[name], COLOURS["paper"]) > 4.5 for name in (*SHAPES, "ink", "muted", *VERDICTS))
    assert all(contrast(COLOURS["ink"], tint(family)) > 4.5 for family in (*FAMILIES, "a family of another model"))
    assert len({tint(family) for family in FAMILIES}) == len(FAMILIES)


def test_colours_of_pages_can_be_read_on_dark_displays():
    dark = {name: shade for name, (_, shade) in PALETTE.items()}
    assert all(contrast(dark[name], dark["paper"]) > 4.5 for name in (*SHAPES, "ink", "muted", "accent", *VERDICTS))
    assert f"--recall: light-dark({COLOURS['recall']}, {dark['recall']});" in page({}, "")


def test_groups_of_marks_say_which_cells_they_are():
    def draw():
        figure, (panel,) = panel_grid(1, "single", height=1)
        draw_marks(panel, [Mark(3, "recall", "agree", 0, 0, -1, 1), Mark(5, "recall", "agree", 1, 0),
                           Mark(7, "accuracy", "disagree", 1, 1)])
        return figure

    svg = picture(draw, "svg", "of-page").decode()
    ids = re.findall(r' id="(of-page:[^"]*)"', svg)
    assert len(ids) == len(set(ids))
    assert sorted(i.split(":", 2)[2] for i in ids if i.count(":") > 2) == [
        "intervals:recall:3", "marks:accuracy:7", "marks:recall:3,5"]


# --- figures about a store ------------------------------------------------------------------------


@pytest.mark.parametrize("figure, kind, start", [
    ("agreement", "pdf", b"%PDF-"), ("residuals", "svg", b"<?xml"), ("phase", "png", b"\x89PNG\r\n\x1a\n")])
def test_the_same_store_gives_the_same_bytes(folder, figure, kind, start):
    one, other = (report(folder, figure, f"{name}.{kind}", "--observable", "recall") for name in "ab")
    assert one == other and one.startswith(start) and b"Date" not in one
    save_pictures(empty, [str(folder / f"empty.{kind}")])
    assert (folder / f"empty.{kind}").read_bytes() == picture(empty, kind)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("width, points", [("single", 3.4 * 72), ("double", 7 * 72)])
def test_a_figure_is_as_wide_as_a_column(folder, figure, width, points):
    text = report(folder, figure, "a.svg", "--width", width, "--observable", "accuracy").decode()
    assert float(re.search(r'<svg[^>]* width="([0-9.]+)pt"', text)[1]) == pytest.approx(points)
    assert "<text" in text and "http" not in re.sub(r"http://www\.w3\.org/", "", text)


def test_fonts_are_embedded_and_pixels_are_dense(folder):
    pdf = report(folder, "agreement", "a.pdf")
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"CreationDate" not in pdf
    assert float(re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+)", pdf)[1]) == pytest.approx(7 * 72)
    png = report(folder, "agreement", "a.png", "--width", "single")
    assert struct.unpack(">I", png[16:20])[0] == 3.4 * 300


def test_every_comparison_is_drawn_once_and_one_observable_alone(folder):
    text = report(folder, "agreement", "a.svg").decode()
    groups = re.findall(r'id="[^"]*:marks:(\w+):([0-9,]+)">(.*?)</g>\s*</g>', text, re.DOTALL)
    assert sorted((o, int(c)) for o, cells, _ in groups for c in cells.split(",")) == sorted(
        (o, i) for o in SHAPES for i in range(6))
    assert all(inner.count("<use") == cells.count(",") + 1 for _, cells, inner in groups)
    text = report(folder, "residuals", "a.svg", "--observable", "recall").decode()
    assert set(re.findall(r":marks:(\w+):", text)) == {"recall"}
    words = json.loads(report(folder, "residuals", "a.json", "--observable", "recall", "--json"))["words"]
    assert "accuracy" not in " ".join(words)


def test_bars_end_where_intervals_and_standard_errors_do():
    results = sweep(product({"d": [6, 24]}, V=12, L=2, N=96), seeds=12, seed=3)
    summary = summarise_store(results, diagram_cells=None)
    found = [cell.comparisons["recall"] for cell in summary.analysis.cells]
    inside = [(c.predicted, max(0, c.predicted + c.low), min(1, c.predicted + c.high)) for c in found]
    beside = [(d, c.difference - c.observed.se, c.difference + c.observed.se)
              for d, c in zip((6, 24), found, strict=True)]
    for name, expected in (("agreement", inside), ("residuals", beside)):
        figure = store_figure(summary, name, ["recall"]).draw("single")
        bars = [(x, low, high) for drawn in figure.axes[0].collections if drawn.get_gid().startswith("intervals")
                for (x, low), (_, high) in drawn.get_segments()]
        assert np.array(bars) == pytest.approx(np.array(expected))


def test_words_are_what_there_is_without_a_file(folder, capsys):
    assert main(["report", "--store", str(folder / "sweep.db"), "--figure", "scaling", "--at", "0.4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["scaling"]) == len(data["words"]) == 2
    for law, words in zip(data["scaling"], data["words"], strict=True):
        assert f"Fitted exponent {law['exponent']['observed']:.3f}" in words


ONE = Setting(V=12, L=2, d=6, N=96)


@pytest.mark.parametrize("store, line, words", [
    ("sweep.db", "--output a.pdf", "--figure is missing"),
    ("sweep.db", "--figure phase", "--output is missing"),
    ("sweep.db", "--figure phase --output a.gif", ".svg, .pdf, .png"),
    ("sweep.db", "--width single", "--width goes with --figure"),
    ("", "--figure phase --output a.pdf", "--store is missing"),
    ("sweep.db", "--figure phase --output a.pdf --at 1", "--at"),
    ("sweep.db", "--figure scaling --at 0.999 --json", "0.999 along two scans"),
    (ONE, "--figure phase --json", "no two sizes"),
    (ONE, "--figure residuals --json", "no size differs"),
    (ONE.replace(embedding="orthogonal", d=12, eta=1e-3, gamma=1e3), "--figure agreement --json",
     "none of the store's cells")])
def test_bad_input_is_one_line(folder, tmp_path, store, line, words):
    path = folder / store if isinstance(store, str) else tmp_path / "one.db"
    if isinstance(store, Setting):
        with Store(path) as kept:
            kept.add(Problem(store, 1, None if store.is_limit else 64), 0, (1.0, 0.5, 0.5))
    assert words in refused("report", *(["--store", str(path)] if store else []), *line.split())


# --- phase diagrams -------------------------------------------------------------------------------


def texts(figure):
    """All text in a figure's SVG."""
    root = ET.fromstring(picture(figure, "svg"))
    return " ".join("".join(t.itertext()) for t in root.iter() if t.tag.endswith("text"))


def test_a_phase_diagram_names_its_causes_points_and_sizes():
    diagram = phase("N", "d", (2**11, 2**16), (32, 256), cells=(6, 7), target=0.5, V=128, L=16)
    points = (Point(2.0**12, 64, 0.3, 0.01, 0.3), Point(2.0**15, 200, 0.97, None, 0.98))
    words = texts(partial(phase_figure, diagram.__class__(**{**diagram.__dict__, "points": points})))
    causes = {name for row in diagram.binding for name in row}
    for word in ("training samples N", "embedding dimension d", "accuracy 0.5", "0.97", "V = 128, L = 16",
                 "simulated, reaches it", "simulated, does not", *causes):
        assert word in words


def test_a_plane_without_a_boundary_is_drawn():
    hopeless = phase("N", "d", (64, 256), (4, 16), cells=(2, 2), V=128, L=16)
    assert hopeless.boundary == () and "accuracy 0.99" not in texts(partial(phase_figure, hopeless)).split("reaches")[0]
    assert FORMATS == ("svg", "pdf", "png")


def test_labels_of_lines_lie_inside_the_panel_and_beside_its_letters():
    figure = exponents_figure(exponents(None, False))
    figure.canvas.draw()
    (panel,) = figure.axes
    inside = panel.get_window_extent()
    labels = [text for text in panel.texts if text.get_text().startswith("c = ")]
    assert len(labels) >= 6 and all(inside.containsx(x) and inside.containsy(y) for text in labels
                                    for x, y in text.get_window_extent().get_points())
    diagram = phase("N", "d", (2**11, 2**16), (32, 256), cells=(6, 7), target=0.5, V=128, L=16)
    figure = phase_figure(diagram)
    figure.canvas.draw()
    *letters, first, second = (text.get_window_extent() for text in figure.axes[0].texts)
    assert letters and not any(label.overlaps(letter) for letter in letters for label in (first, second))
