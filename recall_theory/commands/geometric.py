"""`recall-theory geometric`: the second paper's model predicted, and verified."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..geometric.geometric_setting import GeometricSetting
from ..numerics.formatting import NOTHING, count, number, plural, sizes
from ..settings import Parameter
from .answers import Answer, Group, Output, command
from .options import option, setting_options
from .text_layout import Heading, Remark, table
from .verify import DETAILS, grid_options, verified

CAUSES = {
    "own": "each query by itself",
    "codes": "where the codes lie, shared by all queries",
    "maps": "how well two maps are aligned, shared by all subjects",
    "subjects": "queries about one subject share its embedding",
}
WAYS = {
    "embedding": "one pass, by the embedding",
    "wide": "one pass, by a wide MLP",
    "middle": "one pass, meeting in the middle",
    "two-layers": "one pass, meeting in the middle by two MLP layers",
    "chain": "chain of thought",
}
ASKED = {"d": "the least embedding dimension", "N": "the most subjects", "R": "the most relations"}
PARAMETERS = GeometricSetting.parameters
OPTIONS = setting_options(leave_out=("bits",), among=PARAMETERS)
BUDGETS = {
    "mlp_width": Parameter("mlp_width", "hidden units at most; settles the code length", "integer", 4, 1e12),
    "parameters": Parameter("parameters", "parameters at most, for the best code length and dimension that they buy",
                            "integer", 4, 1e18),
}


def describe(setting: GeometricSetting) -> str:
    known = (f"N = {count(setting.N)}, R = {count(setting.R)}, d = {count(setting.width)}, "
             f"codes of length {count(setting.k)}")
    return ", ".join(filter(None, (known, _variant(setting))))


def _variant(setting: GeometricSetting) -> str:
    """What a setting is beside its sizes N, R, k and d; nothing where all is as usual."""
    parts = [] if setting.construction == "superposition" else ["exact construction"]
    if setting.hops > 1:
        parts.append(_hops(setting.hops, setting.depth, setting.chain_of_thought))
    if setting.noise > 0:
        parts.append(f"noise {setting.noise:g}")
    if setting.precision is not None:
        parts.append(f"{plural(setting.precision, 'bit')} a coordinate")
    return ", ".join(parts)


def _hops(hops: int, depth: int, chain_of_thought: bool) -> str:
    way = "with chain of thought" if chain_of_thought else f"through {plural(depth, 'layer')}"
    return f"{plural(hops, 'hop')} {way}"


@command("geometric predict --N 1024 --R 8 --code-length 64 --d 512",
         "geometric predict --N 1e12 --R 4 --code-length 128 --d 2048 --hops 2 --chain-of-thought --json",
         params=OPTIONS)
def predict_command(output: Output, **values: Any) -> Answer:
    """Recall of one setting, by quadrature of closed forms: random superposition at finite sizes, or the exact
    construction; one hop or several, in one pass, layer by layer, or with chain of thought."""
    from ..geometric import predict

    prediction = predict(GeometricSetting(**values))
    data, s, passes = prediction.to_dict(), prediction.setting, prediction.passes
    row = {"recall": prediction.recall, "std": prediction.std,
           "one pass alone": prediction.one_pass if passes > 1 else None}
    causes = [{"cause": name, "variance": value, "because": CAUSES[name]} for name, value in prediction.causes.items()]
    return Answer(data, [{**data["setting"], **data["predicted"]}], [
        Heading(f"What embeddings recall at {describe(s)}"),
        table([row]),
        f"{plural(s.hops, 'hop')} in {plural(passes, 'pass', 'passes')}. A subject's embedding superposes "
        f"{plural(s.words, 'code')}; the MLP has {count(s.mlp_width)} hidden units.",
        table(causes, title="What makes seeds differ, in one pass"),
        *prediction.remarks,
    ])


@command("geometric verify",
         "geometric verify --grid my_grid.toml --seeds 100 --seed 7 --json",
         params=[*grid_options("default"), "margin"], details=DETAILS)
def verify_command(output: Output, **values: Any) -> Answer:
    """Lay predicted recall beside simulated recall over a grid of geometric settings. Each cell gets a verdict: agree,
    disagree, or inconclusive. Exit code 0 if all agree, 1 if any disagrees, else 3."""
    from ..verification.problem import GEOMETRIC_RECALL

    def cell(setting: GeometricSetting) -> dict[str, int | str | None]:
        return {"N": setting.N, "R": setting.R, "k": setting.k, "d": setting.width, "variant": _variant(setting)}

    _, answer = verified(output, GEOMETRIC_RECALL, "the theory of geometric recall", cell, **values)
    # A row of --csv is a cell: there is one observable, and one margin for all cells.
    records = [{name: value for name, value in record.items() if name not in ("margin", "observable")}
               for record in answer.records]
    return dataclasses.replace(answer, records=records)


@command("geometric capacity --N 4096 --R 8",
         "geometric capacity --R 8 --d 512 --mlp-width 4096 --json",
         params=[*(option(name, among=PARAMETERS) for name in "NR"),
                 option("d", among=PARAMETERS, help="embedding dimension"),
                 option("code_length", among=PARAMETERS, help="coordinates k of a code, for random superposition; the "
                        "best where absent"),
                 *setting_options((), among=BUDGETS), "target",
                 *(option(name, among=PARAMETERS) for name in ("hops", "depth", "chain_of_thought", "bits"))],
         details="Where the facts are, in how many numbers, and where each row comes from.")
def capacity_command(output: Output, **values: Any) -> Answer:
    """Give two of --N, --R and --d, and find the third: for the exact construction, for random superposition at its
    best code length (or the one that an MLP's width or a budget of parameters allows), for the lower bound, and for an
    associative memory that holds the same N R facts in a matrix; and where they cross over."""
    from ..geometric import capacity
    from ..geometric.geometric_capacity import CIRCLE

    result = capacity(**values)
    data, given, crossover = result.to_dict(), result.given, result.crossover
    hops = f", {_hops(given['hops'], given['depth'], given['chain_of_thought'])}" if given["hops"] > 1 else ""
    where = []
    if crossover["from_N"] is not None:
        where.append(f"from N = {count(crossover['from_N'])} on at R = {count(given['R'])}")
    if crossover["to_R"] is not None:
        where.append(f"up to R = {count(crossover['to_R'])} at N = {count(given['N'])}")
    takes = "One hop of the exact construction takes no larger d than the best linear memory of the same facts"
    circle = ", ".join(f"{count(n)} in {name}" for name, n in CIRCLE.items())
    return Answer(data, data["rows"], [
        Heading(f"Geometric recall: {ASKED[result.asked]} at {sizes(given, 'NRd')}{hops}"),
        table(data["rows"], f"memory=name, {result.asked}, code_length, MLP width=mlp_width, recall, "
              "facts per number=facts_per_parameter, all parameters=parameters"),
        f"{takes} {' and '.join(where)}." if where else "",
        Remark(f"Random superposition is to recall {given['target']:g} of the facts. Facts are in the N d numbers of "
               "subjects' embeddings, in the two rows of a matrix in d x d numbers."),
    ], lambda: [
        table(result.rows, "memory=name, numbers that hold facts=fact_parameters, they are in=facts_in, "
              "source=provenance", "Where the facts are"),
        Remark(f"In the bounds a number has b = {given['bits']:g} bits, --bits; the exact construction uses one, "
               "digits b (whole, at most 20), with sums of 2 b + log2 k + 1 bits. R log N is no bound on d alone: "
               f"codes on a circle take 3 R for one hop, for N up to {circle} (measured). The best linear memory is a "
               "leading law from related papers."),
    ])


@command("geometric hops --N 1024 --R 4 --hops 3",
         "geometric hops --N 4 --R 2 --hops 2 --bits 1 --json",
         params=[*(option(name, among=PARAMETERS, required=True) for name in "NR"),
                 option("hops", among=PARAMETERS, default=2), option("bits", among=PARAMETERS)])
def hops_command(output: Output, N: int, R: int, hops: int, bits: float) -> Answer:
    """What a query of several relations takes, by every route, at every depth and with chain of thought: the sizes of
    constructions, the weights that hold the facts, and the bound by counting for facts there, with the exact count
    where N and R are small enough to enumerate."""
    from ..geometric import hops as costs_of_depths

    result = costs_of_depths(N, R, hops, bits)
    data = result.to_dict()
    rows = [{**way, "way": plural(way["depth"], "layer") if way["route"] == "layers" else WAYS[way["route"]]}
            for way in data["ways"]]
    asked = plural(result.hops, "hop")
    lists = result.enumerated_lists
    enumerated = "" if lists is None else (
        f"Enumerated over all tables of facts: the words of {plural(result.hops, 'relation')} have {lists:,} different "
        f"lists of answers for one subject, {math.log2(lists):.2f} bits.")
    return Answer(data, data["ways"], [
        Heading(f"{asked} at N = {count(result.N)}, R = {count(result.R)}: one-bit codes, and bounds for facts where "
                "they are"),
        table(rows, "way, passes, codes=words, d, MLP width=mlp_width, facts_in, bits at least=bound_bits, "
              "d at least=bound_d"),
        enumerated,
        Remark("Bits at least: a bound for an embedding, for facts in the weights named and in no others; d at least: "
               f"with b = {result.bits:g} bits a coordinate. In subject embeddings alone it holds at any depth. All "
               f"weights together hold at least {number(result.tables_bits)} bits, R log2 N!. {NOTHING} is outside a "
               "bound's range, or where the words are more than any construction takes."),
    ])


geometric_command = Group(
    "geometric",
    {"capacity": ("geometric:capacity_command", "The embedding that facts require, beside an associative memory."),
     "predict": ("geometric:predict_command", "Recall of one setting."),
     "construct": ("geometric_models:construct_command", "A transformer written down weight by weight, and run."),
     "simulate": ("geometric_models:simulate_command", "Random superposition, observed on many seeds."),
     "verify": ("geometric:verify_command", "Prediction beside simulation over a grid, with a verdict."),
     "hops": ("geometric:hops_command", "Capacity against depth, with and without chain of thought."),
     "report": ("pages:geometric_report_command", "One picture: recall, capacity against hops, training."),
     "train": ("geometric_models:train_command", "What gradient descent learns: probes, interventions and controls.")},
    renamed={"transfer": "geometric train --transfer"},
    help="Facts held in the geometry of the subject embeddings: N subjects, R relations, each a bijection to one "
         "shared set of attributes. A subject's embedding superposes the codes of its attributes, and a small ReLU "
         "MLP selects by relation.",
    examples=["geometric predict --N 1024 --R 8 --code-length 64 --d 512",
              "geometric predict --N 1024 --R 2 --hops 3 --construction exact"],
)
