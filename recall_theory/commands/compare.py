"""`recall-theory compare`: the memories, embeddings or activations that one could have at the same size."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..numerics.formatting import NOTHING, count, exact, number, plural, sizes, with_error
from ..settings import SIZES, Setting, sizes_and_trigger
from .answers import Answer, Group, Output, command
from .options import flag, option, plot_option, setting_options
from .streams import BadInput
from .text_layout import HERMITE_PARTS, Block, Heading, Remark, legend, marked, table

if TYPE_CHECKING:
    from ..theory.memories.memory_table import Comparison
    from ..theory.memories.zipf_facts import Zipf
    from ..verification.simulated_alternatives import BeyondOrthogonal

NO_MLP = "none (Attention-only)"


@command("compare --d 256",
         "compare memories --facts 1e6 --rank 512 --json",
         "compare --d 64 --zipf 2 --samples 1e5 --seeds 8 --seed 1",
         params=[option("d", help="embedding dimension: what does each memory hold?"),
                 option("facts", help="facts: which dimension does each memory need?"),
                 option("target", help="share of the facts that must be right where almost all count; probability that "
                        "all are right where all count"),
                 "rank", option("m", help="width of the MLP memory; 4 d where absent"),
                 "zipf",
                 option("classes", default=None, help="outputs that the facts share, at most d/4 [default: 10, or none "
                        "below d = 40]"), "samples",
                 option("seeds", default=None, help="simulate the Hebbian memories, so many of each"), "seed"],
         goes_with={"zipf": "d", "classes": "zipf", "samples": "zipf"}, apart=[("d", "facts")],
         details="Where each law comes from.")
def memories_command(output: Output, *, d: int | None, zipf: float | None, classes: int | None, samples: int | None,
                     seeds: int | None, seed: int | None, **asked: Any) -> Answer:
    """The other memories at the same embedding dimension, or for the same number of facts: Hebbian memories by a law
    for finite size, the best linear memory, what training reached in the literature, orthogonal embeddings, the
    attention layer and a bound; with --zipf, facts of unequal frequency."""
    from ..theory.memories import compare_memories
    from ..theory.memories.zipf_facts import zipf_at

    comparison = compare_memories(d=d, **asked)
    law = None if zipf is None or d is None else zipf_at(zipf, d, classes, samples)
    rows = [memory.to_dict() for memory in comparison.memories]
    data: dict[str, object] = {"d": d, "facts": comparison.facts, "target": comparison.target, "memories": rows}
    sought, heading = "facts", f"How many facts do memories hold at d = {count(d)}?"
    if d is None:
        sought, heading = "d", f"What do memories need for {count(comparison.facts)} facts?"
    blocks: list[Block] = [Heading(heading), table(
        rows, f"memory=name, right=criterion, {sought}, facts_per_parameter, leading law=law, it alone gives=leading")]
    if seeds is not None:
        used = output.seed(seed)
        data |= {"seed": used, "seeds": seeds}
        _simulate(output, comparison, rows, seeds, used)
        simulated = [row | row["observed"] | {"difference": row["observed"]["mean"] - row["predicted"]}
                     for row in rows if "observed" in row]
        blocks.append(table(simulated, "memory=name, facts, d, predicted, observed=mean, se, difference",
                            f"Recall, simulated: {plural(seeds, 'memory', 'memories')} each, --seed {used}"))
    if law is not None:
        data["zipf"] = dataclasses.asdict(law)
        blocks += _zipf_blocks(law)
    blocks.append(Remark(
        f"Almost all: a share {exact(comparison.target)} of the facts is right in the mean. All: every one is, with "
        "that probability. Hebbian rows and the attention layer's are laws for finite size, that of the best linear "
        "memory is for large d; fits were read off a paper's figures by eye."))
    return Answer(data, rows, blocks, lambda: [
        table(rows, "memory=name, right=criterion, provenance, reference",
              "Where the laws come from: derived here, or kin, from a related paper")])


def _simulate(output: Output, comparison: Comparison, rows: Sequence[dict[str, Any]], seeds: int, seed: int) -> None:
    """Give the rows of Hebbian memories the recall that their law predicts and what was simulated at their sizes."""
    from ..simulate import memories
    from ..theory.memories import hebbian_recall

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
            row |= {"predicted": float(hebbian_recall(n, d, embedding, memory.rank)),
                    "observed": {"mean": recall.mean, "se": recall.se}}


def _zipf_blocks(law: Zipf) -> list[Block]:
    kinds = {"an output a fact": law.own, f"{count(law.classes)} outputs, shared": law.shared}
    blocks: list[Block] = [
        table([{"outputs": name, **dataclasses.asdict(part)} for name, part in kinds.items() if part is not None],
              "outputs, stored, error, of it left out=left_out",
              f"Facts of frequency x^-{law.alpha:g}: the best memory that stores the most frequent alone"),
        table([{"memory": name, "error falls as": f"d^-{exponent:.4g}"} for name, exponent in law.exponents.items()],
              title="How the error falls, up to logarithms"),
    ]
    if law.unseen is not None:
        blocks.append(f"{count(law.samples)} samples leave facts of frequency {number(law.unseen)} unseen, which adds "
                      f"to the errors above; it falls as T^-{1 - 1 / law.alpha:.4g}.")
    return blocks


@command("compare embeddings --d 128 --L 16",
         "compare embeddings --d 128 --L 16 --no-trigger-in-value --seeds 8 --seed 1 --plot embeddings.svg",
         params=[*setting_options(("d", "L"), leave_out=("V", "N", "m", "activation", "embedding", "eta", "gamma")),
                 option("target", default=0.9), option("points", default=6, help="values of V"),
                 option("seeds", default=None, help="simulate each predicted N on so many seeds"),
                 "seed", "jobs", plot_option()],
         goes_with={"seed": "seeds"})
def embeddings_command(output: Output, *, points: int, seeds: int | None, seed: int | None, **values: Any) -> Answer:
    """Random against orthogonal embeddings of the same dimension: how many facts each stores, and the samples that each
    needs for them."""
    from ..plots.comparisons import embedding_figure
    from ..verification.simulated_alternatives import beyond_orthogonal

    used = output.seed(seed) if seeds else None

    def finished(result: BeyondOrthogonal) -> str:
        needs = [need for f in result.facts for need in f.needs.values() if need.N is not None]
        return f"{sum(need.observed is not None for need in needs)} of {len(needs)} simulated settings"

    result = output.measure("seeds", lambda progress: beyond_orthogonal(**values, points=points, seeds=seeds or 0,
                                                                        seed=used, progress=progress), finished)
    s, target = result.setting, exact(result.target)
    records = [{**s, "target": result.target, "V": f.V, "embedding": e, **dataclasses.asdict(need)}
               for f in result.facts for e, need in f.needs.items()]
    stored = [{"d": x.d, "random": x.random or "none", "leading law": x.law, "orthogonal": x.orthogonal,
               "ratio": x.random and x.random / x.orthogonal} for x in result.dimensions]
    needed = []
    for facts in result.facts:
        row: dict[str, object] = {"V": facts.V}
        for name, embedding in (("random", "gaussian"), ("orthogonal", "orthogonal")):
            need = facts.needs.get(embedding)
            row[f"N {name}"] = "V > d" if need is None else need.N or "none"
            row[f"N/V {name}"] = need and need.N and need.N / facts.V
            if seeds:
                row[f"accuracy {name}"] = NOTHING if need is None else with_error(need.observed, need.se)
        needed.append(row)
    observed = f"; and the accuracy there on {plural(seeds, 'seed')} (--seed {used}), ± standard error" if seeds else ""
    return Answer(result.to_dict(), records, [
        Heading(f"Random and orthogonal embeddings: {sizes_and_trigger(s, 'dL')}"),
        table(stored, title=f"Facts stored at an accuracy of {target}, with samples without end"),
        Remark(f"The leading law of random embeddings is d^2 = {2 * (1 + int(s['trigger_in_value']))} V ln V; "
               "orthogonal ones are there up to V = d only."),
        table(needed, title=f"The samples that they need, at {sizes(s, 'd')}: least N for {target}{observed}"),
    ], figure=lambda: embedding_figure(result))


@command("compare activations --V 512 --L 32 --d 64 --N 65536 --m 1024",
         "compare activations --V 256 --L 8 --d 32 --N 2^15 --m 4096 --activation relu --activation 'x**3 - 3*x' "
         "--json",
         params=[*setting_options(SIZES, leave_out=("activation", "eta", "gamma")),
                 option("activation", multiple=True, help="an activation to compare, may be repeated; all that have a "
                        "name where absent"),
                 flag("attention_only", "with the model without an MLP beside them", switch=True, default=True,
                      show_default=True)])
def activations_command(output: Output, activation: tuple[str, ...], attention_only: bool, **values: Any) -> Answer:
    """The predicted accuracy of each activation in one setting, and why: its mean, linear and higher Hermite parts."""
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
                   for part in ("s", *HERMITE_PARTS)}} for c in choices]
    shown = [record | {"activation": marked(c.name or NO_MLP, c.remarks)}
             for record, c in zip(records, choices, strict=True)]
    blocks: list[Block] = [
        Heading(f"Which activation remembers best at {sizes(known, SIZES)}?"),
        table(shown, "activation, accuracy, std=accuracy_std, attention, recall, limited_by", marked=[0]),
        *legend(c.remarks for c in choices),
    ]
    for where, what in (("value", "where facts are stored: values"),
                        ("average", "where attention is learned: averaged sequences")):
        columns = ", ".join(f"{part} part={where}_{part}" for part in HERMITE_PARTS)
        blocks.append(table(shown, f"activation, {columns}",
                            f"Shares of E phi^2 {what} of norm^2 {shown[0][f'{where}_s']:.3g}"))
    return Answer(data, records, [*blocks, Remark(
        f"Best: {choices[0].name or NO_MLP}. The mean stores nothing and carries label-frequency noise (mean bias). "
        "The linear part is the Attention-only model's; the higher parts tell values apart beyond d dimensions.")])


compare_command = Group(
    "compare",
    {"memories": ("compare:memories_command", "Other memories: Hebbian, linear, trained, orthogonal, a bound."),
     "embeddings": ("compare:embeddings_command", "Random against orthogonal embeddings: facts and samples."),
     "activations": ("compare:activations_command", "Which activation remembers best in one setting, and why.")},
    default="memories",
    help="What one could have instead at the same size. Without a word from the list it is `compare memories`, whose "
         "options it takes.",
    examples=["compare --d 256", "compare embeddings --d 128 --L 16"],
)
