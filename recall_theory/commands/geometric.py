"""`recall-theory geometric`: the second paper's model predicted, and verified."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..geometric.geometric_setting import GeometricSetting
from ..numerics.formatting import NOTHING, count, number, plural, probability, sizes
from ..settings import Parameter
from .command import Answer, Command, Group, Output
from .options import option, setting_options
from .text_layout import Block, Heading, Remark, table
from .verify import DETAILS, grid_options, verification_answer, verified

if TYPE_CHECKING:
    from ..geometric.geometric_capacity import GeometricCapacity
    from ..geometric.geometric_prediction import GeometricPrediction
    from ..verification.results import Verification

CAUSES = {
    "own": "each query by itself",
    "codes": "where the codes lie is shared by all queries",
    "maps": "how well two maps are aligned is shared by all subjects",
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
WIDTH = Parameter("mlp_width", "hidden units at most; settles the code length", "integer", 4, 1e12)
BUDGET = Parameter("parameters", "parameters at most, for the best code length and dimension that they buy", "integer",
                   4, 1e18)
CAPACITY_HELP = {
    "d": "embedding dimension",
    "code_length": "coordinates k of a code, for random superposition; the best where absent",
}


def describe(setting: GeometricSetting) -> str:
    """The setting in one line of words."""
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
    """How a query of several relations is answered."""
    way = "with chain of thought" if chain_of_thought else f"through {plural(depth, 'layer')}"
    return f"{plural(hops, 'hop')} {way}"


def run_predict(output: Output, **values: Any) -> Answer:
    from ..geometric import predict

    prediction = predict(GeometricSetting(**values))
    data, s, passes = prediction.to_dict(), prediction.setting, prediction.passes
    row = {"recall": prediction.recall, "std": prediction.std,
           "one pass alone": prediction.one_pass if passes > 1 else None}
    causes = [{"cause": name, "variance": value, "because": CAUSES[name]} for name, value in prediction.causes.items()]
    return Answer(data, [{**data["setting"], **data["predicted"]}], [
        Heading(f"What embeddings recall at {describe(s)}"),
        table([row], formats={"one pass alone": probability}),
        f"{plural(s.hops, 'hop')} in {plural(passes, 'pass', 'passes')}. A subject's embedding superposes "
        f"{plural(s.words, 'code')}; the MLP has {count(s.mlp_width)} hidden units, and none of its weights depends on "
        "the facts.",
        table(causes, title="What makes seeds differ, in one pass"),
    ])


def run_verify(output: Output, grid: str, **values: Any) -> Answer:
    from ..verification.problem import GEOMETRIC_RECALL

    def cell(setting: GeometricSetting) -> dict[str, int | str | None]:
        return {"N": setting.N, "R": setting.R, "k": setting.k, "d": setting.width, "variant": _variant(setting)}

    def answer(result: Verification[GeometricSetting, GeometricPrediction], wanted: int) -> Answer:
        given = verification_answer(result, grid, wanted, cell, "the theory of geometric recall")
        # A row of --csv is a cell: there is one observable, and one margin for all cells.
        records = [{name: value for name, value in record.items() if name not in ("margin", "observable")}
                   for record in given.records]
        return dataclasses.replace(given, records=records)

    return verified(output, GEOMETRIC_RECALL, grid, answer, **values)


def run_capacity(output: Output, **values: Any) -> Answer:
    from ..geometric import capacity

    result = capacity(**values)
    data, given = result.to_dict(), result.given
    hops = f", {_hops(given['hops'], given['depth'], given['chain_of_thought'])}" if given["hops"] > 1 else ""
    return Answer(data, data["rows"], [
        Heading(f"Geometric recall: {ASKED[result.asked]} at {sizes(given, 'NRd')}{hops}"),
        table(data["rows"], f"memory=name, {result.asked}, code_length, MLP width=mlp_width, recall, "
              "facts per number=facts_per_parameter, all parameters=parameters", formats={"all parameters": count}),
        _crossover(result),
        Remark(f"Random superposition is to recall {given['target']:g} of the facts. In the two rows of a matrix these "
               "are in d x d numbers that map pairs of a subject and a relation to attributes, in all others in the "
               "subjects' embeddings, N d numbers."),
    ], lambda: _capacity_details(result))


def _crossover(result: GeometricCapacity) -> str:
    from_N, to_R = result.crossover["from_N"], result.crossover["to_R"]
    ends = [] if from_N is None else [f"from N = {count(from_N)} on at R = {count(result.given['R'])}"]
    if to_R is not None:
        ends.append(f"up to R = {count(to_R)} at N = {count(result.given['N'])}")
    where = " and ".join(ends)
    return where and ("One hop of the exact construction takes no larger d than the best linear memory of the same "
                      f"facts {where}.")


def _capacity_details(result: GeometricCapacity) -> list[Block]:
    from ..geometric.geometric_capacity import CIRCLE

    circle = ", ".join(f"{count(n)} in {name}" for name, n in CIRCLE.items())
    return [
        table(result.rows, "memory=name, numbers that hold facts=fact_parameters, they are in=facts_in, "
              "source=provenance", "Where the facts are", formats={"numbers that hold facts": count}),
        Remark(f"In the bounds a number has b = {result.given['bits']:g} bits, --bits; the exact construction uses "
               "one, digits b (whole, at most 20), with sums of 2 b + log2 k + 1 bits. R log N is no bound on d alone: "
               "codes on a circle take 3 R for one hop, where scores tell them apart, for N up to "
               f"{circle} (measured). The best linear memory is a leading law from related papers."),
    ]


def run_hops(output: Output, N: int, R: int, hops: int, bits: float) -> Answer:
    from ..geometric import hops as costs_of_depths

    result = costs_of_depths(N, R, hops, bits)
    data = result.to_dict()
    rows = [{**way, "way": plural(way["depth"], "layer") if way["route"] == "layers" else WAYS[way["route"]]}
            for way in data["ways"]]
    asked = plural(result.hops, "hop")
    enumerated = [] if result.enumerated_lists is None else [
        f"Enumerated over all tables of facts: the words of {plural(result.hops, 'relation')} have "
        f"{result.enumerated_lists:,} different lists of answers for one subject, "
        f"{math.log2(result.enumerated_lists):.2f} bits."]
    return Answer(data, data["ways"], [
        Heading(f"{asked} at N = {count(result.N)}, R = {count(result.R)}: one-bit codes, and bounds for facts where "
                "they are"),
        table(rows, "way, passes, codes=words, d, MLP width=mlp_width, facts_in, bits at least=bound_bits, "
              "d at least=bound_d", formats={"bits at least": functools.partial(number, digits=6)}),
        *enumerated,
        Remark("Codes are those in one embedding. Bits at least: a bound for an embedding, for facts in the weights "
               f"named and in no others; d at least: with b = {result.bits:g} bits a coordinate. In subject embeddings "
               "alone it holds at any depth. Facts in other weights get around it: in an unembedding that is read "
               "backwards, in a wide MLP, or in lookup tables by which layers re-embed answers. All weights together "
               f"hold at least {number(result.tables_bits)} bits, R log2 N!. {NOTHING} is outside a bound's range, or "
               "where the words are more than any construction takes."),
    ])


def geometric_options(leave_out: Sequence[str] = ("bits",)) -> list[click.Parameter]:
    """An option for each parameter of a geometric setting."""
    return setting_options(leave_out=leave_out, among=GeometricSetting.parameters)


predict_command = Command(
    "predict", run_predict, params=geometric_options(),
    help="Recall of one setting, by quadrature of closed forms: random superposition at finite sizes, or the exact "
         "construction; one hop or several, in one pass, layer by layer, or with chain of thought.",
    examples=["geometric predict --N 1024 --R 8 --code-length 64 --d 512",
              "geometric predict --N 1e12 --R 4 --code-length 128 --d 2048 --hops 2 --chain-of-thought --json"],
)

verify_command = Command(
    "verify", run_verify, params=[*grid_options("default"), "margin"], details=DETAILS,
    help="Lay predicted recall beside simulated recall over a grid of geometric settings. Each cell gets a verdict: "
         "agree, disagree, or inconclusive. Exit code 0 if all agree, 1 if any disagrees, else 3.",
    examples=["geometric verify", "geometric verify --grid my_grid.toml --seeds 100 --seed 7 --json"],
)

capacity_command = Command(
    "capacity", run_capacity,
    params=[option(name, among={**GeometricSetting.parameters, "mlp_width": WIDTH, "parameters": BUDGET},
                   help=CAPACITY_HELP.get(name))
            for name in ("N", "R", "d", "code_length", "mlp_width", "parameters", "target", "hops", "depth",
                         "chain_of_thought", "bits")],
    details="Where the facts are, in how many numbers, and where each row comes from.",
    help="Give two of --N, --R and --d, and find the third: for the exact construction, for random superposition at "
         "its best code length (or the one that an MLP's width or a budget of parameters allows), for the lower "
         "bound, and for an associative memory that holds the same N R facts in a matrix; and where they cross over.",
    examples=["geometric capacity --N 4096 --R 8", "geometric capacity --R 8 --d 512 --mlp-width 4096 --json"],
)

hops_command = Command(
    "hops", run_hops,
    params=[*[option(name, among=GeometricSetting.parameters, required=True) for name in "NR"],
            option("hops", among=GeometricSetting.parameters, default=2),
            option("bits", among=GeometricSetting.parameters)],
    help="What a query of several relations takes, by every route, at every depth and with chain of thought: the "
         "sizes of constructions, the weights that hold the facts, and the bound by counting for facts there, with the "
         "exact count where N and R are small enough to enumerate.",
    examples=["geometric hops --N 1024 --R 4 --hops 3", "geometric hops --N 4 --R 2 --hops 2 --bits 1 --json"],
)

command = Group(
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
