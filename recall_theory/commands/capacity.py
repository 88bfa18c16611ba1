"""`recall-theory capacity`: how many facts a layer stores, in words first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import NOTHING, count, exact, number, percent, probability, sizes
from ..settings import PARAMETERS, Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .predict import OUTSIDE, laws_table
from .text_layout import Block, Heading, Remark, Table, legend, marked, table

if TYPE_CHECKING:
    from ..theory.capacity import Capacity, Row

# What a family of noise terms is, for a reader who has seen none of the docs; with the step where that matters.
IN_WORDS = {
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
    "lead noise": "how strongly the trigger marks the right token varies from seed to seed",
}
NEGLIGIBLE = 1 / 100  # share of the wrong answers that attention causes, below which L costs nothing
ONE_SEED = ("V of one seed, low", "V of one seed, high")
TELLING = 4  # largest ratio of the ends of a one-seed interval that still says something


def run(output: Output, N: int | None, ratio: tuple[float, ...], **values: Any) -> Answer:
    from ..theory.capacity import capacity

    result = capacity(N=N, ratios=ratio or None, **values)
    data = result.to_dict()
    records = [{**data["setting"], "target": result.target, **row} for row in data["rows"]]
    for record in records:
        del record["remarks"]
        record["V_seeds_low"], record["V_seeds_high"] = record.pop("V_seeds") or (None, None)
        record |= {f"next_{name}": size for name, size in (record.pop("next") or dict.fromkeys("VmdN")).items()}
    return Answer(data, records, _blocks(result, is_least=N is None and not ratio), lambda: _details(result))


def _blocks(capacity: Capacity, *, is_least: bool) -> list[Block]:
    s, rows, target = capacity.setting, capacity.rows, exact(capacity.target)
    mlp = "" if s["m"] is None else f" with an MLP of {sizes(s, 'm')} ({s['activation']})"
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    missed = [row for row in rows if row.V is None and len(rows) > 1]
    return [
        Heading(f"How many facts does an attention layer{mlp} store at {sizes(s, 'dL')}, accuracy {target}?"),
        " ".join([_how_many(capacity), _limits(rows), *_length(capacity, is_least)]),
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
    row = next((row for row in capacity.rows if row.V is not None), None)
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
    from ..theory.leading_requirements import requirements

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
    params=[*setting_options(("d", "L"), leave_out=("V", "N", "eta", "gamma")),
            option("N", help="training samples in all, instead of N/V"),
            option("ratio", multiple=True, help="training samples a fact, N/V; may be repeated"),
            "target", "bits"],
    apart=[("N", "ratio")],
    details="Spread, laws, bounds and other memories beside it.",
    help="How many facts does an attention layer, or one with an MLP (--m), store? The largest V whose predicted "
         "accuracy reaches the target: in the limit of many samples, and from the least N/V that stores 16 or more.",
    examples=["capacity --d 256 --L 64", "capacity --d 128 --L 16 --ratio 32 --target 0.9 --json",
              "capacity --d 64 --L 32 --m 1024 --target 0.9 --details"],
)
