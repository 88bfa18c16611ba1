"""The answer to "how many facts does a layer store?" """

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..settings import Setting
from .answer import Answer, Block, Column, Prose, Table
from .laws import asked
from .numbers import NOTHING, count, number, probability, ratio

if TYPE_CHECKING:
    from ..theory.capacity import Capacity, Row


def answer(capacity: Capacity) -> Answer:
    """The capacity in its three forms."""
    data = capacity.to_dict()
    records = [{**data["setting"], "target": capacity.target, **row} for row in data["rows"]]
    for record in records:
        low, high = record.pop("V_seeds") or (None, None)
        record |= {"V_seeds_low": low, "V_seeds_high": high}
        record |= {f"next_{name}": size for name, size in (record.pop("next") or dict.fromkeys("VmdN")).items()}
    return Answer(data, records, _blocks(capacity))


def _blocks(capacity: Capacity) -> list[Block]:
    s, target = capacity.setting, f"{capacity.target:g}"
    blocks: list[Block] = [
        Prose(f"How many facts does an attention layer{_mlp(s)} store, with embeddings of dimension "
              f"d = {count(s['d'])} and sequences of L = {count(s['L'])} tokens?", heading=True),
        Prose(f"V is the largest vocabulary of which {target} of all fresh sequences are answered right "
              f"(one fact a token), at N training samples. {_conventions(s)}", remark=True),
        Table([Column("N/V"), Column("facts V"), Column("one seed"), Column("samples N"),
               Column("limited by", words=True)],
              [_row(row) for row in capacity.rows]),
    ]
    reached = [row for row in capacity.rows if row.V is not None]
    if reached:
        blocks.append(Table(
            [Column("N/V"), Column("accuracy"), Column("std"), Column("recall"), Column("attention"),
             Column("coverage bound"), Column("longest L"), Column("facts / parameter"),
             Column("bits / parameter")],
            [_details(row) for row in reached], title="At that V"))
    for row in capacity.rows:
        if row.V is None:
            blocks.append(Prose(_why_none(row, capacity)))
        elif row.V_from is not None and row.V_from > 2:
            blocks.append(Prose(
                f"At {_budget(row)} the target is reached from about V = {count(row.V_from)} up only: with fewer "
                "labels there are fewer samples, and attention goes astray.", remark=True))
    blocks.append(Prose(
        "One seed: about the largest V that a seed one standard deviation below, and one above, the mean still "
        "reaches. Longest L: up to which attention reaches the target at the same V and N. Bits: what "
        f"the stored permutation holds, log2 V!, over {'d^2' if s['m'] is None else 'm d'}.", remark=True))
    if s["m"] is not None:
        blocks.append(_next(capacity))
    blocks.append(_laws(capacity) if s["m"] is None else _mlp_laws(capacity))
    blocks.append(_bounds(capacity))
    return blocks


def _mlp(s: dict[str, Any]) -> str:
    return "" if s["m"] is None else f" with an MLP of width m = {count(s['m'])} ({s['activation']})"


def _conventions(s: dict[str, Any]) -> str:
    value = "" if s["trigger_in_value"] else ", trigger left out of the values"
    return f"Embeddings: {s['embedding']}{value}. Closed form, no fitted constant."


def _budget(row: Row) -> str:
    if row.ratio is None:
        return "the limit"
    return f"N/V = {number(row.ratio)}"


def _row(row: Row) -> Sequence[str]:
    if row.V is None:
        return (_ratio(row), "none", NOTHING, count(row.N), row.limited_by)
    low, high = row.V_seeds or (None, None)
    seeds = f"{count(low) if low is not None else 'none'} to {count(high)}"
    return (_ratio(row), count(row.V), seeds, "no limit" if row.N is None else count(row.N), row.limited_by)


def _ratio(row: Row) -> str:
    return ratio(None if row.ratio is None else float(f"{row.ratio:.4g}"))


def _details(row: Row) -> Sequence[str]:
    std = None if row.std is None else row.std["accuracy"]
    longest = "any" if row.longest_L is None else count(row.longest_L)
    return (_ratio(row), probability(row.accuracy), number(std, 2), probability(row.recall),
            probability(row.attention), probability(row.coverage_bound), longest,
            number(row.facts_per_parameter), number(row.bits_per_parameter))


def _why_none(row: Row, capacity: Capacity) -> str:
    return (f"At {_budget(row)} no V reaches {capacity.target:g}: the best accuracy is about "
            f"{probability(row.best_accuracy)}, at V = {count(row.best_V)}. What stands in the way is "
            f"{row.limited_by}.")


def _next(capacity: Capacity) -> Table:
    """What twice as many facts take, or the target where no V reaches it."""
    rows = []
    for row in capacity.rows:
        assert row.next is not None
        asked = [NOTHING if name == "N" and capacity.setting["N"] is None and row.ratio is None else
                 "none" if row.next[name] is None else f"{row.next[name]:.2g}" if (row.next[name] or 0) >= 10**6 else
                 count(row.next[name]) for name in ("m", "d", "N")]
        rows.append((_ratio(row), count(row.next["V"]), *asked))
    return Table([Column("N/V"), Column("facts V"), Column("m"), Column("d"), Column("N")], rows,
                 title="For twice the facts (where no V reaches the target: for it, at the V of the best accuracy), "
                       "about what one of m, d and N must be, the others as they are; N keeps to N/V but where it is "
                       "what changes")


def _mlp_laws(capacity: Capacity) -> Table:
    s = capacity.setting
    at = next((row for row in reversed(capacity.rows) if row.V is not None and row.N is not None), None)
    columns = [Column("cause", words=True), Column("law", words=True), Column("it asks"), Column("exact")]
    if at is None or at.V is None or at.N is None:
        values = [(name.split(":")[0], name.split(": ")[1], count(V), NOTHING) for name, V in capacity.laws.items()]
        return Table(columns, values, title="The leading laws, some causes alone")
    setting = Setting(V=at.V, N=at.N, **{name: s[name] for name in ("L", "d", "m", "activation", "embedding",
                                                                    "trigger_in_value")})
    return Table(columns, [(a.cause, a.law, f"{a.size} = {a.shown}", f"{a.size} = {count(a.has)}")
                           for a in asked(setting)],
                 title=f"The leading laws, one cause alone each, at V = {count(at.V)} and N = {count(at.N)}; they hold "
                       "for large sizes and are loose at small ones")


def _laws(capacity: Capacity) -> Table:
    from ..theory.formulas import leading_laws as laws

    d, L = float(capacity.setting["d"]), float(capacity.setting["L"])
    e = int(capacity.setting["trigger_in_value"])
    V = float(laws.recall_interference(d=d, e=e, tau=1))
    limit = next((row.V for row in capacity.rows if row.ratio is None), None)
    rows: list[Sequence[str]] = [
        ("interference of the stored pairs", f"d^2 = {2 * (1 + e)} V ln V", f"V = {count(V)}",
         NOTHING if limit is None else f"V = {count(limit)}"),
        ("overlap of a token with the trigger", "d = 2 ln L",
         f"L = {count(capacity.laws['trigger overlap: longest L'])}", NOTHING),
    ]
    at = next((row for row in reversed(capacity.rows) if row.V is not None and row.N is not None), None)
    if at is not None and at.V is not None:
        v = float(at.V)
        sizes = {"V": v, "L": L, "d": d}
        asked = [
            ("every fact must occur", "N = V ln V", laws.recall_coverage(V=v)),
            ("label frequencies stored with the noise tokens", "N^2 d^4 = 2 V^2 L^3 ln L",
             laws.attention_noise_tokens(**sizes)),
            ("label frequencies stored with the mean embedding", "N^2 d^3 = 2 V L^4 ln L",
             laws.attention_mean_embedding(**sizes)),
            ("label frequencies stored with the informative tokens", "N d^4 = 2 V L^2 ln L",
             laws.attention_informative_tokens(**sizes)),
        ]
        if e:
            asked.insert(1, ("label frequencies carried by the trigger", "N d = 2 V^2 ln V",
                             laws.recall_mean_bias(V=v, d=d, tau=1)))
        rows += [(what, law, f"N = {count(float(least))}", f"N = {count(at.N)}") for what, law, least in asked]
        title = (f"The leading laws, one cause alone each (the N of V = {count(at.V)}), beside the exact "
                 "answer; they hold for large sizes and are loose at small ones")
    else:
        title = "The leading laws, one cause alone each"
    return Table([Column("cause", words=True), Column("law", words=True), Column("it asks"),
                  Column("exact")], rows, title=title)


def _bounds(capacity: Capacity) -> Table:
    b = capacity.bounds
    bits, linear = b["bits"], b["best_linear_memory"]
    reached = [row for row in capacity.rows if row.V is not None]
    most = max((row.V for row in reached if row.V is not None), default=None)

    def line(what: str, V: float | None, ours: int | None = most) -> Sequence[str]:
        return (what, count(V), NOTHING if ours is None or V is None else number(ours / V))

    rows = [line(f"bound, any learner from N = {count(row.N)}: every fact must occur", row.coverage_V, row.V)
            for row in reached if row.N is not None]
    rows += [
        line(f"bound, any model of {count(bits['parameters'])} parameters of {number(bits['bits_per_parameter'])} bits",
             bits["V_at_target"]),
        line("best linear memory of d^2 numbers, to leading order: d^2 = 2 V ln V", linear["V"]),
        line("orthogonal embeddings, V = d", b["orthogonal"]["V"]),
    ]
    return Table([Column("for comparison", words=True), Column("facts V"), Column("ratio")], rows,
                 title="What no learner can beat, and other memories; the ratio is the V above to theirs")
