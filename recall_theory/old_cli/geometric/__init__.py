"""`recall-theory geometric`: the commands of the second paper's model."""

from __future__ import annotations

from ...commands.program import Group

# Command -> its one line in the list; its module has its name.
COMMANDS = {
    "capacity": ("recall_theory.old_cli.geometric.capacity:command",
        "The embedding that facts ask for, beside an associative memory."),
    "predict": ("recall_theory.old_cli.geometric.predict:command",
        "Recall of one setting, in closed form."),
    "construct": ("recall_theory.old_cli.geometric.construct:command",
        "A layer written down weight by weight, and run."),
    "simulate": ("recall_theory.old_cli.geometric.simulate:command",
        "Random superposition, seen on many seeds."),
    "verify": ("recall_theory.old_cli.geometric.verify:command",
        "Prediction beside simulation over a grid, with a verdict."),
    "hops": ("recall_theory.old_cli.geometric.hops:command",
        "Capacity against depth, with and without chain of thought."),
    "train": ("recall_theory.old_cli.geometric.train:command",
        "What gradient descent finds: probes, interventions and controls."),
    "transfer": ("recall_theory.old_cli.geometric.transfer:command",
        "New facts for a trained MLP, through new embeddings alone."),
}

EPILOG = """\
\b
Examples:
  recall-theory geometric predict --N 1024 --R 8 --code-length 64 --d 512
  recall-theory geometric predict --N 1024 --R 2 --hops 3 --construction exact
"""

command = Group(
    "geometric", COMMANDS, epilog=EPILOG,
    help="Facts held in the geometry of the subject embeddings: N subjects, R relations, each a bijection to one "
         "shared set of attributes. A subject's embedding superposes the codes of its attributes, and a small ReLU "
         "MLP selects by relation.",
)
