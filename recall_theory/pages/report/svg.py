"""A drawn figure as a part of a page: it takes the page's colours and width, and its marks can be pointed at."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

from ...theory.phase import FAMILIES
from ..palette import TINT, light, tint, variable

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
REFERENCES = (f"{{{XLINK}}}href", "href", "clip-path", "fill", "style")

Label = Callable[[int, str], tuple[str, str]]  # of a cell and an observable: its verdict, and what a mark says


def inline(drawn: bytes, name: str, words: str, label: Label) -> str:
    """The <svg> of a figure for a page. `name` makes its ids its own, `words` say what it shows, `label` what each
    mark says."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(drawn)
    for own in [*root.findall(f"{{{SVG}}}metadata"), *root.findall(f"{{{SVG}}}defs")[:1]]:  # its date, its style sheet
        root.remove(own)
    view = root.get("viewBox", "0 0 1 1").split()
    root.attrib.clear()
    root.attrib |= {"viewBox": " ".join(view), "class": "figure", "role": "group", "aria-label": words,
                    "style": f"max-width: {float(view[2]) * 1.75:.0f}px"}
    first = True
    for group in root.iter(f"{{{SVG}}}g"):
        kind, _, rest = group.get("id", "").partition(":")
        if kind == "regions":
            group.set("class", kind)
        if kind not in ("marks", "intervals"):
            continue
        observable, _, cells = rest.partition(":")
        tag = "use" if kind == "marks" else "path"
        found = list(group.iter(f"{{{SVG}}}{tag}"))
        for element, cell in zip(found, map(int, cells.split(",")), strict=True):
            element.attrib |= {"data-cell": str(cell), "data-observable": observable}
            if kind == "marks":
                verdict, text = label(cell, observable)
                element.attrib |= {"class": f"mark {verdict}", "role": "img", "aria-label": text,
                                   "tabindex": "0" if first else "-1"}
                first = False
    _hide_the_rest(root)
    _own_ids(root, name)
    for element in root.iter():  # a hundredth of a point is enough
        element.attrib |= {key: re.sub(r"(\d\.\d\d)\d+", r"\1", element.attrib[key])
                           for key in ("d", "x", "y", "transform") if key in element.attrib}
    # Namespaces are for XML; in a page they go without saying.
    text = ET.tostring(root, encoding="unicode").replace(f' xmlns="{SVG}"', "").replace(f' xmlns:xlink="{XLINK}"', "")
    return _own_colours(text.replace("xlink:href", "href"))


def _hide_the_rest(root: ET.Element) -> None:
    """Who hears the page hears the marks, not every tick: what the figure shows is told in its label."""
    def holds_marks(element: ET.Element) -> bool:
        return any(e.get("class", "").startswith("mark ") for e in element.iter())

    def walk(element: ET.Element) -> None:
        for child in element:
            if not holds_marks(child):
                child.set("aria-hidden", "true")
            else:
                walk(child)

    walk(root)


def _own_ids(root: ET.Element, name: str) -> None:
    ids = {e.get("id", ""): f"{name}-{k}" for k, e in enumerate(root.iter()) if e.get("id")}
    for element in root.iter():
        if "id" in element.attrib:
            element.set("id", ids[element.attrib["id"]])
        for key in REFERENCES:
            value = element.get(key)
            if value is not None and "#" in value:
                element.set(key, re.sub(r"#([\w:,.-]+)", lambda m: "#" + ids.get(m[1], m[1]), value))


def _own_colours(text: str) -> str:
    """Colours of the palette become variables, so that dark pages have theirs; so do fonts."""
    for family in {variable(f) for f in (*FAMILIES, "other")}:
        text = text.replace(tint(family), f"color-mix(in srgb, var(--{family}) {TINT:.0%}, var(--paper))")
    for name, colour in light().items():
        text = text.replace(colour, f"var(--{name})")
    return re.sub(r"'DejaVu Sans'(, [^;\"]*sans-serif)?", "var(--plain)", text)
