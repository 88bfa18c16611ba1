"""`recall-theory capacity`: how many facts a layer stores, in words first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import NOTHING, count, exact, number, percent, plural, probability, sizes
from ..settings import KEYS_ONLY, PARAMETERS, Setting
from .command import Answer, Command, Output
from .options import QUANTISED, option, setting_options
from .predict import OUTSIDE, laws_table
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
    "shared sequences": "tokens that shared sequences by chance are attended in place of the right one",
    "own sequences": "tokens whose own facts were frequent are attended in place of the right one",
    "attention: finite rates": "eta*gamma is too small for attention to settle on one token: noise tokens are mixed "
                               "into what is stored and read out",
    "lead noise": "how strongly the trigger marks the right token varies from seed to seed",
}
NEGLIGIBLE = 1 / 100  # share of the wrong answers that attention causes, below which L costs nothing
ONE_SEED = ("V of one seed, low", "V of one seed, high")
TELLING = 4  # largest ratio of the ends of a one-seed interval that still says something


def run(output: Output, N: int | None, ratio: tuple[float, ...], **values: Any) -> Answer:
    from ..theory.capacity import capacity

    result = capacity(N=N, ratios=ratio or None, **values)
    in_limit = None
    if values["eta"] is not None:  # as eta*gamma tends to infinity, at the first budget that stores facts
        first = _first_stored(result) or result.rows[0]
        in_limit = capacity(N=N, ratios=None if N else (first.ratio,), **{**values, "eta": None, "gamma": None})
    data = result.to_dict()
    by_bits = _by_bits(result, values["bits"])
    if by_bits:
        data["by_bits"] = [dataclasses.asdict(row) for row in by_bits]
    records = [{**data["setting"], "target": result.target, **row} for row in data["rows"]]
    for record in records:
        del record["remarks"]
        record["V_seeds_low"], record["V_seeds_high"] = record.pop("V_seeds") or (None, None)
        record |= {f"next_{name}": size for name, size in (record.pop("next") or dict.fromkeys("VmdN")).items()}
    blocks = _blocks(result, in_limit, is_least=N is None and not ratio)
    if values["bits"] is not None:
        blocks += _bits_table(by_bits, values["bits"])
    return Answer(data, records, blocks, lambda: _details(result))


def _by_bits(capacity: Capacity, bits: int | None) -> tuple[StoredBits, ...]:
    """A row for each of some numbers of bits an entry; none without bits, or where quantisation has no law."""
    s = capacity.setting
    if bits is None or s["m"] is not None or s["embedding"] == "orthogonal":
        return ()
    from ..theory.stored_bits import capacity_by_bits

    return capacity_by_bits(s["L"], s["d"], capacity.target, bits, embedding=s["embedding"],
                            trigger_in_value=s["trigger_in_value"])


def _bits_table(by_bits: tuple[StoredBits, ...], bits: int) -> list[Block]:
    """Facts and information against the bits of an entry, beside the counting bound and what is reported elsewhere."""
    if not by_bits:
        return [Remark("Facts are those of Val at full precision: with an MLP or orthogonal embeddings quantisation "
                       "has no law here, and bits are for the counting bound alone.")]
    from ..theory.stored_bits import REPORTED, most_facts_per_bit

    best = most_facts_per_bit(by_bits)
    rows = [{"bits": row.bits, "noise": row.noise, "facts V": row.V, "facts / parameter": row.facts_per_parameter,
             "facts / bit": row.facts_per_bit, "information / parameter": row.information_per_parameter,
             "information / bit": row.information_per_bit, "bound, facts": row.bound_V} for row in by_bits]
    most = "" if best is None else f"Facts a bit are most at b = {best.bits}. "
    return [
        f"Val is quantised to {plural(bits, 'bit')} an entry.",
        table(rows, "However many the samples, by the bits of an entry of Val", labels=1),
        Remark(f"{most}Noise: what quantisation adds to an entry's variance; levels are even, and symmetric in a range "
               "of so many root mean squares of Val as keeps that least. Information, in bits: what the answers, right "
               "and wrong, determine of the permutation at least, log2 (recall V)! - log2(V + 1). Bound: no model of "
               f"d^2 parameters of so many bits answers more. Reported for trained language models: {REPORTED} bits of "
               "knowledge a parameter (secondary, `kin.bits_per_parameter`)."),
    ]


def _first_stored(capacity: Capacity) -> Row | None:
    """The row of the fewest samples that store facts."""
    return next((row for row in capacity.rows if row.V is not None), None)


def _blocks(capacity: Capacity, in_limit: Capacity | None, *, is_least: bool) -> list[Block]:
    s, rows, target = capacity.setting, capacity.rows, exact(capacity.target)
    mlp = "" if s["m"] is None else f" with an MLP of {sizes(s, 'm')} ({s['activation']})"
    value = "" if s["trigger_in_value"] else f", {KEYS_ONLY}"
    missed = [row for row in rows if row.V is None and len(rows) > 1]
    return [
        Heading(f"How many facts does an attention layer{mlp} store at {sizes(s, 'dL')}"
                + ("" if in_limit is None else f", eta = {number(s['eta'])}, gamma = {number(s['gamma'])}")
                + f", accuracy {target}?"),
        " ".join([_how_many(capacity), _limits(rows),
                  *(_length(capacity, is_least) if in_limit is None else _rates(capacity, in_limit))]),
        *_formula(capacity),
        _rows_table(rows),
        *legend(row.remarks for row in rows),
        *(f"At {_budget(row)} no V reaches {target}: {_best(row)}." for row in missed),
        Remark(f"V is the largest vocabulary, one fact a token, of which a share {target} of all fresh sequences is "
               f"answered right after N training samples. Embeddings: {s['embedding']}{value}. Semi-analytic, no "
               "fitted constant."),
    ]


def _how_many(capacity: Capacity) -> str:
    reached = [row for row in capacity.rows if row.V is not None]
    limit = next((row for row in reached if row.N is None), None)
    counts = [f"{count(row.V)} from {count(row.N)} samples" + (f" (N/V = {_ratio(row)})" if row.ratio else "")
              for row in reached if row.N is not None]
    if limit is not None:
        few = f"; {', '.join(counts)}" if counts else ""
        return f"At most {count(limit.V)} facts, however many the samples{few}."
    if counts:
        return f"At most {', '.join(counts).replace(' from', ' facts from', 1)}."
    row = capacity.rows[-1]
    samples = "however many the samples" if row.N is None and row.ratio is None else f"at {_budget(row)}"
    return f"None: no V reaches an accuracy of {exact(capacity.target)}, {samples}; {_best(row)}."


def _best(row: Row) -> str:
    return f"the best accuracy is about {probability(row.best_accuracy)}, at V = {count(row.best_V)}"


def _budget(row: Row) -> str:
    if row.N is not None and row.V is None:
        return f"N = {count(row.N)}"
    return "the limit" if row.ratio is None else f"N/V = {_ratio(row)}"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "limit"
    return _brief(row.ratio) if row.ratio >= 1000 else f"{row.ratio:.4g}"


def _limits(rows: Sequence[Row]) -> str:
    """What limits the capacity with few samples and with many, named as in the table, and what that is."""
    few, many = rows[0].limited_by, rows[-1].limited_by
    first = "What limits it" if few == many else f"With few samples the limit is {few} ({_meaning(few)}). With many it"
    return f"{first} is {many} ({_meaning(many)})."


def _meaning(limited_by: str) -> str:
    """A noise term in words."""
    from ..theory.phase import family

    step, _, term = limited_by.partition(": ")
    name = family(term)
    return IN_WORDS.get(f"{step}: {name}") or IN_WORDS.get(name, f"the largest noise of {step}")


def _length(capacity: Capacity, is_least: bool) -> list[str]:
    """What the length L costs, in samples and in facts; `is_least` says whether the rows start at the least N/V."""
    row = _first_stored(capacity)
    if row is None or row.attention is None or row.accuracy is None:
        return []
    subject, costs = f"The length L = {count(capacity.setting['L'])}", []
    budget = f"at {_budget(row)}" if row.ratio is not None else "however many the samples"
    if is_least and row.ratio is not None and row.ratio > 1:
        is_cause = _accuracy_of_shortest(capacity, row.ratio / 2) >= capacity.target
        below = "attention fails" if is_cause else "recall fails at any length"
        costs = [f"{subject} costs {'' if is_cause else 'no '}samples: below N/V = {_ratio(row)} {below}."]
        subject = "It"
    missed = 1 - row.attention
    if missed > NEGLIGIBLE * (1 - row.accuracy):
        facts = f"costs facts {budget}: attention misses the right token in {percent(missed)} of all sequences"
    elif row.longest_L is None:
        facts = f"costs no facts {budget}, nor does a longer one"
    else:
        facts = f"costs no facts {budget}; from about L = {count(row.longest_L)} on it does, as attention fails"
    return [*costs, f"{subject} {facts}."]


def _rates(capacity: Capacity, in_limit: Capacity) -> list[str]:
    """What the length costs at finite rates, beside the limit at the same budget."""
    row, beyond, s = _first_stored(capacity), in_limit.rows[0], capacity.setting
    product = f"eta*gamma = {number(s['eta'] * s['gamma'])}"
    at_budget = f"at {_budget(row or beyond)}" if (row or beyond).ratio else "however many the samples"
    limit = f"As eta*gamma tends to infinity {count(beyond.V) if beyond.V else 'none'} would be stored {at_budget}"
    if row is None or row.attention_weight is None:
        return [f"At {product} attention is soft. {limit}."]
    length = f"At {product} the length L = {count(s['L'])} costs"
    if beyond.V is not None and row.V is not None and row.V >= beyond.V:
        from_there = "" if row.longest_L is None else f"; from about L = {count(row.longest_L)} on it does"
        return [f"{length} no facts {at_budget}{from_there}, as attention spreads over the sequence."]
    return [f"{length} facts, as attention spreads over the sequence: its mean weight on the right token is "
            f"{probability(row.attention_weight)}. {limit}."]


def _formula(capacity: Capacity) -> list[Block]:
    """The branch that binds as a formula with the numbers in it, and the one by which longer sequences fail."""
    row = next((row for row in reversed(capacity.rows) if row.branch is not None), None)
    if row is None or row.branch is None or row.branch_condition is None or row.branch_V is None:
        return []
    text = (f"As a formula, {'in the limit' if row.ratio is None else f'at {_budget(row)}'}: {row.branch}, "
            f"{row.branch_condition}")
    numbers = "" if row.branch_numbers is None else f": {row.branch_numbers}, s the lead that the target needs"
    text += f", V = {count(int(row.branch_V))}{numbers}."
    found = row.V or row.best_V
    if found and found < PARAMETERS["V"].high and not 0.8 < row.branch_V / found < 1.25:  # for large sizes
        text += f" At these sizes that is {number(row.branch_V / found)} times the {count(found)} of the prediction."
    at = next((row for row in reversed(capacity.rows) if row.length_condition is not None), None)
    if at is not None and at.length_L is not None and at.length_L <= PARAMETERS["L"].high:
        text += (f" L is in no law of recall: it enters by {at.length_condition} ({at.length_branch}), at "
                 f"{_budget(at)} from L = {count(int(at.length_L))} on.")
    return [text]


def _accuracy_of_shortest(capacity: Capacity, ratio: float) -> float:
    """Predicted accuracy of the fewest facts that are worth a row, at the given N/V, in sequences of one token."""
    from ..theory.capacity import FEW_FACTS
    from ..theory.predict import predict

    return predict(Setting(**{**capacity.setting, "V": FEW_FACTS, "L": 1, "N": int(FEW_FACTS * ratio)})).accuracy


def _brief(size: float | None, digits: int = 4, whole: float = 10**9) -> str:
    """A size for a table of many: whole up to `whole`, beyond it to so many digits."""
    return count(size) if size is None or size < whole else f"{size:.{digits}g}"


def _rows_table(rows: Sequence[Row]) -> Table:
    seeds = [_one_seed(row) for row in rows]
    cells = []
    for row, interval in zip(rows, seeds, strict=True):
        facts = "none" if row.V is None else _brief(row.V)
        cell: dict[str, object] = {"N/V": _ratio(row), "facts V": marked(facts, row.remarks)}
        if any(seeds):
            cell["one seed"] = interval or NOTHING
        cells.append(cell | {
            "samples N": "no limit" if row.N is None and row.ratio is None else _brief(row.N),
            "accuracy": row.best_accuracy if row.V is None else row.accuracy, "limited by": row.limited_by})
    return table(cells)


def _one_seed(row: Row) -> str:
    """About the V that a seed one standard deviation below the mean still reaches, and one above; where that says
    something."""
    low, high = row.V_seeds or (None, None)
    return f"{_brief(low, 3, 10**6)} to {_brief(high, 3, 10**6)}" if low and high and high <= TELLING * low else ""


def _details(capacity: Capacity) -> list[Block]:
    reached = [row for row in capacity.rows if row.V is not None]
    blocks: list[Block] = []
    if reached:
        at_that = [{"N/V": _ratio(row), "accuracy": row.accuracy, "std": row.std and row.std["accuracy"],
                    "recall": row.recall, "attention": row.attention, "coverage bound": row.coverage_bound,
                    "longest L": row.longest_L or "any"} for row in reached]
        stored = [{"N/V": _ratio(row), "V from": row.V_from,
                   **dict(zip(ONE_SEED, row.V_seeds or (None, None), strict=True)),
                   "facts / parameter": row.facts_per_parameter, "bits / parameter": row.bits_per_parameter}
                  for row in reached]
        blocks += [table(at_that, "At that V"), table(stored)]
    has_mlp = capacity.setting["m"] is not None
    blocks.append(Remark(
        "V from: about the least V from which on the target is reached; with fewer labels there are fewer samples, and "
        "attention goes astray. One seed: about the largest V that a seed one standard deviation below, and one above, "
        "the mean still reaches. Longest L: up to which attention reaches the target at the same V and N. Bits: what "
        f"the stored permutation holds, log2 V!, over {'m d' if has_mlp else 'd^2'}."))
    twice = [_twice_the_facts(capacity)] if has_mlp else []
    return [*blocks, *twice, _laws(capacity), _other_memories(capacity)]


def _twice_the_facts(capacity: Capacity) -> Table:
    """What twice as many facts take, or the target where no V reaches it."""
    rows = []
    for row in capacity.rows:
        assert row.next is not None
        needed = {name: _needed(row.next[name]) for name in ("m", "d", "N")}
        if capacity.setting["N"] is None and row.ratio is None:
            needed["N"] = NOTHING
        rows.append({"N/V": _ratio(row), "facts V": row.next["V"], **needed})
    return table(rows, "For twice the facts (where no V reaches the target: for it, at the V of the best accuracy), "
                 "about what one of m, d and N must be, the others as they are; N keeps to N/V but where it is what "
                 "changes")


def _needed(size: int | None) -> str:
    if size is None:
        return "none"
    return number(size, 2) if size >= 10**6 else count(size)


def _laws(capacity: Capacity) -> Table:
    from ..theory.noise_budget import requirements

    at = next((row for row in reversed(capacity.rows) if row.V is not None and row.N is not None), None)
    if at is None or at.V is None or at.N is None:
        rows = []
        for name, value in capacity.laws.items():
            cause, size = name.split(": ")
            in_regime = value <= PARAMETERS[size.split()[-1]].high
            rows.append({"cause": cause, "size": size, "by the leading law": count(value) if in_regime else OUTSIDE})
        return table(rows, "The leading laws, some causes alone")
    names = ("L", "d", "m", "activation", "embedding", "trigger_in_value")
    setting = Setting(V=at.V, N=at.N, **{name: capacity.setting[name] for name in names})
    return laws_table(requirements(setting), "The leading laws, one cause alone each, at V = "
                      f"{count(at.V)} and N = {count(at.N)}; they hold for large sizes and are loose at small ones")


def _other_memories(capacity: Capacity) -> Table:
    b = capacity.bounds
    bits, linear = b["bits"], b["best_linear_memory"]
    most = max((row.V for row in capacity.rows if row.V is not None), default=None)
    memories: list[tuple[str, int | None, int | None]] = [
        (f"bound, any learner from N = {count(row.N)}: every fact must occur", row.coverage_V, row.V)
        for row in capacity.rows if row.V is not None and row.N is not None]
    memories += [
        (f"bound, any model of {count(bits['parameters'])} parameters of {number(bits['bits_per_parameter'])} bits",
         bits["V_at_target"], most),
        ("best linear memory of d^2 numbers, to leading order: d^2 = 2 V ln V", linear["V"], most),
        ("orthogonal embeddings, V = d", b["orthogonal"]["V"], most),
    ]
    return table([{"for comparison": name, "facts V": V, "ratio": V and ours and ours / V}
                  for name, V, ours in memories],
                 "What no learner can beat, and other memories; the ratio is the V above to theirs")


command = Command(
    "capacity", run,
    params=[*setting_options(("d", "L"), leave_out=("V", "N")),
            option("N", help="training samples in all, instead of N/V"),
            option("ratio", multiple=True, help="training samples a fact, N/V; may be repeated"),
            "target", option("bits", among=QUANTISED)],
    apart=[("N", "ratio")],
    details="Spread, laws, bounds, other memories.",
    help="How many facts does an attention layer, or one with an MLP (--m), store? The largest V whose predicted "
         "accuracy reaches the target: in the limit of many samples, and from the least N/V that stores 16 or more.",
    examples=["capacity --d 256 --L 64", "capacity --d 128 --L 16 --ratio 32 --target 0.9 --json",
              "capacity --d 256 --L 64 --eta 1e-6 --gamma 1e14 --ratio 256",
              "capacity --d 64 --L 32 --m 1024 --target 0.9 --details"],
)
