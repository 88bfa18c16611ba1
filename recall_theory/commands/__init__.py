"""The commands of `recall-theory`: where each is found, and its line in the list. Strings only: nothing is imported."""

from __future__ import annotations

PROGRAM = "recall-theory"

# Command -> the place where it is found, imported only when it is asked for, and its one line in the list.
COMMANDS = {
    "capacity": ("capacity:capacity_command", "How many facts a layer stores, and what limits it."),
    "predict": ("predict:predict_command", "Attention, recall and accuracy of one setting."),
    "simulate": ("simulate:simulate_command", "The same, observed: train the model on many seeds."),
    "verify": ("verify:verify_command", "Prediction beside simulation over a grid, with a verdict."),
    "sweep": ("sweep:sweep_command", "Simulations over any grid, kept in a store and never run twice."),
    "scaling": ("sweep:scaling_command", "How a critical size scales: an exponent, simulated and predicted."),
    "report": ("pages:report_command", "A page about a store: verdicts, figures, phase diagrams, laws."),
    "explore": ("pages:explore_command", "A page with sliders, and predictions that follow."),
    "solve": ("predict:solve_command", "The largest V or L, or the least N, d or m, for a target."),
    "bounds": ("limits:bounds_command", "What no learner can beat: lower bounds, and decoders beside them."),
    "phase": ("limits:phase_command", "What binds over a plane of two sizes, and where the target is reached."),
    "compare": ("compare:compare_command", "Other memories, embeddings or activations at the same size."),
    "train": ("simulate:train_command", "One rung between three gradient steps and a trained transformer."),
    "ladder": ("simulate:ladder_command", "All rungs side by side: what of the law carries over to training."),
    "geometric": ("geometric:geometric_command", "Facts in the geometry of embeddings: the second paper's model."),
    "formulas": ("references:formulas_command", "The formulas behind the numbers: the list, or one in full."),
    "cite": ("references:cite_command", "How to cite the papers and this program."),
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
