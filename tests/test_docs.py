"""The pages build without a warning, and each number in them is one that the code gives today.

Examples (`>>>`) of every page and of the README are run. So are `$ recall-theory ...` lines in ```console blocks that
show what is printed; an output that ends in a line `...` is its beginning. To write the present output into those
blocks: python tests/test_docs.py --write
"""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md")
                                     if not {"_build", "reference"} & set(p.relative_to(DOCS).parts))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(text: str, *languages: str) -> list[tuple[int, str]]:
    """The fenced blocks of these languages, each with the number of its first line."""
    return [(text.count("\n", 0, m.start(2)) + 1, m.group(2)) for m in FENCE.finditer(text)
            if m.group(1) in languages]


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_examples_of_a_page_run(page):
    """All examples of a page run in order, in one namespace, as a reader would type them."""
    names: dict[str, object] = {}
    report: list[str] = []
    for line, text in blocks(page.read_text(encoding="utf-8"), "pycon", "python"):
        if ">>>" not in text:
            continue
        test = doctest.DocTestParser().get_doctest(text, names, by_name(page), str(page), line - 1)
        test.globs = names  # in place of its copy: functions of one block see the names of the next
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def printed(command: str) -> str:
    """What a `recall-theory` command prints, 100 columns wide and without colour."""
    words = shlex.split(command, comments=True)
    assert words[0] == "recall-theory"
    done = subprocess.run([sys.executable, "-m", "recall_theory", *words[1:]], capture_output=True, text=True,
                          cwd=ROOT, env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"})
    assert done.returncode in (0, 1, 3), done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def sessions(text: str) -> list[tuple[str, str]]:
    """Commands of `recall-theory` with the output that stands below them, where there is any."""
    found = []
    for _, block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("recall-theory") and output.strip():
                found.append((command, output))
    return found


def as_long_as(shown: str, whole: str) -> str:
    """The whole output, or as many of its paragraphs as are shown above a line of three dots."""
    if not shown.rstrip().endswith("\n..."):
        return whole
    paragraphs = shown.count("\n\n")
    return "\n\n".join(whole.split("\n\n")[:paragraphs]) + "\n\n..."


SESSIONS = [(page, *session) for page in PAGES for session in sessions(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "command", "output"), SESSIONS,
                         ids=[f"{by_name(p)}: {c}" for p, c, _ in SESSIONS])
def test_printed_tables_are_what_the_command_prints(page, command, output):
    shown = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    assert as_long_as(shown, printed(command)) == shown, "refresh with: python tests/test_docs.py --write"


def test_the_pages_build_without_a_warning(tmp_path):
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
                           "-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-6000:]
    built = {p.relative_to(tmp_path / "html").as_posix() for p in (tmp_path / "html").rglob("*.html")}
    for page in PAGES[1:]:
        assert page.relative_to(DOCS).with_suffix(".html").as_posix() in built
    from recall_theory.theory import formulas

    pages = "".join((tmp_path / "html" / f"reference/{topic}.html").read_text(encoding="utf-8")
                    for topic in {name.partition(".")[0] for name in formulas})
    assert [name for name in formulas if name not in pages] == []
    for page in (tmp_path / "html").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        # Formulas are MathML: nothing is loaded from elsewhere, and no LaTeX is left for a script to set.
        assert not re.search(r"""<(script|link|img)[^>]+(src|href)=["'](https?:)?//""", text), page
        assert 'class="math notranslate' not in text, page
        # A table that Markdown did not take for one is left as a line of bars.
        assert not re.search(r"\|\s*(-{3,}|—)\s*\|", re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL)), page


def agreement(readme: str) -> str:
    """The README with the figures of validation/agreement.json, the file of docs/agreement.md, in its table."""
    groups = json.loads((ROOT / "validation" / "agreement.json").read_text(encoding="utf-8"))["groups"]
    rows = [f"| {name} | {f['settings']} | {f['mean_error']:.4f} | {f['mean_excess']:.4f} | {f['max_excess']:.4f} | "
            + (f"{f['spread_median']:.0%} |" if f["spreads"] else "- |") for name, f in groups.items()]
    readme = re.sub(r"(?<=\nOn )\d+(?= settings)", str(sum(f["settings"] for f in groups.values())), readme)
    return re.sub(r"(?<=\|---\|---\|---\|---\|---\|---\|\n)(\|.*\n)+", "\n".join(rows) + "\n", readme, count=1)


def test_the_readme_quotes_the_figures_of_the_page_on_agreement():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == agreement(readme), "refresh with: python tests/test_docs.py --write"


@pytest.mark.parametrize("head, row", [(["a", "|b|"], [1, 2]), (["a", "b"], [1, "x|y"]), (["a", "b"], [1])])
def test_a_computed_table_that_markdown_would_break_is_refused(head, row):
    computed = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(
        "computed", DOCS / "_ext" / "computed.py"))
    spec.loader.exec_module(computed)
    with pytest.raises(ValueError, match="not a row"):
        computed.table(head, [row])


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|#", target):
            continue
        file = page.parent / target.partition("#")[0]
        assert file.exists() or file.parent.name == "reference", target


def write() -> None:
    """Put the present output below every command that shows its output."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for command, output in sessions(text):
            text = text.replace(f"$ {command}\n{output}", f"$ {command}\n{as_long_as(output, printed(command))}\n")
        page.write_text(text, encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(agreement(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
