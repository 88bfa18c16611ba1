"""`recall-theory capacity`: how many facts a layer stores, in words first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import count, exact, number, percent, plural, probability, sizes
from ..settings import KEYS_ONLY, PARAMETERS, Setting
from .answers import Answer, Output, command
from .options import QUANTISED, option, setting_options
from .predict import OUTSIDE
from .text_layout import Block, Heading, Remark, Table, legend, marked, table

if TYPE_CHECKING:
    from ..theory.capacity import Capacity, Row
    from ..theory.stored_bits import StoredBits

# What a family of noise terms is, for a reader who has seen none of the docs; with the step where that matters.
IN_WORDS = {
    "quantisation": "the entries of Val have too few bits",
    "interference": "all facts share one matrix, and what the others left there drowns the one that is asked for",
    "token overlap": "some other token resembles the one that is asked for by chance, and its label is answered",
    "mean bias": "labels that occurred more often than others in training are favoured, whatever is asked",
    "gradient noise": "each fact is averaged over few sequences, and what else was in them stays as noise",
    "MLP noise": "the MLP's random neurons are too few for their noise to average out",
    "attention overlap": "some token resembles the trigger by chance, and is attended in place of the right one",
    "recall: attention overlap": "some value resembles the trigger by chance, and so every other value",
    "attention: mean bias": "tokens that met the frequent labels are attended in place of the right one",
    "attention: gradient noise": "tokens that met a label by chance are attended in place of the right one",
    "attention: interference": "tokens of the same sequences are attended in place of the right one",
    "facts never seen": "some facts never occur in training",
    "own count": "facts that occurred less often than others in training are answered less surely",
    "noise token counts": "tokens that met a label by chance are attended in place of the right one",
    "label noise": "tokens that met the frequent labels are attended in place of the right one",
    "own sequences": "tokens whose own facts were frequent are attended in place of the right one",
    "attention: finite rates": "eta*gamma is too small for attention to settle on one token: noise tokens are mixed "
                               "into what is stored and read out",
    "lead noise": "how strongly the trigger marks the right token varies from seed to seed",
}
NEGLIGIBLE = 1 / 100  # share of the wrong answers that attention causes, below which L costs nothing
TELLING = 4  # largest ratio of the ends of a one-seed interval that still says something


@command("capacity --d 256 --L 64",
         "capacity --d 128 --L 16 --ratio 32 --target 0.9 --json",
         "capacity --d 256 --L 64 --eta 1e-6 --gamma 1e14 --ratio 256",
         "capacity --d 64 --L 32 --m 1024 --target 0.9 --details",
         params=[*setting_options(("d", "L"), leave_out=("V", "N")),
                 option("N", help="training samples in all, instead of N/V"),
                 option("ratio", multiple=True, help="training samples a fact, N/V; may be repeated"),
                 "target", option("bits", among=QUANTISED)],
         apart=[("N", "ratio")], details="Spread, laws, bounds, other memories.")
def capacity_command(output: Output, N: int | None, ratio: tuple[float, ...], **values: Any) -> Answer:
    """How many facts does an attention layer, or one with an MLP (--m), store? The largest V whose predicted accuracy
    reaches the target: in the limit of many samples, and from the least N/V that stores 16 or more."""
    from ..theory.capacity import capacity
    from ..theory.stored_bits import capacity_by_bits

    result = capacity(N=N, ratios=ratio or None, **values)
    first = next((row for row in result.rows if row.V is not None), None)  # of the fewest samples that store facts
    if values["eta"] is None:
        length = _length(result, first, is_least=N is None and not ratio)
    else:
        ratios = None if N else ((first or result.rows[0]).ratio,)
        length = _rates(result, first, capacity(N=N, ratios=ratios, **{**values, "eta": None, "gamma": None}).rows[0])
    data, blocks = result.to_dict(), _blocks(result, length)
    records = [{**data["setting"], "target": result.target, **row} for row in data["rows"]]
    for record in records:
        del record["remarks"]
        record["V_seeds_low"], record["V_seeds_high"] = record.pop("V_seeds") or (None, None)
        record |= {f"next_{name}": size for name, size in (record.pop("next") or dict.fromkeys("VmdN")).items()}
    bits, s = values["bits"], result.setting
    if bits is not None and (s["m"] is not None or s["embedding"] == "orthogonal"):
        blocks.append(Remark("Facts are those of Val at full precision: with an MLP or orthogonal embeddings "
                             "quantisation has no law here, and bits are for the counting bound alone."))
    elif bits is not None:
        by_bits = capacity_by_bits(s["L"], s["d"], result.target, bits, embedding=s["embedding"],
                                   trigger_in_value=s["trigger_in_value"])
        data["by_bits"] = [dataclasses.asdict(row) for row in by_bits]
        blocks += _by_bits(by_bits, bits)
    return Answer(data, records, blocks, lambda: _details(result))


def _by_bits(rows: tuple[StoredBits, ...], bits: int) -> list[Block]:
    """Facts and information against the bits of an entry, beside the counting bound and what is reported elsewhere."""
    from ..theory.stored_bits import REPORTED, most_facts_per_bit

    best = most_facts_per_bit(rows)
    most = "" if best is None else f"Facts a bit are most at b = {best.bits}. "
    return [
        f"Val is quantised to {plural(bits, 'bit')} an entry.",
        table(rows, "bits, noise, facts V=V, facts_per_parameter, facts_per_bit, information_per_parameter, "
              "information_per_bit, most facts=bound_V", "However many the samples, by the bits of an entry of Val"),
        Remark(f"{most}Noise: what quantisation adds to an entry's variance. Information, in bits: what the answers "
               "determine of the permutation at least. Most facts: of any model of d^2 parameters of so many bits. "
               f"Reported for trained language models: {REPORTED} bits of knowledge a parameter (secondary, "
               "`kin.bits_per_parameter`)."),
    ]


def _blocks(capacity: Capacity, length: str) -> list[Block]:
    s, rows, target = capacity.setting, capacity.rows, exact(capacity.target)
    mlp = "" if s["m"] is None else f" with an MLP of {sizes(s, 'm')} ({s['activation']})"
    rates = f", eta = {number(s['eta'])}, gamma = {number(s['gamma'])}" if "eta" in s else ""
    value = "" if s["trigger_in_value"] else f", {KEYS_ONLY}"
    reached = [row for row in rows if row.V is not None]
    stored = ", ".join(f"{count(row.V)} facts " + (_at(row) if row.N is None else f"from {count(row.N)} samples "
                                                   f"(N/V = {_ratio(row)})") for row in reversed(reached))
    none = (f"None: no V reaches an accuracy of {target} {_at(rows[-1])}; the best is about "
            f"{probability(rows[-1].best_accuracy)}, at V = {count(rows[-1].best_V)}")
    shown = [{**vars(row), "N/V": _ratio(row), "V": marked("none" if row.V is None else _brief(row.V), row.remarks),
              "N": "no limit" if row.N is row.ratio is None else _brief(row.N), "one seed": _one_seed(row),
              "accuracy": row.best_accuracy if row.V is None else row.accuracy} for row in rows]
    return [
        Heading(f"How many facts does an attention layer{mlp} store at {sizes(s, 'dL')}{rates}, accuracy {target}?"),
        f"{f'At most {stored}' if reached else none}. {_limits(rows)} {length}",
        *_formula(rows),
        table(shown, "N/V, facts V=V, one seed, samples N=N, accuracy, limited_by"),
        *legend(row.remarks for row in rows),
        Remark(f"V is the largest vocabulary, one fact a token, at which a share {target} of fresh sequences is "
               f"answered right after N training samples. Embeddings: {s['embedding']}{value}. No fitted constant."),
    ]


def _at(row: Row) -> str:
    if row.N is not None and row.V is None:
        return f"at N = {count(row.N)}"
    return "however many the samples" if row.ratio is None else f"at N/V = {_ratio(row)}"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "limit"
    return _brief(row.ratio) if row.ratio >= 1000 else f"{row.ratio:.4g}"


def _brief(size: float | None, digits: int = 4, whole: float = 10**9) -> str:
    """A size for a table of many: whole up to `whole`, beyond it to so many digits."""
    return count(size) if size is None or size < whole else f"{size:.{digits}g}"


def _limits(rows: Sequence[Row]) -> str:
    """What limits the capacity with few samples and with many, named as in the table, and what that is."""
    from ..theory.phase import family

    limits = []
    for limited_by in (rows[0].limited_by, rows[-1].limited_by):
        step, _, term = limited_by.partition(": ")
        meaning = IN_WORDS.get(f"{step}: {family(term)}") or IN_WORDS.get(family(term), f"the largest noise of {step}")
        limits.append(f"{limited_by} ({meaning})")
    few, many = limits
    first = "What limits it" if few == many else f"With few samples the limit is {few}. With many it"
    return f"{first} is {many}."


def _length(capacity: Capacity, first: Row | None, is_least: bool) -> str:
    """What the length costs: in samples, where `first` has the least N/V that stores facts, and there in facts."""
    if first is None or first.attention is None or first.accuracy is None:
        return ""
    from ..theory.capacity import FEW_FACTS
    from ..theory.predict import predict

    said, s = f"The length L = {count(capacity.setting['L'])}", capacity.setting
    if is_least and first.ratio is not None and first.ratio > 1:
        shortest = Setting(**{**s, "V": FEW_FACTS, "L": 1, "N": int(FEW_FACTS * first.ratio / 2)})
        costs, below = "costs no samples", "recall fails at any length"
        if predict(shortest).accuracy >= capacity.target:
            costs, below = "costs samples", "attention fails"
        said += f" {costs}: below N/V = {_ratio(first)} {below}. It"
    missed = 1 - first.attention
    if missed > NEGLIGIBLE * (1 - first.accuracy):
        return (f"{said} costs facts {_at(first)}: attention misses the right token in {percent(missed)} of all "
                "sequences.")
    longer = ", nor does a longer one"
    if first.longest_L is not None:
        longer = f"; from about L = {count(first.longest_L)} on it does, as attention fails"
    return f"{said} costs no facts {_at(first)}{longer}."


def _rates(capacity: Capacity, first: Row | None, in_limit: Row) -> str:
    """What the length costs at finite rates, beside the limit at the same budget."""
    s = capacity.setting
    limit = (f"As eta*gamma tends to infinity {count(in_limit.V) if in_limit.V else 'none'} would be stored "
             f"{_at(first or in_limit)}.")
    at_rates = f"At eta*gamma = {number(s['eta'] * s['gamma'])}"
    if first is None or first.V is None or first.attention_weight is None:
        return f"{at_rates} attention is soft. {limit}"
    costs = "facts, as attention spreads over the sequence"
    if in_limit.V is not None and first.V >= in_limit.V:
        longer = f" up to about L = {count(first.longest_L)}" if first.longest_L is not None else ""
        costs = f"no facts{longer}; in longer ones attention spreads over the sequence"
    return (f"{at_rates} the mean attention weight of the right token is {probability(first.attention_weight)}: the "
            f"length L = {count(s['L'])} costs {costs}. {limit}")


def _formula(rows: Sequence[Row]) -> list[Block]:
    """The branch that binds as a formula with the numbers in it, and the one by which longer sequences fail."""
    row = next((row for row in reversed(rows) if row.branch is not None), None)
    if row is None or row.branch_V is None:
        return []
    numbers = "" if row.branch_numbers is None else f": {row.branch_numbers}, s the lead that the target needs"
    text = (f"As a formula for large sizes, {_at(row)}: {row.branch}, {row.branch_condition}, V = "
            f"{count(int(row.branch_V))}{numbers}.")
    at = next((row for row in reversed(rows) if row.length_L is not None), None)
    if at is not None and at.length_L is not None and at.length_L <= PARAMETERS["L"].high:
        text += (f" L is in no law of recall: it enters by {at.length_condition} ({at.length_branch}), {_at(at)} from "
                 f"L = {count(int(at.length_L))} on.")
    return [text]


def _one_seed(row: Row) -> str | None:
    """About the V that a seed one standard deviation below the mean still reaches, and one above, where that says
    something."""
    low, high = row.V_seeds or (None, None)
    if low is None or high is None or high > TELLING * low:
        return None
    return f"{_brief(low, 3, 10**6)} to {_brief(high, 3, 10**6)}"


def _details(capacity: Capacity) -> list[Block]:
    shown = [{**vars(row), "N/V": _ratio(row), "std": row.std and row.std["accuracy"],
              "longest L": row.longest_L or "any"}
             for row in capacity.rows if row.V is not None]
    twice = [{"N/V": _ratio(row), "facts V": row.next["V"],
              **{name: _brief(row.next[name]) if row.next[name] else "none" for name in ("m", "d", "N")}}
             for row in capacity.rows if row.next is not None]
    laws = [{"cause and size": name,
             "by the leading law": count(value) if value <= PARAMETERS[name.split()[-1]].high else OUTSIDE}
            for name, value in capacity.laws.items()]
    return [
        table(shown, "N/V, accuracy, std, recall, attention, coverage_bound, longest L", "At that V"),
        table(shown, "N/V, V_from, facts_per_parameter, bits_per_parameter"),
        Remark("V from: about the least V from which on the target is reached. One seed, above: about the largest V "
               "that a seed one standard deviation below, and one above, the mean still reaches. Longest L: up to "
               "which attention reaches the target at the same V and N. Bits: log2 V!, over "
               f"{'d^2' if capacity.setting['m'] is None else 'm d'}."),
        table(twice, title="For twice the facts (where no V reaches the target: for it, at the V of the best "
              "accuracy), about what one of m, d and N alone must be"),
        table(laws, title="The leading laws, one cause alone each; predict has all of them"),
        _other_memories(capacity),
    ]


def _other_memories(capacity: Capacity) -> Table:
    bounds = capacity.bounds
    bits, linear = bounds["bits"], bounds["best_linear_memory"]
    most = max((row.V for row in capacity.rows if row.V is not None), default=None)
    memories: list[tuple[str, int | None, int | None]] = [
        (f"bound, any learner from N = {count(row.N)}: every fact must occur", row.coverage_V, row.V)
        for row in capacity.rows if row.V is not None and row.N is not None]
    memories += [
        (f"bound, any model of {count(bits['parameters'])} parameters of {number(bits['bits_per_parameter'])} bits",
         bits["V_at_target"], most),
        ("best linear memory of d^2 numbers, to leading order: d^2 = 2 V ln V", linear["V"], most),
        ("orthogonal embeddings, V = d", bounds["orthogonal"]["V"], most),
    ]
    return table([{"for comparison": name, "facts V": V, "ratio": V and ours and ours / V}
                  for name, V, ours in memories],
                 title="What no learner can beat, and other memories; the ratio is the V above to theirs")
