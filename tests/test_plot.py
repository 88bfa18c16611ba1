"""Figures for print: the size of a column, fonts embedded, the same bytes, and told apart without colour."""

from __future__ import annotations

import functools
import importlib
import json
import re
import struct
import sys
import zlib

import pytest

from recall_theory import Setting, predict
from recall_theory.cli import main as run
from recall_theory.figures.marks import SHAPES
from recall_theory.figures.ticks import round_numbers
from recall_theory.pages.palette import light
from recall_theory.sweep import Problem, Store, product, sweep
from recall_theory.sweep import slices as planes

FIGURES = ("agreement", "residuals", "phase", "scaling")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a store; predictions are made once."""
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    folder = tmp_path_factory.mktemp("plot")
    sweep(product({"d": [6, 12, 24], "L": [2, 4]}, V=12, N=96), seeds=48, seed=3, store=folder / "sweep.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "CELLS", (3, 2))
        once = functools.cache(predict)
        for module in ("evidence.cells", "theory.phase"):
            patch.setattr(importlib.import_module(f"recall_theory.{module}"), "predict", once)
        yield folder


def plot(folder, figure, name, *more):
    """The bytes of a figure."""
    path = folder / name
    assert run(["plot", "--store", str(folder / "sweep.db"), "--figure", figure, "--at", "0.4", "--output", str(path),
                *more]) == 0
    return path.read_bytes()


@pytest.mark.parametrize("figure, kind", [("agreement", "pdf"), ("residuals", "svg"), ("phase", "svg"),
                                          ("phase", "png"), ("scaling", "pdf")])
def test_the_same_store_gives_the_same_bytes(folder, figure, kind):
    one, other = (plot(folder, figure, f"{name}.{kind}", "--observable", "recall") for name in "ab")
    assert one == other


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("width, points", [("single", 3.4 * 72), ("double", 7 * 72)])
def test_a_figure_is_as_wide_as_a_column(folder, figure, width, points):
    text = plot(folder, figure, "a.svg", "--width", width, "--observable", "accuracy").decode()
    assert float(re.search(r'<svg[^>]* width="([0-9.]+)pt"', text)[1]) == pytest.approx(points)
    assert "<text" in text and "Date" not in text


def test_fonts_are_embedded_and_can_be_searched(folder):
    pdf = plot(folder, "agreement", "a.pdf")
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf and b"CreationDate" not in pdf
    box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+)", pdf)
    assert float(box[1]) == pytest.approx(7 * 72)


def test_pixels_are_dense_enough_for_print(folder):
    png = plot(folder, "agreement", "a.png", "--width", "single", "--observable", "recall")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", png[16:20])[0] == 3.4 * 300
    assert len(zlib.decompress(b"".join(chunks(png)))) > 0


def chunks(png):
    """The data of a PNG file."""
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            yield png[at + 8:at + 8 + length]
        at += 12 + length


def test_every_comparison_is_drawn_once(folder):
    text = plot(folder, "agreement", "a.svg").decode()
    drawn = [(observable, int(cell)) for observable, cells in re.findall(r'id="marks:(\w+):([0-9,]+)"', text)
             for cell in cells.split(",")]
    assert sorted(drawn) == sorted((o, i) for o in SHAPES for i in range(6))
    for observable, cells, inner in re.findall(r'id="marks:(\w+):([0-9,]+)">(.*?)</g>\s*</g>', text, re.DOTALL):
        assert inner.count("<use") == cells.count(",") + 1, observable


def test_marks_differ_without_colour():
    """Observables by shape; the verdicts of one observable by filling, whose grey is far from that of the line."""
    assert len(set(SHAPES.values())) == 3
    paper = light()["paper"]
    assert all(contrast(light()[o], paper) > 4.5 for o in SHAPES)


def contrast(one, other):
    """The ratio of luminances of WCAG."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_one_observable_alone(folder):
    text = plot(folder, "residuals", "a.svg", "--observable", "recall").decode()
    assert set(re.findall(r'id="marks:(\w+):', text)) == {"recall"}
    said = plot(folder, "residuals", "a.json", "--observable", "recall", "--json")
    assert "accuracy" not in " ".join(json.loads(said)["words"])


def test_words_are_what_there_is_without_a_file(folder, capsys):
    assert run(["plot", "--store", str(folder / "sweep.db"), "--figure", "scaling", "--at", "0.4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["scaling"]) == len(found["words"]) == 2
    for law, words in zip(found["scaling"], found["words"], strict=True):
        assert f"Fitted exponent {law['exponent']['observed']:.3f}" in words


def one_line(capsys, *arguments):
    """What a refused command says."""
    assert run(["plot", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_bad_input_is_one_line(folder, tmp_path, capsys):
    store = ["--store", str(folder / "sweep.db")]
    assert "--figure is missing" in one_line(capsys, *store, "--output", "a.pdf")
    assert "--output is missing" in one_line(capsys, *store, "--figure", "phase")
    assert ".svg, .pdf, .png" in one_line(capsys, *store, "--figure", "phase", "--output", "a.gif")
    assert "--store is missing" in one_line(capsys, "--figure", "phase", "--output", "a.pdf")
    assert "--at" in one_line(capsys, *store, "--figure", "phase", "--output", "a.pdf", "--at", "1")
    assert "0.999 along two scans" in one_line(capsys, *store, "--figure", "scaling", "--at", "0.999", "--json")
    with Store(tmp_path / "one.db") as kept:
        kept.add(Problem(Setting(V=12, L=2, d=6, N=96), 1), 0, (1.0, 0.5, 0.5))
    one = ["--store", str(tmp_path / "one.db"), "--json"]
    assert "no two sizes" in one_line(capsys, *one, "--figure", "phase")
    assert "no size differs" in one_line(capsys, *one, "--figure", "residuals")
    with Store(tmp_path / "odd.db") as kept:
        kept.add(Problem(Setting(V=12, L=2, d=6, N=96, eta=1e-3, gamma=1e3), 1, 64), 0, (1.0, 0.5, 0.5))
    assert "none of the store's cells" in one_line(capsys, "--store", str(tmp_path / "odd.db"), "--figure",
                                                   "agreement", "--json")


def test_without_matplotlib_it_is_one_line(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = one_line(capsys, "--store", str(folder / "sweep.db"), "--figure", "agreement", "--output",
                    str(folder / "no.pdf"))
    assert "recall-theory[plot]" in said and not (folder / "no.pdf").exists()


@pytest.mark.parametrize("low, high", [(1, 2), (2, 2), (16, 16.5), (33, 249), (7, 9), (1, 1e9), (200, 1e6), (3, 4000)])
def test_ticks_are_few_inside_and_round(low, high):
    ticks = round_numbers(low, high)
    assert 1 <= len(ticks) <= 8
    assert all(low - 1e-9 <= t <= high + 1e-9 for t in ticks)
    assert ticks == sorted(set(ticks))
