"""What no learner can beat, one idea a file: unseen facts, the size of a model, information, a gradient in noise.

Each function is a registered formula. All statements are about expectations over a uniform permutation. Proofs:
docs/derivations/bounds.md.
"""

from .gradient import (
    gradient_information,
    gradient_information_mlp,
    gradient_information_sampled,
    gradient_samples,
    gradient_snr,
)
from .information import least_information, most_right
from .size import average_recall, bits_bound, bits_capacity, bits_with_errors, permutation_bits, recall_of_bits
from .unseen import coverage

__all__ = [
    "average_recall",
    "bits_bound",
    "bits_capacity",
    "bits_with_errors",
    "coverage",
    "gradient_information",
    "gradient_information_mlp",
    "gradient_information_sampled",
    "gradient_samples",
    "gradient_snr",
    "least_information",
    "most_right",
    "permutation_bits",
    "recall_of_bits",
]
