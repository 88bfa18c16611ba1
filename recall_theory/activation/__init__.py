"""Activations of the MLP: by name, as an expression in x or as a sympy object; their Gaussian averages.

>>> from recall_theory.activation import activation, kernel
>>> float(kernel(activation("erf"), 0.5, 0.5, 0.5))  # 2/pi arcsin(1/2)
0.333333333
"""

from .gaussian import gaussian_mean, gaussian_rule, hermite_coefficients, stein_means
from .kernel import kernel
from .named import NAMED, Activation, activation, canonical
from .symbolic import symbolic_hermite, symbolic_kernel

__all__ = ["NAMED", "Activation", "activation", "canonical", "gaussian_mean", "gaussian_rule",
           "hermite_coefficients", "kernel", "stein_means", "symbolic_hermite", "symbolic_kernel"]
