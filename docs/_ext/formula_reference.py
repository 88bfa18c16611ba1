"""Writes reference/*.md, one page a topic, from the registry of formulas, before the pages are read."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from recall_theory.theory import formulas
from recall_theory.theory.formulas.registry import SYMBOLS, Formula

TOPICS = {
    "law": ("Leading laws", "What sizes must reach, one noise term at a time, and how they trade against one another."),
    "attention": ("Attention", "Step two: the lead of the informative token, and what the scores of the others are."),
    "recall": ("Recall", "Step three: the signal of a stored fact and the noise on the classes."),
    "finite": ("Finite rates", "Rates that leave attention soft: its weights, what they cost, and what L does."),
    "sharp": ("The sharp constant", "Where almost all facts are kept and where almost none, and the curve between."),
    "one_step": ("One step", "Reading the first gradient directly."),
    "orthogonal": ("Orthogonal embeddings", "The classical setting: no overlaps, so all noise is in the counts."),
    "capacity": ("The capacity", "Each leading law solved for one size, to second order, and the least of them."),
    "bound": ("Bounds", "What no learner, or no model of a given size, can beat."),
    "mlp": ("Attention-MLP", "The same two steps with a fixed random MLP behind the attention."),
    "geometric": ("Geometric recall", "Facts in the geometry of subject embeddings: dimensions, chains, bounds, kin."),
    "memory": ("Other memories", "What Hebbian, linear, rank-limited and Zipf-weighted memories hold."),
    "kin": ("Kin", "What related memories hold, from other papers."),
    "paper": ("What the papers say", "In words, with the sentence and where it stands; the formulas themselves were "
              "not available when this was written."),
}
PROVENANCE = {
    "derived": "derived here, in {reference}",
    "quoted": "quoted from {reference}",
    "secondary": "somebody's account of {reference}",
    "kin": "from a related paper: {reference}",
}
ROOT = Path(__file__).parent.parent.parent
LONGEST = 1500  # characters of LaTeX that a page can carry
LARGEST = 400  # parts of an expression beyond which it is longer: printing it would take long, too
LINE = 110  # characters of LaTeX on one line, about

# Where each formula is evaluated, so that readers can check their own code against a number.
AT: dict[str, float] = {"V": 1024, "L": 64, "d": 256, "N": 65536, "m": 1024, "e": 1, "kappa": 1, "errors": 1,
                        "P": 65536, "b": 16, "K": 1024, "s": 3, "lam": 64, "q": 0.25,
                        "subjects": 1024, "R": 8, "words": 8, "k": 64, "h": 2, "p": 0.9, "v": 0.001,
                        "n": 1024, "rank": 64, "u": 2, "alpha": 2, "rho": 1,
                        "beta": 16777216, "eta": 1e-6, "logit": 4, "heat": 0.5, "snr": 8, "share": 0.5, "second": 0.3,
                        "squares": 0.01, "tie": 0.1, "zeta": 1, "varied": 0.01, "missed": 0.01, "tau": 1,
                        "target": 0.99, "x": 0.01}


def display(item: Formula, whole: str) -> str:
    """The expression, `whole` in LaTeX, as display mathematics, a summand a line where it is long."""
    import sympy

    if len(whole) <= LINE:
        return whole
    names = {s: SYMBOLS[a].latex for a, s in item.symbols.items()}
    lines, line = [], ""
    for term in item.terms.values():
        text = sympy.latex(term, symbol_names=names)
        line += text if text.startswith("-") or (not line and not lines) else "+" + text
        if len(line) > LINE:
            lines.append(line)
            line = ""
    return "\\begin{aligned}\n&" + " \\\\\n&".join([*lines, *([line] if line else [])]) + "\n\\end{aligned}"


def written_out(item: Formula) -> str:
    """The formula as display mathematics; empty where a page can't carry it."""
    import sympy

    if sum(1 for _ in sympy.preorder_traversal(item.expr)) > LARGEST:
        return ""
    whole = item.latex()
    return display(item, whole) if len(whole) <= LONGEST else ""


def link(reference: str) -> str:
    """A reference as Markdown: a page of these docs becomes a link."""
    file, _, _ = reference.partition("#")
    if file.startswith("docs/") and (ROOT / file).is_file():
        page = "../" + reference.removeprefix("docs/")
        return f"[{Path(file).stem}]({page})"
    return reference


def section(item: Formula) -> str:
    """One formula: what it is, where it comes from, its symbols, its value at one point."""
    lines = [f"({item.name})=", f"## `{item.name}`", "", item.title + ".", ""]
    docstring = inspect.getdoc(item.function)
    if docstring and item.expr is not None:
        lines += ["```text", docstring, "```", ""]
    if item.expr is not None:
        written = written_out(item)
        if written:
            lines += ["$$", written, "$$", ""]
        else:
            lines += [f"Written out it is long: `recall-theory formulas {item.name} --latex`.", ""]
    facts = [("Provenance", PROVENANCE[item.provenance].format(reference=link(item.reference))),
             ("Regime", item.regime), ("Reduces to", item.limits), ("Unit", item.unit),
             ("In the source's words", item.quote and f"“{item.quote}” ({item.source})")]
    lines += [f"{name}\n: {text}\n" for name, text in facts if text]
    if item.expr is not None:
        lines += ["| symbol | name | meaning | domain |", "|---|---|---|---|"]
        for a in item.arguments:
            info = SYMBOLS[a]
            lines.append(f"| ${info.latex}$ | `{a}` | {info.meaning.replace('|', chr(92) + '|')} | {info.domain} |")
        at = {a: AT.get(a, 1 if SYMBOLS[a].positive else 0.5) for a in item.arguments}
        given = ", ".join(f"{a} = {x:g}" for a, x in at.items())
        lines += ["", f"At {given}: `{float(item(**at)):.10g}`", ""]
    return "\n".join(lines)


def write(app: Sphinx) -> None:
    """The pages; a file is touched only where its text changed."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    pages = {}
    topics = sorted({name.partition(".")[0] for name in formulas}, key=lambda t: (
        list(TOPICS).index(t) if t in TOPICS else len(TOPICS), t))
    for topic in topics:
        title, words = TOPICS.get(topic, (topic.replace("_", " ").capitalize(), ""))
        mine = [formulas[name] for name in formulas if name.partition(".")[0] == topic]
        listed = [f"- [`{f.name}`](#{f.name}): {f.title}" for f in mine]
        pages[topic] = "\n".join([f"# {title}", "", words, "", *listed, "", *(section(f) for f in mine)])
    pages["index"] = "\n".join([
        "# Formulas", "",
        f"All {len(formulas)} formulas of the registry, written out when these pages were built. Each says where it "
        "comes from: *quoted* from the paper itself, *secondary*, from somebody's account of it, *derived* here, or "
        "from *kin*, a related paper. In Python, "
        "`from recall_theory.theory import formulas`; in a shell, `recall-theory formulas`.", "",
        "```{toctree}", *topics, "```", ""])
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for stale in set(folder.glob("*.md")) - {folder / f"{name}.md" for name in pages}:
        stale.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
