"""`recall-theory compare`: the memories, embeddings or activations that one could have at the same size."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..errors import SettingError
from ..numerics.formatting import count, deviation, exact, number, percent, plural, probability, signed, two_digits
from ..settings import Setting
from .bounds import drawn, with_error
from .command import Answer, Command, Output
from .options import option, plot_option, setting_options
from .program import Group
from .streams import BadInput
from .text_layout import Block, Format, Heading, Remark, Table, words

if TYPE_CHECKING:
    from ..simulate.observation import Observable
    from ..theory.activation_choice import Choice, Parts
    from ..theory.memories.memory_table import Comparison, Memory
    from ..theory.memories.zipf_facts import Zipf
    from ..verification.embedding_comparison import BeyondOrthogonal, FactsStored

    Simulated = Mapping[tuple[str, str], Observable]  # by name and criterion of a memory

NO_MLP = "none (Attention-only)"
PARTS = ("mean", "linear", "quadratic", "higher")


def run_memories(output: Output, d: int | None, facts: int | None, target: float, rank: int | None, m: int | None,
                 zipf: float | None, classes: int | None, samples: int | None, seeds: int | None,
                 seed: int | None) -> Answer:
    if (d is None) == (facts is None):
        raise BadInput("give --d for what each memory holds, or --facts for what each needs: one of the two")
    if d is not None and rank is not None and rank > d:
        raise BadInput(f"--rank {rank} is above --d {d}: a matrix of d x d numbers has no higher rank")
    if zipf is None and (classes is not None or samples is not None):
        raise BadInput("--classes and --samples are for facts of Zipf's law: give --zipf too, or leave them out")
    if zipf is not None and d is None:
        raise BadInput("--zipf needs --d: it asks for the error at a given dimension")
    from ..theory.memories import compare_memories
    from ..theory.memories.zipf_facts import zipf_at

    comparison = compare_memories(d, facts, target, rank, m)
    law = None if zipf is None or d is None else zipf_at(zipf, d, classes, samples)
    used = None if seeds is None else output.seed(seed)
    simulated = {} if seeds is None or used is None else _simulated(output, comparison, seeds, used)

    rows = [memory.to_dict() | _observed(memory, simulated) for memory in comparison.memories]
    data: dict[str, object] = {"schema_version": 1, "d": d, "facts": facts, "target": target, "memories": rows}
    if seeds is not None:
        data |= {"seed": used, "seeds": seeds}
    if law is not None:
        data["zipf"] = dataclasses.asdict(law)
    blocks = _memory_blocks(comparison)
    if seeds is not None:
        blocks.append(_simulated_table(comparison, simulated, f"Simulated: {plural(seeds, 'memory', 'memories')} each, "
                                                              f"--seed {used}"))
    if law is not None:
        blocks += _zipf_blocks(law)
    share = exact(comparison.target)
    blocks.append(Remark(
        f"Almost all: a share {share} of the facts is right in the mean. All: every one is, with probability {share} "
        "or more. Hebbian rows and the attention layer's are laws for finite size, derived and checked by simulation; "
        "that of the best linear memory is for large d; fits were read off a paper's figures by eye."))
    sources = Table({"memory": words, "right": words, "provenance": words, "reference": words},
                    [(m.name, m.criterion, m.provenance, m.reference) for m in comparison.memories],
                    "Where the laws come from: derived here, or kin, from a related paper")
    return Answer(data, rows, blocks, lambda: [sources])


def _simulated(output: Output, comparison: Comparison, seeds: int, seed: int) -> Simulated:
    """The recall of simulated Hebbian memories at the sizes of their rows."""
    from ..simulate.memories import check_hebbian_size, hebbian_recall

    sizes = [(m, m.facts, m.d, m.embedding) for m in comparison.memories]
    result: dict[tuple[str, str], Observable] = {}
    with output.bar("memories") as bar:
        for done, (memory, facts, d, embedding) in enumerate(sizes):
            if facts is None or d is None or embedding is None:
                continue
            try:
                check_hebbian_size(facts, d)
            except SettingError as error:
                raise BadInput(f"--seeds: {error}; leave --seeds out for the theory alone") from None
            bar.update(done, len(sizes))
            result[memory.name, memory.criterion] = hebbian_recall(facts, d, embedding, memory.rank, seeds=seeds,
                                                                   seed=seed)
    return result


def _observed(memory: Memory, simulated: Simulated) -> dict[str, object]:
    """What the simulation observed at the memory's size, beside what the law says there; nothing where none ran."""
    observable = simulated.get((memory.name, memory.criterion))
    if observable is None:
        return {}
    return {"predicted": _predicted(memory), "observed": {"mean": observable.mean, "se": observable.se}}


def _predicted(memory: Memory) -> float:
    """Recall at the facts and dimension of a Hebbian memory."""
    from ..theory.memories import hebbian_recall

    assert memory.facts is not None and memory.d is not None and memory.embedding is not None
    return float(hebbian_recall(memory.facts, memory.d, memory.embedding, memory.rank))


def _memory_blocks(comparison: Comparison) -> list[Block]:
    by_size = comparison.d is not None
    heading = (f"How many facts do memories hold at d = {count(comparison.d)}?" if by_size else
               f"What do memories need for {count(comparison.facts)} facts?")
    columns = {"memory": words, "right": words, "facts" if by_size else "d": count, "facts per parameter": number,
               "leading law": words, "it alone gives": count}
    rows = [(m.name, m.criterion, m.facts if by_size else m.d, m.facts_per_parameter, m.law, m.leading)
            for m in comparison.memories]
    return [Heading(heading), Table(columns, rows)]


def _simulated_table(comparison: Comparison, simulated: Simulated, title: str) -> Table:
    rows = []
    for memory in comparison.memories:
        observable = simulated.get((memory.name, memory.criterion))
        if observable is not None:
            predicted = _predicted(memory)
            rows.append((memory.name, memory.facts, memory.d, predicted, observable.mean, observable.se,
                         observable.mean - predicted))
    return Table({"memory": words, "facts": count, "d": count, "predicted recall": probability,
                  "observed": probability, "standard error": two_digits, "difference": signed}, rows, title)


def _zipf_blocks(law: Zipf) -> list[Block]:
    kinds = [("an output a fact", law.own)]
    if law.shared is not None:
        kinds.append((f"{count(law.classes)} outputs, shared", law.shared))
    blocks: list[Block] = [
        Table({"outputs": words, "stored": count, "error": number, "of it left out": number},
              [(name, part.stored, part.error, part.left_out) for name, part in kinds],
              f"Facts of frequency x^-{law.alpha:g}: the best memory that stores the most frequent alone"),
        Table({"memory": words, "error falls as": words},
              [(name, f"d^-{exponent:.4g}") for name, exponent in law.exponents.items()],
              "How the error falls, up to logarithms"),
    ]
    if law.unseen is not None:
        blocks.append(f"{count(law.samples)} samples leave facts of frequency {number(law.unseen)} unseen; "
                      f"it falls as T^-{1 - 1 / law.alpha:.4g}. What is unseen adds to the errors above.")
    return blocks


def run_embeddings(output: Output, points: int, seeds: int | None, seed: int | None, plot: tuple[str, ...],
                   **values: Any) -> Answer:
    if seed is not None and seeds is None:
        raise BadInput(f"--seed {seed} is for --seeds: give that too, or leave it out")
    from ..plots.embedding_costs import embedding_figure
    from ..plots.style import check_pictures, save_pictures
    from ..verification.embedding_comparison import beyond_orthogonal

    check_pictures(plot)
    used = output.seed(seed) if seeds else None

    def answer(result: BeyondOrthogonal) -> Answer:
        save_pictures(lambda: embedding_figure(result), plot)
        records = [{**result.setting, "target": result.target, "V": f.V, "embedding": e, "N": need.N,
                    "observed": need.observed, "se": need.se} for f in result.facts for e, need in f.needs.items()]
        return Answer(result.to_dict(), records, [*_embedding_blocks(result), *drawn(plot)])

    def finished(result: BeyondOrthogonal) -> str:
        needs = [need for f in result.facts for need in f.needs.values() if need.N is not None]
        return f"{sum(need.observed is not None for need in needs)} of {len(needs)} simulated settings"

    return output.measure("seeds", lambda progress: beyond_orthogonal(**values, points=points, seeds=seeds or 0,
                                                                      seed=used, progress=progress), answer, finished)


def _embedding_blocks(result: BeyondOrthogonal) -> list[Block]:
    s = result.setting
    share = 2 * (1 + int(s["trigger_in_value"]))
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    stored = [(x.d, "none" if x.random is None else count(x.random), x.law, x.orthogonal,
               None if x.random is None else x.random / x.orthogonal) for x in result.dimensions]
    blocks: list[Block] = [
        Heading(f"Random and orthogonal embeddings: d = {count(s['d'])}, L = {count(s['L'])}{value}"),
        Table({"d": count, "random": str, "leading law": count, "orthogonal": count, "ratio": number}, stored,
              f"Facts stored at an accuracy of {exact(result.target)}, with samples without end"),
        Remark(f"The leading law of random embeddings is d^2 = {share} V ln V; orthogonal ones are there up to V = d "
               "only."),
        Table({"V": count, "N, random": str, "N/V": number, "N, orthogonal": str, "N/V, orthogonal": number,
               "random over orthogonal": number}, [_needed(f) for f in result.facts],
              f"The samples that they need, at d = {count(s['d'])}: least N for {exact(result.target)}"),
    ]
    if result.seeds:
        rows = [(f.V, *(with_error(need.observed, need.se) if (need := f.needs.get(e)) else "-"
                        for e in ("gaussian", "orthogonal"))) for f in result.facts]
        blocks.append(Table({"V": count, "random": str, "orthogonal": str}, rows,
                            f"Accuracy observed at that N, {plural(result.seeds, 'seed')} each "
                            f"(--seed {result.seed}), ± standard error"))
    return blocks


def _needed(facts: FactsStored) -> tuple[object, ...]:
    """A row of the samples that embeddings need."""
    V, random = facts.V, facts.needs["gaussian"].N
    orthogonal = facts.needs["orthogonal"].N if "orthogonal" in facts.needs else None
    impossible = "none" if "orthogonal" in facts.needs else "V > d"
    return (V, "none" if random is None else count(random), None if random is None else random / V,
            impossible if orthogonal is None else count(orthogonal), None if orthogonal is None else orthogonal / V,
            None if random is None or orthogonal is None else random / orthogonal)


def run_activations(output: Output, activation: tuple[str, ...], attention_only: bool, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..theory.activation_choice import EVERY, compare_activations

    choices = compare_activations(setting, activation or EVERY, without=attention_only)
    known = setting.to_dict()
    known.pop("activation")
    data = {"schema_version": 1, "setting": known, "activations": [c.to_dict() for c in choices]}
    records = [{**known, "activation": c.name, "attention": c.attention, "recall": c.recall, "accuracy": c.accuracy,
                "accuracy_std": c.std["accuracy"], "limited_by": c.limited_by,
                **{f"{where}_{part}": getattr(parts, part)
                   for where, parts in (("value", c.parts), ("average", c.parts_of_average))
                   for part in ("s", *PARTS)}} for c in choices]
    s, best = setting, choices[0]
    blocks: list[Block] = [
        Heading(f"Which activation remembers best at V = {count(s.V)}, L = {count(s.L)}, d = {count(s.d)}, "
                f"N = {count(s.N)}, m = {count(s.m)}?"),
        Table({"activation": words, "accuracy": probability, "std": deviation, "attention": probability,
               "recall": probability, "limited by": words},
              [(c.name or NO_MLP, c.accuracy, c.std["accuracy"], c.attention, c.recall, c.limited_by) for c in choices],
              marked=frozenset({0})),
        _parts_table([(c, c.parts) for c in choices],
                     f"Shares of E phi^2 where facts are stored (values of norm^2 {best.parts.s:.3g})"),
        _parts_table([(c, c.parts_of_average) for c in choices],
                     "The same where attention is learned (averaged sequences of norm^2 "
                     f"{best.parts_of_average.s:.3g})"),
        Remark(f"Best: {best.name or NO_MLP}. The mean stores nothing and carries label-frequency noise (mean bias). "
               "The linear part is the Attention-only model's. The higher parts tell values apart beyond d dimensions, "
               "and need a width m that resolves them (MLP noise). In attention, a small linear part at the small norm "
               "of an averaged sequence means a small lead."),
    ]
    return Answer(data, records, blocks)


def _parts_table(rows: list[tuple[Choice, Parts]], title: str) -> Table:
    columns: dict[str, Format] = {"activation": words, **dict.fromkeys(PARTS, percent)}
    return Table(columns, [(c.name or NO_MLP, *(getattr(parts, part) for part in PARTS)) for c, parts in rows], title)


memories = Command(
    "memories", run_memories,
    params=[option("d", help="embedding dimension: what does each memory hold?"),
            option("facts", help="facts: which dimension does each memory need?"),
            option("target", help="share of the facts that must be right where almost all count; probability that "
                   "all are right where all count"),
            option("rank"), option("m", help="width of the MLP memory; 4 d where absent"),
            option("zipf"),
            option("classes", default=None, help="outputs that Zipf's facts share, at most d/4 [default: 10, or "
                   "none below d = 40]"),
            option("samples"),
            option("seeds", default=None, help="simulate the Hebbian memories, so many of each"), option("seed")],
    details="Where each law comes from.",
    help="The other memories at the same embedding dimension, or for the same number of facts: Hebbian memories by a "
         "law for finite size, the best linear memory, what training reached in the literature, orthogonal embeddings, "
         "the attention layer and a bound; with --zipf, facts of unequal frequency.",
    examples=["compare --d 256",
              "compare memories --facts 1e6 --rank 512 --json",
              "compare --d 64 --zipf 2 --samples 1e5 --seeds 8 --seed 1"],
)

embeddings = Command(
    "embeddings", run_embeddings,
    params=[*setting_options(("d", "L"), leave_out=("V", "N", "m", "activation", "embedding", "eta", "gamma")),
            option("target", default=0.9), option("points", default=6, help="values of V"),
            option("seeds", default=None, help="simulate each predicted N on so many seeds"),
            option("seed"), option("jobs"), plot_option()],
    help="Random against orthogonal embeddings of the same dimension: how many facts each stores, and the samples that "
         "each needs for them.",
    examples=["compare embeddings --d 128 --L 16",
              "compare embeddings --d 128 --L 16 --no-trigger-in-value --seeds 8 --seed 1 --plot embeddings.svg"],
)

activations = Command(
    "activations", run_activations,
    params=[*setting_options(("V", "L", "d", "N", "m"), leave_out=("activation", "eta", "gamma")),
            option("activation", multiple=True, help="an activation to compare, may be repeated; all that have a name "
                   "where absent"),
            click.Option(["--attention-only/--no-attention-only", "attention_only"], default=True,
                         help="with the model without an MLP beside them  [default: yes]")],
    help="The predicted accuracy of each activation in one setting, and why: its mean, linear and higher Hermite "
         "parts.",
    examples=["compare activations --V 512 --L 32 --d 64 --N 65536 --m 1024",
              "compare activations --V 256 --L 8 --d 32 --N 2^15 --m 4096 --activation relu "
              "--activation 'x**3 - 3*x' --json"],
)

command = Group(
    "compare",
    {"memories": (f"{__name__}:memories", "Other memories: Hebbian, linear, trained, orthogonal, a bound."),
     "embeddings": (f"{__name__}:embeddings", "Random against orthogonal embeddings: facts stored, samples needed."),
     "activations": (f"{__name__}:activations", "Which activation remembers best in one setting, and why.")},
    default="memories",
    help="What one could have instead at the same size. Without a word from the list it is `compare memories`, whose "
         "options it takes.",
    epilog="\b\nExamples:\n  recall-theory compare --d 256\n  recall-theory compare embeddings --d 128 --L 16",
)
