"""`recall-theory compare`: what the other memories hold at the same size."""

from __future__ import annotations

from typing import Any

from ..report.answer import Answer
from ..settings import SettingError
from .command import Command, Output
from .errors import BadInput
from .options import option
from .progress import Progress
from .simulate import drawn_seed


def run(output: Output, d: int | None, facts: int | None, target: float, rank: int | None, m: int | None,
        zipf: float | None, classes: int | None, samples: int | None, seeds: int | None, seed: int | None) -> Answer:
    if (d is None) == (facts is None):
        raise BadInput("give --d for what each memory holds, or --facts for what each needs: one of the two")
    if d is not None and rank is not None and rank > d:
        raise BadInput(f"--rank {rank} is above --d {d}: a matrix of d x d numbers has no higher rank")
    if zipf is None and (classes is not None or samples is not None):
        raise BadInput("--classes and --samples are for facts of Zipf's law: give --zipf too, or leave them out")
    if zipf is not None and d is None:
        raise BadInput("--zipf needs --d: it asks for the error at a given dimension")
    from ..report.compare import answer
    from ..theory.memories import compare_memories
    from ..theory.memories.zipf_facts import zipf_at

    found = compare_memories(d, facts, target, rank, m)
    law = None if zipf is None or d is None else zipf_at(zipf, d, classes, samples)
    seen = None
    if seeds is not None:
        seed = drawn_seed(output) if seed is None else seed
        seen = _seen(output, found, seeds, seed)
    return answer(found, law, seen, seeds, seed)


def _seen(output: Output, found: Any, seeds: int, seed: int) -> dict[tuple[str, str], Any]:
    """The recall of simulated Hebbian memories at the sizes of their rows, by name and criterion."""
    from ..simulate.hebbian_toy import check_affordable, hebbian_recall

    rows = [r for r in found.memories if r.embedding is not None and r.facts is not None and r.d is not None]
    for r in rows:
        try:
            check_affordable(r.facts, r.d)
        except SettingError as error:
            raise BadInput(f"--seeds: {error}; leave --seeds out for the theory alone") from None
    seen: dict[tuple[str, str], Any] = {}
    with Progress(output.progress, "memories") as progress:
        for done, r in enumerate(rows):
            progress.update(done, len(rows))
            seen[r.name, r.criterion] = hebbian_recall(r.facts, r.d, r.embedding, r.rank, seeds=seeds, seed=seed)
    return seen


command = Command(
    "compare", run,
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
    help="The other memories at the same embedding dimension, or for the same number of facts: Hebbian memories by a "
         "law for finite size, the best linear memory, what training reached in the literature, orthogonal embeddings, "
         "the attention layer and a bound; with --zipf, facts of unequal frequency.",
    examples=["compare --d 256",
              "compare --facts 1e6 --rank 512 --json",
              "compare --d 64 --zipf 2 --samples 1e5 --seeds 8 --seed 1"],
)
