"""The commands of `recall-theory geometric` that make models: written down weight by weight, drawn, or trained."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

from ..errors import SettingError
from ..geometric.geometric_setting import Construction, GeometricSetting, TrainingSetting
from ..numerics.formatting import count, plural, sizes
from .answers import Answer, Output, command
from .geometric import OPTIONS, WAYS, describe
from .options import file_option, flag, option, setting_options
from .simulate import MEASURED_COLUMNS, finished_seeds, interval, measured_rows, partial_seeds
from .streams import BadInput, shown
from .text_layout import Heading, Remark, table

# Table -> measure -> what is counted.
MEASURES = {
    "Queries answered": {
        "recall": "as trained",
        "frozen": "control: entities' embeddings frozen at random",
    },
    "Facts in the geometry": {
        "linear_probe": "facts that linear probes read from subjects they haven't seen",
        "linear_probe_shuffled": "control: facts of other subjects",
        "superposition_share": "variance of unseen embeddings that superposed codes explain",
        "superposition_share_shuffled": "control: facts of other subjects",
        "fact_edited": "a fact rewritten in the embedding: new answer given",
        "fact_edited_others": "a fact rewritten in the embedding: other relations' answers kept",
    },
    "The gate": {
        "gate_selectivity": "largest share of one relation in a unit's activity",
        "gate_selectivity_untrained": "control: before training",
        "units_off": "a relation's hidden units silenced: facts recalled under it",
        "units_off_others": "a relation's hidden units silenced: under the others",
    },
}
TRANSFER_MEASURES = {
    "New facts for entities' embeddings alone": {
        "recall": "first facts, all trained",
        "new_facts": "new facts, all else as it was",
        "new_facts_shuffled": "control: the MLP's numbers shuffled",
    },
}
REMARK = "Codes are the attributes' learned unembeddings. Gate, probes and edits are for one hop; chance is 1/N."


@command("geometric construct --N 256 --R 8 --hops 2 --route middle --seed 1",
         "geometric construct --N 100 --R 4 --hops 5 --route chain --bits 2 --seed 1 --json",
         params=[*setting_options(among=Construction.parameters), "seed"])
def construct_command(output: Output, *, seed: int | None, **values: Any) -> Answer:
    """Write down a whole transformer that recalls random facts (tokens, positions, attention, ReLU MLP, unembedding),
    and ask it every query, or 20,000 drawn ones. Where width x d is 10^9 or more its sizes alone are printed.
    --output FILE.npz writes its weights instead."""
    c, weights = Construction(**values), output.form == "npz"
    if (output.json or output.csv) and (output.file or "").endswith(".npz"):
        raise BadInput(f"--output {shown(output.file)} takes the weights; leave out --json and --csv, or name "
                       "another file")
    if c.refused is not None:
        if weights:
            raise SettingError("N", f"N={c.N}: too large to run, and to write: {c.refused}")
        return _constructed(c, {})
    import numpy as np

    from ..geometric.construction import construct, run_queries
    from ..geometric.geometric_simulation import draw_bijections

    used = output.seed(seed)
    rng = np.random.default_rng(used)
    facts = draw_bijections(c.N, c.R, rng)
    model = construct(c, facts)
    if weights:
        file = io.BytesIO()
        np.savez_compressed(file, **{"facts": facts, **model.weights()})  # type: ignore[arg-type]
        return dataclasses.replace(_constructed(c, {"seed": used}), document=file.getvalue())
    found = output.measure("queries", lambda progress: run_queries(c, model, facts, rng, progress),
                           lambda found: f"{found.queries:,} queries; --seed {used} repeats them")
    return _constructed(c, {"seed": used, **dataclasses.asdict(found)})


def _constructed(c: Construction, found: dict[str, Any]) -> Answer:
    row = {"k": c.k, "d": c.d, "width": c.width, "margin_predicted": c.margin,
           **{name: found.get(name) for name in ("recall", "queries", "margin")}}
    return Answer({"setting": c.to_dict(), **row, "not_run": c.refused, **found}, [{**c.to_dict(), **row}], [
        Heading(f"A transformer for {plural(c.hops, 'hop')} at N = {count(c.N)}, R = {count(c.R)}: {WAYS[c.route]}"),
        table([row], "k, d, width, recall, queries, margin, predicted margin=margin_predicted"),
        Remark(f"Sizes only: {c.refused}." if c.refused is not None else "d coordinates a token, width hidden units; "
               f"--seed {found['seed']}. The margin is the least lead of the right logit over all others."),
    ])


@command("geometric simulate --N 256 --R 4 --code-length 32 --d 128 --seeds 64 --seed 1",
         "geometric simulate --N 100 --R 2 --code-length 16 --d 48 --hops 3 --chain-of-thought --csv",
         params=[*OPTIONS, "seeds", "seed", "jobs"])
def simulate_command(output: Output, *, seeds: int, seed: int | None, jobs: int, **values: Any) -> Answer:
    """Draw bijections, codes and maps on independent seeds, ask every query (2^16 chains of passes where there are
    more), and print the recall beside the prediction."""
    setting = GeometricSetting(**values)
    from ..geometric import predict
    from ..geometric.geometric_simulation import check_affordable, simulate

    check_affordable(setting)
    used = output.seed(seed)
    observed = output.measure("seeds", lambda progress: simulate(setting, seeds, used, jobs=jobs, progress=progress),
                              lambda observed: partial_seeds(observed, seeds))
    prediction, data = predict(setting), observed.to_dict()
    rows = measured_rows(observed.measures, {"recall": prediction.recall}, {"recall": prediction.std})
    data["observed"]["recall"] |= {"std": rows[0]["std"], "interval": rows[0]["interval"]}
    data["predicted"] = prediction.to_dict()["predicted"]
    return Answer(data, observed.records(), [
        Heading(f"What embeddings recalled at {describe(setting)}"),
        f"{finished_seeds(observed, seeds)}.",
        table(rows, MEASURED_COLUMNS),
        *prediction.remarks,
    ])


@command("geometric train",
         "geometric train --N 64 --R 3 --hops 2 --chain-of-thought --seed 1",
         "geometric train --transfer --N 64 --R 2 --seeds 8 --seed 1 --csv --output transfer.csv",
         params=[flag("transfer", "in place of that: new bijections, for which the entities' embeddings alone are "
                      "trained"),
                 *setting_options(among=TrainingSetting.parameters),
                 option("seeds", default=4, help="networks, each trained on its own facts"), "seed",
                 file_option("resume", "keep the training in FILE, that of the control beside it, and go on from "
                             "them")])
def train_command(output: Output, *, transfer: bool, seeds: int, seed: int | None, resume: str | None,
                  **values: Any) -> Answer:
    """What gradient descent learns: a transformer of one attention layer and a ReLU MLP, all of it trained on random
    bijections, one hop or more, with and without chain of thought; linear probes, the gate by relation, edits of
    single facts, and controls. It needs jax and optax: pip install 'recall-theory[train]'."""
    setting = TrainingSetting(**values)
    from ..geometric import geometric_training
    from ..training.trainer import check_installed

    check_installed("N")
    observe = geometric_training.transfer if transfer else geometric_training.train
    used = output.seed(seed)
    again = f"--resume {resume} --seed {used} goes on" if resume else f"--seed {used} repeats it"
    observed = output.measure(
        "steps", lambda progress: observe(setting, seeds, used, resume=resume, progress=progress),
        lambda observed: f"{' and '.join(observed.measures)} of {plural(seeds, 'seed')}; {again}", again=again)
    data, rows = observed.to_dict(), {}
    for name, x in observed.measures.items():
        ends = interval(x) if x.std > 0 else [None, None]  # where the seeds show a spread, which is NaN for one
        data["observed"][name]["interval"] = ends
        rows[name] = {"mean": x.mean, "95 % interval": ends, "std": x.std}
    asked = plural(setting.hops, "hop") + (" with chain of thought" if setting.chain_of_thought else "")
    what = "New facts for a trained transformer" if transfer else "What gradient descent learns"
    return Answer(data, observed.records(), [
        Heading(f"{what} at {sizes(setting.to_dict(), 'NRd')}, {asked}"),
        f"{finished_seeds(observed, seeds)}, at most {plural(setting.steps, 'step')}; {count(setting.queries)} "
        f"queries, {count(setting.numbers)} trained numbers.",
        *(table([{"": meaning, **rows[name]} for name, meaning in measures.items() if name in rows], title=title)
          for title, measures in (TRANSFER_MEASURES if transfer else MEASURES).items()),
        Remark("Only the entities' embeddings are trained on the new facts." if transfer else REMARK),
    ])
