"""`recall-theory compare`: the memories, embeddings or activations that one could have at the same size."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, exact, number, percent, plural, sizes, with_error
from ..settings import SIZES, Setting, sizes_and_trigger
from .command import Answer, Command, Group, Output
from .options import flag, option, plot_option, setting_options
from .streams import BadInput
from .text_layout import Block, Heading, Remark, Table, legend, marked, table

if TYPE_CHECKING:
    from ..theory.activation_choice import Choice
    from ..theory.memories.memory_table import Comparison
    from ..theory.memories.zipf_facts import Zipf
    from ..verification.simulated_alternatives import BeyondOrthogonal, FactsStored

NO_MLP = "none (Attention-only)"
PARTS = ("mean", "linear", "quadratic", "higher")


def run_memories(output: Output, *, d: int | None, zipf: float | None, classes: int | None, samples: int | None,
                 seeds: int | None, seed: int | None, **asked: Any) -> Answer:
    from ..theory.memories import compare_memories
    from ..theory.memories.zipf_facts import zipf_at

    comparison = compare_memories(d=d, **asked)
    rows = [memory.to_dict() for memory in comparison.memories]
    data: dict[str, object] = {"d": d, "facts": comparison.facts, "target": comparison.target, "memories": rows}
    law = None if zipf is None or d is None else zipf_at(zipf, d, classes, samples)
    sought, heading = "facts", f"How many facts do memories hold at d = {count(d)}?"
    if d is None:
        sought, heading = "d", f"What do memories need for {count(comparison.facts)} facts?"
    blocks: list[Block] = [Heading(heading), table(
        {"memory": m.name, "right": m.criterion, sought: getattr(m, sought),
         "facts per parameter": m.facts_per_parameter, "leading law": m.law, "it alone gives": m.leading}
        for m in comparison.memories)]
    if seeds is not None:
        used = output.seed(seed)
        data |= {"seed": used, "seeds": seeds}
        blocks.append(table(_simulated(output, comparison, rows, seeds, used),
                            f"Simulated: {plural(seeds, 'memory', 'memories')} each, --seed {used}"))
    if law is not None:
        data["zipf"] = dataclasses.asdict(law)
        blocks += _zipf_blocks(law)
    share = exact(comparison.target)
    blocks.append(Remark(
        f"Almost all: a share {share} of the facts is right in the mean. All: every one is, with probability {share} "
        "or more. Hebbian rows and the attention layer's are laws for finite size, derived and checked by simulation; "
        "that of the best linear memory is for large d; fits were read off a paper's figures by eye."))
    return Answer(data, rows, blocks, lambda: [table(
        [{"memory": m.name, "right": m.criterion, "provenance": m.provenance, "reference": m.reference}
         for m in comparison.memories], "Where the laws come from: derived here, or kin, from a related paper")])


def _simulated(output: Output, comparison: Comparison, rows: Sequence[dict[str, object]], seeds: int,
               seed: int) -> list[dict[str, object]]:
    """Simulated Hebbian memories beside their law, at the sizes of their rows; the `rows` are given both."""
    from ..simulate import memories
    from ..theory.memories import hebbian_recall

    shown: list[dict[str, object]] = []
    with output.bar("memories") as progress:
        for done, (memory, row) in enumerate(zip(comparison.memories, rows, strict=True)):
            n, d, embedding = memory.facts, memory.d, memory.embedding
            if n is None or d is None or embedding is None:
                continue
            progress(done, len(rows))
            try:
                recall = memories.hebbian_recall(n, d, embedding, memory.rank, seeds=seeds, seed=seed)
            except SettingError as error:
                raise BadInput(f"--seeds: {error}; leave --seeds out for the theory alone") from None
            predicted = float(hebbian_recall(n, d, embedding, memory.rank))
            row |= {"predicted": predicted, "observed": {"mean": recall.mean, "se": recall.se}}
            shown.append({"memory": memory.name, "facts": n, "d": d, "predicted recall": predicted,
                          "observed": recall.mean, "standard error": recall.se, "difference": recall.mean - predicted})
    return shown


def _zipf_blocks(law: Zipf) -> list[Block]:
    kinds = {"an output a fact": law.own}
    if law.shared is not None:
        kinds[f"{count(law.classes)} outputs, shared"] = law.shared
    blocks: list[Block] = [
        table([{"outputs": name, "stored": part.stored, "error": part.error, "of it left out": part.left_out}
               for name, part in kinds.items()],
              f"Facts of frequency x^-{law.alpha:g}: the best memory that stores the most frequent alone"),
        table([{"memory": name, "error falls as": f"d^-{exponent:.4g}"} for name, exponent in law.exponents.items()],
              "How the error falls, up to logarithms"),
    ]
    if law.unseen is not None:
        blocks.append(f"{count(law.samples)} samples leave facts of frequency {number(law.unseen)} unseen; "
                      f"it falls as T^-{1 - 1 / law.alpha:.4g}. What is unseen adds to the errors above.")
    return blocks


def run_embeddings(output: Output, *, points: int, seeds: int | None, seed: int | None,
                   **values: Any) -> Answer:
    from ..plots.comparisons import embedding_figure
    from ..verification.simulated_alternatives import beyond_orthogonal

    used = output.seed(seed) if seeds else None

    def answer(result: BeyondOrthogonal) -> Answer:
        records = [{**result.setting, "target": result.target, "V": f.V, "embedding": e, "N": need.N,
                    "observed": need.observed, "se": need.se} for f in result.facts for e, need in f.needs.items()]
        return Answer(result.to_dict(), records, _embedding_blocks(result), figure=lambda: embedding_figure(result))

    def finished(result: BeyondOrthogonal) -> str:
        needs = [need for f in result.facts for need in f.needs.values() if need.N is not None]
        return f"{sum(need.observed is not None for need in needs)} of {len(needs)} simulated settings"

    return output.measure("seeds", lambda progress: beyond_orthogonal(**values, points=points, seeds=seeds or 0,
                                                                      seed=used, progress=progress), answer, finished)


def _embedding_blocks(result: BeyondOrthogonal) -> list[Block]:
    s, target = result.setting, exact(result.target)
    share = 2 * (1 + int(s["trigger_in_value"]))
    stored = [{"d": x.d, "random": _or_none(x.random), "leading law": x.law, "orthogonal": count(x.orthogonal),
               "ratio": x.random and x.random / x.orthogonal} for x in result.dimensions]
    blocks: list[Block] = [
        Heading(f"Random and orthogonal embeddings: {sizes_and_trigger(s, 'dL')}"),
        table(stored, f"Facts stored at an accuracy of {target}, with samples without end",
              formats={"leading law": count}),
        Remark(f"The leading law of random embeddings is d^2 = {share} V ln V; orthogonal ones are there up to V = d "
               "only."),
        table(map(_needed, result.facts), f"The samples that they need, at {sizes(s, 'd')}: least N for {target}"),
    ]
    if result.seeds:
        observed: list[dict[str, object]] = []
        for facts in result.facts:
            shown = {"gaussian": NOTHING, "orthogonal": NOTHING}
            shown |= {name: with_error(need.observed, need.se) for name, need in facts.needs.items()}
            observed.append({"V": facts.V, "random": shown["gaussian"], "orthogonal": shown["orthogonal"]})
        blocks.append(table(observed, f"Accuracy observed at that N, {plural(result.seeds, 'seed')} each (--seed "
                            f"{result.seed}), ± standard error"))
    return blocks


def _or_none(size: int | None) -> str:
    return "none" if size is None else count(size)


def _needed(facts: FactsStored) -> dict[str, object]:
    """A row of the samples that embeddings need."""
    V, random, beside = facts.V, facts.needs["gaussian"].N, facts.needs.get("orthogonal")
    orthogonal = None if beside is None else beside.N
    return {"V": V, "N, random": _or_none(random), "N/V": random and random / V,
            "N, orthogonal": "V > d" if beside is None else _or_none(orthogonal),
            "N/V, orthogonal": orthogonal and orthogonal / V,
            "random over orthogonal": random and orthogonal and random / orthogonal}


def run_activations(output: Output, activation: tuple[str, ...], attention_only: bool, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..theory.activation_choice import EVERY, compare_activations

    choices = compare_activations(setting, activation or EVERY, without=attention_only)
    known = setting.to_dict()
    known.pop("activation")
    data = {"setting": known, "activations": [c.to_dict() for c in choices]}
    records = [{**known, "activation": c.name, "attention": c.attention, "recall": c.recall, "accuracy": c.accuracy,
                "accuracy_std": c.std["accuracy"], "limited_by": c.limited_by,
                **{f"{where}_{part}": getattr(parts, part)
                   for where, parts in (("value", c.parts), ("average", c.parts_of_average))
                   for part in ("s", *PARTS)}} for c in choices]
    best = choices[0]
    blocks: list[Block] = [
        Heading(f"Which activation remembers best at {sizes(known, SIZES)}?"),
        table([{"activation": marked(c.name or NO_MLP, c.remarks), "accuracy": c.accuracy, "std": c.std["accuracy"],
                "attention": c.attention, "recall": c.recall, "limited by": c.limited_by} for c in choices],
              marked=[0]),
        *legend(c.remarks for c in choices),
        _parts_table(choices, "parts", "Shares of E phi^2 where facts are stored (values of norm^2"),
        _parts_table(choices, "parts_of_average", "The same where attention is learned (averaged sequences of norm^2"),
        Remark(f"Best: {best.name or NO_MLP}. The mean stores nothing and carries label-frequency noise (mean bias). "
               "The linear part is the Attention-only model's. The higher parts tell values apart beyond d dimensions, "
               "and need a width m that resolves them (MLP noise). In attention, a small linear part at the small norm "
               "of an averaged sequence means a small lead."),
    ]
    return Answer(data, records, blocks)


def _parts_table(choices: Sequence[Choice], where: str, title: str) -> Table:
    rows = [{"activation": c.name or NO_MLP, **{part: getattr(getattr(c, where), part) for part in PARTS}}
            for c in choices]
    return table(rows, f"{title} {getattr(choices[0], where).s:.3g})", formats=dict.fromkeys(PARTS, percent))


memories = Command(
    "memories", run_memories,
    params=[option("d", help="embedding dimension: what does each memory hold?"),
            option("facts", help="facts: which dimension does each memory need?"),
            option("target", help="share of the facts that must be right where almost all count; probability that "
                   "all are right where all count"),
            "rank", option("m", help="width of the MLP memory; 4 d where absent"),
            "zipf",
            option("classes", default=None, help="outputs that Zipf's facts share, at most d/4 [default: 10, or "
                   "none below d = 40]"),
            "samples",
            option("seeds", default=None, help="simulate the Hebbian memories, so many of each"), "seed"],
    goes_with={"zipf": "d", "classes": "zipf", "samples": "zipf"}, apart=[("d", "facts")],
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
            "seed", "jobs", plot_option()],
    goes_with={"seed": "seeds"},
    help="Random against orthogonal embeddings of the same dimension: how many facts each stores, and the samples that "
         "each needs for them.",
    examples=["compare embeddings --d 128 --L 16",
              "compare embeddings --d 128 --L 16 --no-trigger-in-value --seeds 8 --seed 1 --plot embeddings.svg"],
)

activations = Command(
    "activations", run_activations,
    params=[*setting_options(SIZES, leave_out=("activation", "eta", "gamma")),
            option("activation", multiple=True, help="an activation to compare, may be repeated; all that have a name "
                   "where absent"),
            flag("attention_only", "with the model without an MLP beside them", switch=True, default=True,
                 show_default=True)],
    help="The predicted accuracy of each activation in one setting, and why: its mean, linear and higher Hermite "
         "parts.",
    examples=["compare activations --V 512 --L 32 --d 64 --N 65536 --m 1024",
              "compare activations --V 256 --L 8 --d 32 --N 2^15 --m 4096 --activation relu "
              "--activation 'x**3 - 3*x' --json"],
)

command = Group(
    "compare",
    {"memories": ("compare:memories", "Other memories: Hebbian, linear, trained, orthogonal, a bound."),
     "embeddings": ("compare:embeddings", "Random against orthogonal embeddings: facts stored, samples needed."),
     "activations": ("compare:activations", "Which activation remembers best in one setting, and why.")},
    default="memories",
    help="What one could have instead at the same size. Without a word from the list it is `compare memories`, whose "
         "options it takes.",
    examples=["compare --d 256", "compare embeddings --d 128 --L 16"],
)
