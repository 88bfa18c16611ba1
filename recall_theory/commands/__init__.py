"""The commands of `recall-theory`: where each is found, and its line in the list. Strings only: nothing is imported."""

from __future__ import annotations

PROGRAM = "recall-theory"
_HERE = "recall_theory.commands"

# Command -> the place where it is found, imported only when it is asked for, and its one line in the list.
COMMANDS = {
    "capacity": (f"{_HERE}.capacity:command", "How many facts a layer stores, and what limits it."),
    "predict": (f"{_HERE}.predict:command", "Attention, recall and accuracy of one setting, in closed form."),
    "simulate": (f"{_HERE}.simulate:command", "The same, observed: train the model on many seeds."),
    "verify": (f"{_HERE}.verify:command", "Prediction beside simulation over a grid, with a verdict."),
    "sweep": (f"{_HERE}.sweep:command", "Simulations over any grid, kept in a store and never run twice."),
    "scaling": (f"{_HERE}.scaling:command", "How a critical size scales: an exponent, simulated and predicted."),
    "report": (f"{_HERE}.pages:report_command", "A page about a store: verdicts, figures, phase diagrams, laws."),
    "explore": (f"{_HERE}.pages:explore_command", "A page with sliders, and predictions that follow."),
    "solve": (f"{_HERE}.solve:command", "The largest V or L, or the least N, d or m, for a target."),
    "bounds": (f"{_HERE}.bounds:command", "What no learner can beat: lower bounds, and decoders beside them."),
    "phase": (f"{_HERE}.phase:command", "What binds over a plane of two sizes, and where the target is reached."),
    "compare": (f"{_HERE}.compare:command", "Other memories, embeddings or activations at the same size."),
    "train": (f"{_HERE}.train:command", "Gradient descent beyond the three steps: what they leave on the table."),
    "geometric": (f"{_HERE}.geometric:command", "Facts in the geometry of embeddings: the second paper's model."),
    "formulas": (f"{_HERE}.references:formulas_command", "The formulas behind the numbers: the list, or one in full."),
    "cite": (f"{_HERE}.references:cite_command", "How to cite the papers and this program."),
}

# A name that a command had -> what to type now.
RENAMED = {
    "beyond-orthogonal": "compare embeddings",
    "compare-activations": "compare activations",
    "tightness": "bounds --decoders",
    "plot": "report --figure NAME --output FILE.pdf",
    "completion": "_RECALL_THEORY_COMPLETE=bash_source recall-theory",
    "doctor": "--version --verbose",
}
