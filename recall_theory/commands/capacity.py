"""`recall-theory capacity`: how many facts a layer stores, in words first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numerics.formatting import count, deviation, exact, number, percent, probability
from ..settings import PARAMETERS, Setting
from .command import Answer, Command, Output
from .options import option, setting_options
from .predict import OUTSIDE, laws_table
from .streams import BadInput
from .text_layout import Block, Format, Heading, Remark, Table, words

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
TELLING = 4  # largest ratio of the ends of a one-seed interval that still says something


def run(output: Output, N: int | None, ratio: tuple[float, ...], **values: Any) -> Answer:
    if N is not None and ratio:
        raise BadInput("--N and --ratio contradict one another: give one of them")
    from ..theory.capacity import capacity

    result = capacity(N=N, ratios=ratio or None, **values)
    data = result.to_dict()
    records = [{**data["setting"], "target": result.target, **row} for row in data["rows"]]
    for record in records:
        low, high = record.pop("V_seeds") or (None, None)
        record |= {"V_seeds_low": low, "V_seeds_high": high}
        record |= {f"next_{name}": size for name, size in (record.pop("next") or dict.fromkeys("VmdN")).items()}
    return Answer(data, records, _blocks(result), lambda: _details(result))


def _blocks(capacity: Capacity) -> list[Block]:
    s = capacity.setting
    mlp = "" if s["m"] is None else f" with an MLP of m = {count(s['m'])} ({s['activation']})"
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    blocks: list[Block] = [
        Heading(f"How many facts does an attention layer{mlp} store at d = {count(s['d'])}, L = {count(s['L'])}, "
                f"accuracy {exact(capacity.target)}?"),
        " ".join([_how_many(capacity), *_limits(capacity.rows), *_length(capacity)]),
        _rows_table(capacity.rows),
    ]
    for row in capacity.rows:
        if row.V is None and len(capacity.rows) > 1:
            blocks.append(f"At {_budget(row)} no V reaches {exact(capacity.target)}: {_best(row)}.")
    blocks.append(Remark(
        f"V is the largest vocabulary, one fact a token, of which a share {exact(capacity.target)} of all fresh "
        f"sequences is answered right after N training samples. Embeddings: {s['embedding']}{value}. Closed form, no "
        "fitted constant."))
    return blocks


def _how_many(capacity: Capacity) -> str:
    reached = [row for row in capacity.rows if row.V is not None]
    limit = next((row for row in reached if row.N is None), None)
    counts = [f"{count(row.V)} from {count(row.N)} samples" + (f" (N/V = {_ratio(row)})" if row.ratio else "")
              for row in reached if row.N is not None]
    if limit is not None:
        few = f"; {', '.join(counts)}" if counts else ""
        return f"At most {count(limit.V)} facts, however many the samples{few}."
    if counts:
        return f"At most {counts[0].replace(' from', ' facts from', 1)}{''.join(f', {c}' for c in counts[1:])}."
    row = capacity.rows[-1]
    samples = "however many the samples" if row.N is None and row.ratio is None else f"at {_budget(row)}"
    return f"None: no V reaches an accuracy of {exact(capacity.target)}, {samples}; {_best(row)}."


def _best(row: Row) -> str:
    return f"the best accuracy is about {probability(row.best_accuracy)}, at V = {count(row.best_V)}"


def _budget(row: Row) -> str:
    if row.N is not None and row.V is None:
        return f"N = {count(row.N)}"
    return "the limit" if row.ratio is None else f"N/V = {_ratio(row)}"


def _limits(rows: Sequence[Row]) -> list[str]:
    """What limits the capacity with few samples and with many, and what that is."""
    first, last = rows[0].limited_by, rows[-1].limited_by
    sentences = []
    if first != last and _family(first) != _family(last):
        sentences.append(f"With few samples the limit is {_family(first)}: {_in_words(first)}. With many it")
    else:
        sentences.append("What limits it")
    sentences[-1] += f" is {_family(last)}: {_in_words(last)}."
    return sentences


def _family(limited_by: str) -> str:
    from ..theory.phase import family

    return family(limited_by.partition(": ")[2])


def _in_words(limited_by: str) -> str:
    step, family = limited_by.partition(":")[0], _family(limited_by)
    return IN_WORDS.get(f"{step}: {family}") or IN_WORDS.get(family, f"the largest noise of {step}")


def _length(capacity: Capacity) -> list[str]:
    """Whether the length L costs anything, and from which L on, where the least samples are had."""
    row = next((row for row in capacity.rows if row.V is not None), None)
    if row is None or row.attention is None or row.accuracy is None or row.recall is None:
        return []
    missed = 1 - row.attention
    if missed <= NEGLIGIBLE * (1 - row.accuracy):
        cost = "The length L costs nothing here"
    else:
        cost = (f"The length L costs something here: attention misses the right token in {percent(missed)} of all "
                "sequences")
    where = f" (at {_budget(row)})" if len(capacity.rows) > 1 else ""
    if row.longest_L is None:
        return [f"{cost}, nor does a longer one{where}." if "nothing" in cost else f"{cost}{where}."]
    if row.longest_L < capacity.setting["L"]:
        return [f"{cost}; up to about L = {count(row.longest_L)} attention alone reaches the target{where}."]
    return [f"{cost}; from about L = {count(row.longest_L)} on attention alone misses the target{where}."]


def _rows_table(rows: Sequence[Row]) -> Table:
    seeds = [_one_seed(row) for row in rows]
    columns: dict[str, Format] = {
        "N/V": str, "facts V": str, "one seed": str, "samples N": str, "accuracy": probability,
        "limited by": words}
    cells = []
    for row, interval in zip(rows, seeds, strict=True):
        samples = "no limit" if row.N is None and row.ratio is None else count(row.N)
        cells.append([_ratio(row), "none" if row.V is None else count(row.V), interval or "-", samples,
                      row.best_accuracy if row.V is None else row.accuracy, row.limited_by])
    if not any(seeds):
        del columns["one seed"]
        cells = [[*line[:2], *line[3:]] for line in cells]
    return Table(columns, cells)


def _one_seed(row: Row) -> str:
    """About the V that a seed one standard deviation below the mean still reaches, and one above; where that says
    something."""
    low, high = row.V_seeds or (None, None)
    return f"{count(low)} to {count(high)}" if low and high and high <= TELLING * low else ""


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "limit"
    return count(row.ratio) if row.ratio >= 1000 else f"{row.ratio:.4g}"


def _details(capacity: Capacity) -> list[Block]:
    reached = [row for row in capacity.rows if row.V is not None]
    blocks: list[Block] = []
    if reached:
        blocks += [
            Table({"N/V": str, "accuracy": probability, "std": deviation, "recall": probability,
                   "attention": probability, "coverage bound": probability, "longest L": str},
                  [(_ratio(row), row.accuracy, row.std and row.std["accuracy"], row.recall, row.attention,
                    row.coverage_bound, "any" if row.longest_L is None else count(row.longest_L)) for row in reached],
                  "At that V"),
            Table({"N/V": str, "V from": count, "V of one seed, low": count, "V of one seed, high": count,
                   "facts / parameter": number, "bits / parameter": number},
                  [(_ratio(row), row.V_from, *(row.V_seeds or (None, None)), row.facts_per_parameter,
                    row.bits_per_parameter) for row in reached]),
        ]
    parameters = "d^2" if capacity.setting["m"] is None else "m d"
    blocks.append(Remark(
        "V from: about the least V from which on the target is reached; with fewer labels there are fewer samples, and "
        "attention goes astray. One seed: about the largest V that a seed one standard deviation below, and one above, "
        "the mean still reaches. Longest L: up to which attention reaches the target at the same V and N. Bits: what "
        f"the stored permutation holds, log2 V!, over {parameters}."))
    if capacity.setting["m"] is not None:
        blocks.append(_twice_the_facts(capacity))
    return [*blocks, _laws(capacity), _other_memories(capacity)]


def _twice_the_facts(capacity: Capacity) -> Table:
    """What twice as many facts take, or the target where no V reaches it."""
    rows = []
    for row in capacity.rows:
        assert row.next is not None
        sizes = ["none" if (size := row.next[name]) is None else number(size, 2) if size >= 10**6 else count(size)
                 for name in ("m", "d", "N")]
        if capacity.setting["N"] is None and row.ratio is None:
            sizes[-1] = "-"
        rows.append((_ratio(row), row.next["V"], *sizes))
    return Table({"N/V": str, "facts V": count, "m": str, "d": str, "N": str}, rows,
                 "For twice the facts (where no V reaches the target: for it, at the V of the best accuracy), about "
                 "what one of m, d and N must be, the others as they are; N keeps to N/V but where it is what changes")


def _laws(capacity: Capacity) -> Table:
    from ..theory.leading_requirements import requirements

    at = next((row for row in reversed(capacity.rows) if row.V is not None and row.N is not None), None)
    if at is None or at.V is None or at.N is None:
        rows = [(cause, size, count(value) if value <= PARAMETERS[size.split()[-1]].high else OUTSIDE)
                for name, value in capacity.laws.items() for cause, size in [name.split(": ")]]
        return Table({"cause": words, "size": words, "by the leading law": str}, rows,
                     "The leading laws, some causes alone")
    names = ("L", "d", "m", "activation", "embedding", "trigger_in_value")
    setting = Setting(V=at.V, N=at.N, **{name: capacity.setting[name] for name in names})
    return laws_table(requirements(setting), "The leading laws, one cause alone each, at V = "
                      f"{count(at.V)} and N = {count(at.N)}; they hold for large sizes and are loose at small ones")


def _other_memories(capacity: Capacity) -> Table:
    b = capacity.bounds
    bits, linear = b["bits"], b["best_linear_memory"]
    reached = [row for row in capacity.rows if row.V is not None]
    most = max((row.V for row in reached if row.V is not None), default=None)
    rows = [(f"bound, any learner from N = {count(row.N)}: every fact must occur", row.coverage_V, row.V)
            for row in reached if row.N is not None]
    rows += [
        (f"bound, any model of {count(bits['parameters'])} parameters of {number(bits['bits_per_parameter'])} bits",
         bits["V_at_target"], most),
        ("best linear memory of d^2 numbers, to leading order: d^2 = 2 V ln V", linear["V"], most),
        ("orthogonal embeddings, V = d", b["orthogonal"]["V"], most),
    ]
    return Table({"for comparison": words, "facts V": count, "ratio": number},
                 [(name, V, V and ours and ours / V) for name, V, ours in rows],
                 "What no learner can beat, and other memories; the ratio is the V above to theirs")


command = Command(
    "capacity", run,
    params=[*setting_options(("d", "L"), leave_out=("V", "N", "eta", "gamma")),
            option("N", help="training samples in all, instead of N/V"),
            option("ratio", multiple=True, help="training samples a fact, N/V; may be repeated"),
            option("target"), option("bits")],
    details="Spread, laws, bounds and other memories beside it.",
    help="How many facts does an attention layer, or one with an MLP (--m), store? The largest V whose predicted "
         "accuracy reaches the target: in the limit of many samples, and from the least N/V that stores 16 or more.",
    examples=["capacity --d 256 --L 64", "capacity --d 128 --L 16 --ratio 32 --target 0.9 --json",
              "capacity --d 64 --L 32 --m 1024 --target 0.9 --details"],
)
