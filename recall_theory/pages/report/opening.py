"""What was run, the verdict, and how to run it again."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from ... import __version__
from ...report.numbers import count, plural, signed
from ...report.predict import describe
from ...settings import PARAMETERS, Setting
from ...simulate.observables import OBSERVABLES
from ...sweep.problem import MODEL
from ...sweep.store_summary import Findings
from ...verification.results import TOO_FEW, TOO_SKEWED
from ...verification.statistics import VERDICT_ALPHA, seeds_to_rule_out
from .section import Section, verdict_word

WORDS = {
    "agree": "the whole interval of observed − predicted lies within ± margin.",
    "disagree": "the whole interval lies outside.",
    "inconclusive": "the interval reaches over the edge of the margin, or no interval can be trusted. More seeds would "
                    "tell.",
}


def title(found: Findings) -> str:
    """The page's title."""
    return f"Theory and simulation in {plural(len(found.evidence.all_problems), 'cell')}"


def lead(found: Findings) -> str:
    """The first paragraph: what was simulated."""
    problems = found.evidence.all_problems
    settings = [p.setting for p in problems]
    seeds = [*(c.seeds for c in found.evidence.cells), *(r.seeds for r in found.evidence.refused)]
    each = f"{min(seeds):,}" if min(seeds) == max(seeds) else f"{min(seeds):,} to {max(seeds):,}"
    test = {p.n_test for p in problems}
    counted = "summed over all sequences exactly" if test == {None} else \
        "counted on fresh sequences" + ("" if None not in test else " or summed over all sequences")
    seen = f"{each} {'seed' if max(seeds) == 1 else 'seeds'} a cell, {sum(seeds):,} in all"
    return (f"<p>A store of simulations ({seen}), laid beside what <code>recall-theory predict</code> says of the same "
            f"settings: {_ranges(settings)}. Observables are {counted}.</p>")


def _ranges(settings: Sequence[Setting]) -> str:
    parts = []
    for name in ("V", "L", "d", "N", "m"):
        values = sorted({v for s in settings if (v := getattr(s, name)) is not None})
        if values:
            end = "" if len(values) == 1 else f" to {count(values[-1])}"
            parts.append(f"<i>{name}</i> = {count(values[0])}{end}")
    without = sum(s.m is None for s in settings)
    if 0 < without < len(settings):
        parts[-1] += f" ({count(len(settings) - without)} with an MLP)"
    kinds = list(dict.fromkeys(s.embedding for s in settings))
    return f"{', '.join(parts)}; {_listed(kinds)} embeddings"


def _listed(words: Sequence[str]) -> str:
    """"a", "a and b", "a, b and c"."""
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def verdict(found: Findings) -> Section:
    """The verdict on the whole, the tally, and what the words mean."""
    e = found.evidence
    if not e.cells:
        nothing = "<p>The theory describes none of these cells: there is nothing to judge.</p>"
        return Section("verdict", "Verdict", "Verdict", nothing + _refused(found))
    cell, name, worst = e.largest
    tally = ", ".join(f"{n:,} {v}" for v, n in e.tally().items())
    margins = " or ".join(f"{m:g}" for m in sorted({c.margin for c in e.cells}))
    body = [
        f'<p class="whole">The theory and these simulations: {verdict_word(e.verdict)}.</p>',
        f"<p>Of {plural(len(e.comparisons), 'comparison')}, {tally}. The largest difference is "
        f"{signed(worst.difference)}: {name} at {escape(describe(cell.setting))}.</p>",
        *(f"<p>{text}</p>" for text in _warnings(found)),
        _tally(found),
        '<dl class="words">' + "".join(f"<dt>{verdict_word(v)}</dt><dd>{words}</dd>" for v, words in WORDS.items())
        + "</dl>",
        f"<p>The margin ({margins}) is what the theory declares, before anything is compared. Each interval has a "
        f"confidence of {100 * e.confidence:.7g} %, so that all of them together hold at {100 * (1 - VERDICT_ALPHA):g} "
        "%. Seeds are the samples, never facts or sequences. The intervals presume that nobody decided on the number "
        "of seeds by looking at results.</p>",
        _refused(found),
    ]
    return Section("verdict", "Verdict", "Verdict", "\n".join(b for b in body if b))


def _tally(found: Findings) -> str:
    """The table of verdicts by observable."""
    heads = "".join(f'<th scope="col">{verdict_word(v)}</th>' for v in WORDS)
    rows = []
    for o in (*OBSERVABLES, None):
        by = found.evidence.tally(o)
        counts = "".join(f"<td>{n:,}</td>" for n in (*by.values(), sum(by.values())))
        rows.append(f'<tr><th scope="row" class="words">{o or "all"}</th>{counts}</tr>')
    return ('<div class="scroll"><table id="tally"><caption>Verdicts by observable</caption><thead><tr><td></td>'
            f'{heads}<th scope="col">all</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>')


def _warnings(found: Findings) -> Iterator[str]:
    """What keeps the store from saying more."""
    cells = found.evidence.cells
    single = sum(c.seeds == 1 for c in cells)
    if single:
        yield (f"{plural(single, 'cell')} {'has' if single == 1 else 'have'} one seed only: one value has no spread, "
               "so there is no interval and no verdict.")
    counts = {c.seeds for c in cells}
    if len(counts) > 1:
        yield (f"Cells have from {min(counts):,} to {max(counts):,} seeds. Where one sweep made the store, it isn't "
               "finished.")
    reasons = [{c.reason for c in cell.comparisons.values()} for cell in cells]
    few = sum(TOO_FEW in r for r in reasons)
    if few:
        margin = min(c.margin for c in cells)
        yield (f"In {plural(few, 'cell')} seeds are too few to show rare failures. With a margin of {margin:g} and so "
               f"many comparisons a verdict takes {seeds_to_rule_out(margin, found.evidence.confidence):,} seeds at "
               "least.")
    skewed = sum(c.reason == TOO_SKEWED for _, _, c in found.evidence.comparisons)
    if skewed:
        yield f"{plural(skewed, 'comparison')} {'is' if skewed == 1 else 'are'} too skewed to judge."


def _refused(found: Findings) -> str:
    if not found.evidence.refused:
        return ""
    items = "".join(f"<li>{escape(describe(r.problem.setting))}: {escape(r.reason)} ({plural(r.seeds, 'seed')})</li>"
                    for r in found.evidence.refused)
    number = len(found.evidence.refused)
    they = "it, and it is" if number == 1 else "them, and they are"
    return (f"<h3>{plural(number, 'cell')} without a prediction</h3>"
            f"<p>The theory doesn't describe {they} not judged.</p>"
            f'<ul class="refused">{items}</ul>')


def repeat(found: Findings) -> Section:
    """Seeds, versions, and the command that makes the store again."""
    problems = found.evidence.all_problems
    seeds = sorted({p.seed for p in problems})
    named = f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
    body = [f"<p>Model version {MODEL} (results of other versions are never mixed in), recall-theory {__version__}; "
            f"{named}. The same values, bit for bit, come from:</p>"]
    for r in found.repeats:
        body.append(f'<pre tabindex="0" class="command"><code>{escape(_wrapped(r.command))}</code></pre>')
        if r.grid:
            file = r.command.split("--grid ", 1)[1].split()[0]
            body.append(f"<details><summary>{escape(file)}, the cells</summary>"
                        f'<pre tabindex="0"><code>{escape(r.grid)}</code></pre></details>')
    unlike = [n for n, p in PARAMETERS.items() if any(getattr(x.setting, n) != p.default for x in problems)]
    body.append("<details><summary>What the sizes mean</summary><dl>" + "".join(
        f"<dt><code>{n}</code></dt><dd>{escape(PARAMETERS[n].meaning)}</dd>" for n in unlike) + "</dl></details>")
    return Section("repeat", "Run it again", "What was run, and how to run it again", "\n".join(body))


def _wrapped(command: str) -> str:
    """The command over several lines of a shell, broken between its words only."""
    words = " ".join(shlex.quote(word).replace(" ", "\0") for word in shlex.split(command))
    lines = textwrap.wrap(words, 76, break_long_words=False, break_on_hyphens=False)
    return " \\\n  ".join(lines).replace("\0", " ")
