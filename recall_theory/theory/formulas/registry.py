"""The Formula object and the registry of all formulas.

A closed form is a plain Python function written with arithmetic and `generic` functions. `@formula(...)`
puts it on record with its provenance and hands it back unchanged: `predict` calls it with floats
and arrays, and `Formula.expr` is what it returns for sympy symbols. One definition, read both ways, and sympy
is imported only when somebody asks for an expression.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import inspect
import numbers
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    import sympy

    from .generic import Real

Provenance = Literal["quoted", "secondary", "derived", "kin"]
Function = TypeVar("Function", bound=Callable[..., Any])
Law = Callable[..., Any]  # of numbers, arrays or symbols
Row = Callable[..., Callable[[Law], Law]]  # `formula` with some of its arguments given: registers a lambda beside it

# The modules that register formulas; imported on the first look into the registry.
MODULES = ("step_two", "score_shape", "recall_formulas", "orthogonal_formulas", ".one_step_memory",
           "finite_rate_formulas", ".fourth_step", "leading_laws", "sharp_constant", "capacity_laws", "lower_bounds",
           "memory_laws", "paper_statements", "geometric_laws")

# What the standard library lacks, as `Formula.python` writes it.
IN_SCIPY = {"LambertW": "scipy.special.lambertw({}).real", "zeta": "scipy.special.zeta({})",
            "erfinv": "scipy.special.erfinv({})"}


@dataclasses.dataclass(frozen=True)
class SymbolInfo:
    """How a symbol of the formulas prints, what it means and where it lives."""

    latex: str
    meaning: str
    domain: str

    @property
    def integer(self) -> bool:
        """Whether it is a whole number."""
        return self.domain.startswith("integer")

    @property
    def positive(self) -> bool:
        """Whether it is above 0; e and the like may be 0."""
        return self.domain not in ("real", "0 or 1", "at least 0", "integer from 0 to V")


SYMBOLS = {name: SymbolInfo(*info) for name, info in {
    "V": ("V", "vocabulary size: tokens, labels and facts", "integer, at least 2"),
    "L": ("L", "sequence length", "integer, at least 1"),
    "d": ("d", "embedding dimension", "integer, at least 1"),
    "N": ("N", "training samples", "integer, at least 1"),
    "m": ("m", "width of the MLP", "integer, at least 1"),
    "e": ("e", "1 if the trigger is part of the values, else 0", "0 or 1"),
    "tau": (r"\tau", "squared norm of the trigger embedding, near 1", "positive"),
    "lam": (r"\lambda", "N/V, the mean number of training samples of a fact", "positive"),
    "s": ("s", "lead of the right answer in standard deviations of a competitor", "real"),
    "K": ("K", "number of alternatives", "at least 1"),
    "b0": ("b_0", "squared length of the outputs' projection on the label noise, near 1", "positive"),
    "Q": ("Q", "sum of squared deviations of the label counts in units of its mean, near 1", "positive"),
    "kappa": (r"\kappa", "1 for Gaussian embeddings, 0 on the unit sphere", "0 or 1"),
    "A": ("A", "(E phi')^2 over the MLP's inputs in step two, with their spread: its linear part", "positive"),
    "B": ("B", "E phi E phi'' over the MLP's inputs in step two", "real"),
    "A2": ("A_2", "(E phi'')^2 over the MLP's inputs in step two: its quadratic part", "at least 0"),
    "A3": ("A_3", "E phi' E phi''' over the MLP's inputs in step two", "real"),
    "A4": ("A_4", "E phi'' E phi'''' over the MLP's inputs in step two", "real"),
    "C0": ("C_0", "(E phi'(u) phi'(v) - A)/Cov(u, v) over the inputs of samples of two facts in step two", "real"),
    "C1": ("C_1", "the same of samples of one fact", "real"),
    "D1": ("D_1", "slope of E phi(u) phi''(v) over Cov(u, v), between the inputs of these two", "real"),
    "K1": ("K_1", "E phi'(u) phi'(v) + E phi(u) phi''(v) over two samples' inputs in step two", "real"),
    "h0": ("h_0", "E phi phi' over the MLP's inputs in step two", "real"),
    "h1": ("h_1", "E (phi phi')' over the MLP's inputs in step two", "real"),
    "h2": ("h_2", "E (phi phi')'' over the MLP's inputs in step two", "real"),
    "h3": ("h_3", "E phi' E phi'' over the MLP's inputs in step two", "real"),
    "h4": ("h_4", "E (phi phi')'''' over the MLP's inputs in step two", "real"),
    "h5": ("h_5", "derivative of h3 by the power of the MLP's inputs in step two", "real"),
    "h6": ("h_6", "E (phi phi')''' over the MLP's inputs in step two", "real"),
    "A0": ("A_0", "(E phi)^2 over the MLP's inputs in step two: its constant part", "at least 0"),
    "P0": ("P_0", "E phi^2 over the MLP's inputs in step two", "positive"),
    "P2": ("P_2", "E phi'^2 over the MLP's inputs in step two", "positive"),
    "k1": ("k_1", "kappa(2, 2, 2): the kernel of a value with itself, in step three", "positive"),
    "k0": ("k_0", "mean kernel of two values in step three: what all values share", "real"),
    "kv": ("k_v", "d times the variance of the kernel over the other values", "positive"),
    "kz": ("k_z", "m times the variance of the kernel over the weights, at other values", "positive"),
    "P": ("P", "trainable parameters", "integer, at least 1"),
    "b": ("b", "bits a parameter", "positive"),
    "a": ("a", "facts answered right, on average", "at least 1"),
    "nats": ("I", "information about the permutation", "at least 0, in nats"),
    "subjects": ("N", "subjects of geometric recall", "integer, at least 2"),
    "R": ("R", "relations of geometric recall", "integer, at least 1"),
    "words": ("W", "codes that a subject's embedding superposes", "integer, at least 1"),
    "k": ("k", "coordinates of an attribute's code", "integer, at least 1"),
    "h": ("h", "relations in a query, or passes", "integer, at least 1"),
    "p": ("p", "chance that one pass is right", "from 0 to 1"),
    "v": ("v", "variance of recall from seed to seed", "positive"),
    "errors": ("e", "facts that may be wrong", "integer from 0 to V"),
    "n": ("n", "facts of a memory, each with an output of its own", "integer, at least 2"),
    "rank": ("r", "rank of a memory's matrix", "integer from 1 to d"),
    "u": ("u", "normal quantile above which competitors are averaged", "real"),
    "alpha": (r"\alpha", "exponent of Zipf's law: fact x occurs in proportion to x^-alpha", "above 1"),
    "rho": (r"\rho", "power of its frequency with which a fact is stored", "above 1/(2 alpha)"),
    "quantiser": (r"\eta", "variance that quantisation adds to an entry of Val, over the entry's own", "at least 0"),
    "compression": (r"\chi", "by how much less a quantiser keeps of a product of normal variables", "at least 0"),
    "clipped": (r"\chi p_1", "the quantiser's compression times the share of one fact in an entry's variance",
                "at least 0"),
    "samples": (r"\mu", "mean count of a label's samples that are attended rightly", "positive"),
    "entries": ("x^2", "mean squared deviation of what a label stores", "positive"),
    "own": ("K", "kernel of the value read out with itself", "positive"),
    "mean": (r"\bar k", "mean of the kernel over other values", "real"),
    "variance": (r"\mathsf{v}", "variance of the kernel over other values", "positive"),
    "kurtosis": (r"\mathsf{k}", "kurtosis of the kernel over other values", "at least 1"),
    "cumulant": (r"\mathsf{c}_3", "third cumulant of a kind's strength", "real"),
    "fourth": (r"\mathbf{E}\theta^4", "mean fourth power of a competitor's strength", "positive"),
    "third": (r"\mathbf{E}\theta^3", "third moment of a competitor's strength", "real"),
    "square": (r"\mathbf{E}\theta^2", "mean square of a competitor's strength", "positive"),
    "walk": (r"\mathsf{K}", "relative variance of the square of a competitor's strength", "at least 2"),
    "skewness": (r"\gamma", "skewness of the kernel over other values", "real"),
    "excess": (r"\kappa", "excess kurtosis of the kernel over other values", "positive"),
    "scaled": (r"\sigma", "a competitor's variance, in units of the usual one", "positive"),
    "dual": ("t", "argument of a Laplace transform", "positive"),
    "inverse_root": (r"\varrho", "mean of one over the root of a variable of mean 1", "at least 1"),
    "bias": ("b", "mean overlap that a right pick of a label brings", "real"),
    "elsewhere": ("o", "share of wrong picks that attend to other tokens than the one read out", "from 0 to 1"),
    "astray": (r"b^\ast", "mean overlap that a wrong pick brings", "real"),
    "bare": (r"\mathsf{v}_0", "variance of the kernel with values without the trigger", "positive"),
    "share": ("a", "share of a label's sequences that are attended rightly", "from 0 to 1"),
    "varied": (r"\mathsf{V}_a", "variance of that share in a class of labels", "at least 0"),
    "missed": (r"\bar\epsilon", "share of sequences attended wrongly, over all labels", "from 0 to 1"),
    "picked": (r"\mathsf{p}", "chance that another label's wrong pick is the fact", "from 0 to 1"),
    "taken": (r"q", "part of a label's overlap with the value that all labels store on average", "from 0 to 1"),
    "best": (r"\varpi", "chance that one token is among a sequence's noise", "from 0 to 1"),
    "average": (r"\bar\theta", "mean of what labels store", "real"),
    "deviation": (r"\delta", "mean of what a label stores, less that of all labels", "real"),
    "common": (r"\xi", "overlap of a value with what wrong picks attend to, less its mean", "real"),
    "copied": (r"\mathsf{p}_0", "share of a label's samples that attend to a copy of its own token", "from 0 to 1"),
    "itself": ("K_0", "kernel of the value read out with itself without the trigger", "real"),
    "agreed": (r"\mathsf{v}_\xi", "variance of that overlap", "at least 0"),
    "ahead": ("r", "tokens that outrank the best of a sequence's noise", "integer from 0 to V - 1"),
    "rest": (r"\rho^2", "variance of what a label's wrong picks store", "positive"),
    "count": ("n", "right picks of a label", "at least 0"),
    "sequences": ("n", "training sequences of a label", "at least 0"),
    "x": ("x", "what a finite width leaves of the neurons' noise, or of the mean of phi phi'", "positive"),
    "y": ("y", "what a finite width leaves of the mean token", "positive"),
    "shared": (r"\beta", "what all values share per own lead of a fact: e, with an MLP k0/(k1 - k0)", "at least 0"),
    "target": (r"\mathsf{p}", "share of fresh sequences that is to be answered right", "between 0 and 1"),
    "spread": (r"\varsigma^2", "variance of the right answer's lead, in units of a competitor's", "positive"),
    "times": ("M", "how often a token stands in them as noise", "at least 0"),
    "beta": (r"\beta", "eta*gamma, the product of the learning rates", "positive"),
    "eta": (r"\eta", "learning rate of step one", "positive"),
    "logit": ("b", "lead of the informative token's attention logit", "positive"),
    "heat": (r"\kappa", "standard deviation of the tokens' attention logits", "positive"),
    "snr": ("S", "lead of the informative token over the standard deviation of the tokens' scores", "positive"),
    "second": (r"\overline{a^2}", "mean square of the attention weight over a label's sequences", "positive"),
    "squares": (r"\overline{w^2}", "sum of the squared attention weights of a sequence's noise tokens", "positive"),
    "tie": (r"\rho", "correlation of a label's count with its token's attention score", "between 0 and 1"),
    "counted": ("x", "normal quantile of the chance of at most so many samples", "real"),
    "between": (r"\mathsf{V}_\zeta", "variance of the standardised scores within a class of labels", "from 0 to 1"),
    "zeta": (r"\zeta", "standardised attention score of a token", "real"),
    "scale": ("g", "logit scale: logits per unit of a fact's own mean score", "positive"),
    "doubt": ("X", "mean of a fact's count, over N/V, times 1 less its squared probabilities", "positive"),
    "slope": (r"\ell", "slope of the kernel in the overlap of two values", "positive"),
}.items()}


@dataclasses.dataclass(eq=False, repr=False)
class Formula:
    """One formula with all that is needed to trust it or to check it.

    `name` is dotted ("recall.interference"), `title` one sentence. `provenance` is one of "quoted" (the paper itself
    says so, in the sentence `quote`), "secondary" (somebody's account of the paper says so), "derived" (worked out in
    `reference`) and "kin" (from a related paper, named in `reference`). `source` tells where the sentence `quote`
    stands. `regime` says where the formula holds, `limits` what it reduces to.

    >>> from recall_theory.theory import formulas
    >>> float(formulas["law.recall.coverage"].evaluate(V=1000))
    6907.755278982137
    """

    function: Callable[..., Real]
    name: str
    title: str
    provenance: Provenance
    reference: str
    regime: str
    limits: str = ""
    unit: str = ""
    quote: str = ""
    source: str = ""
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.arguments = self.arguments or tuple(inspect.signature(self.function).parameters)
        unknown = [a for a in self.arguments if a not in SYMBOLS]
        if unknown:
            raise TypeError(f"{self.name}: no symbol is declared for {', '.join(unknown)}")

    def __repr__(self) -> str:
        return f"Formula({self.name!r}, {self.provenance})"

    @functools.cached_property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """The sympy symbols of the arguments, by name."""
        return {a: symbol(a) for a in self.arguments}

    @functools.cached_property
    def expr(self) -> sympy.Expr | None:
        """The formula in sympy; None for a statement of a paper whose formula could not be had.

        Its symbols carry assumptions (sizes are positive), so that a `sympy.Symbol("V")` of one's own is another
        symbol, and `expr.subs("V", 10)` leaves the expression as it is. `symbols` has those that match:

        >>> from recall_theory.theory import formulas
        >>> law = formulas["law.recall.coverage"]
        >>> law.expr, law.expr.subs(law.symbols["V"], 10)
        (V*log(V), 10*log(10))
        """
        import sympy

        value = self.function(**self.symbols)
        return None if value is None else sympy.sympify(value)

    @property
    def domain(self) -> dict[str, str]:
        """Where each argument may lie, in words."""
        return {a: SYMBOLS[a].domain for a in self.arguments}

    def _expression(self) -> sympy.Expr:
        if self.expr is None:
            raise ValueError(f"{self.name} has no expression: {self.regime}")
        return self.expr

    @functools.cached_property
    def terms(self) -> dict[str, sympy.Expr]:
        """The summands of the expression, each by its own text."""
        import sympy

        return {str(t): t for t in sympy.Add.make_args(self._expression())}

    def __call__(self, **values: Real) -> Real:
        """The formula in floating point; arguments are numbers or arrays that broadcast."""
        self._check(values)
        return self.function(**values)

    def _check(self, values: Mapping[str, Real]) -> None:
        missing = [a for a in self.arguments if a not in values]
        extra = [a for a in values if a not in self.arguments]
        if missing or extra:
            raise ValueError(f"{self.name} takes {', '.join(self.arguments)}"
                             + (f"; missing: {', '.join(missing)}" if missing else "")
                             + (f"; unknown: {', '.join(extra)}" if extra else ""))

    def latex(self) -> str:
        """The expression as LaTeX, with the symbols of the field."""
        import sympy

        names = {s: SYMBOLS[a].latex for a, s in self.symbols.items()}
        return str(sympy.latex(self._expression(), symbol_names=names))

    def python(self) -> str:
        """The expression as Python source: of the standard library's `math` alone where it has the functions,
        else of `scipy.special`."""
        from sympy.printing.pycode import PythonCodePrinter

        class Printer(PythonCodePrinter):  # type: ignore[misc]
            def _print_EulerGamma(self, expression: sympy.Expr) -> str:
                return repr(float(expression))

        in_scipy = {name: [(lambda argument: True, text.format)] for name, text in IN_SCIPY.items()}
        return str(Printer({"user_functions": in_scipy}).doprint(self._expression()))

    def evaluate(self, dps: int = 50, **values: Real) -> Real:
        """The value to `dps` digits, as an mpmath number; floats count as the exact binary they are."""
        import mpmath

        self._check(values)
        with mpmath.workdps(dps + 15):  # guard digits: differences of large terms lose some
            exact = [mpmath.mpmathify(values[a]) for a in self.arguments]
            value = mpmath.mpmathify(self.lambdify("mpmath")(*exact))
        with mpmath.workdps(dps):
            return +value

    @functools.cache  # noqa: B019  # formulas live as long as the registry
    def lambdify(self, backend: str = "scipy") -> Callable[..., Real]:
        """A function of the arguments, in their order. "scipy" (arrays, special functions), "numpy"
        (the same: plain numpy breaks special functions on arrays), "mpmath" or "math"."""
        import sympy

        from .generic import lambert_w

        own = {"LambertW": lambert_w}  # real, where SciPy's is complex
        modules = {"scipy": [own, "scipy", "numpy"], "numpy": [own, "scipy", "numpy"],
                   "mpmath": "mpmath", "math": [own, "math"]}.get(backend)
        if modules is None:
            raise ValueError(f"backend={backend!r} is not one of scipy, numpy, mpmath, math")
        expression = self._expression()
        # common parts are computed once, but for what a case that does not apply has no value of
        function: Callable[..., Real] = sympy.lambdify(list(self.symbols.values()), expression, modules=modules,
                                                       cse=not expression.has(sympy.Piecewise))
        return function

    def solve_for(self, name: str, value: Any = None) -> list[sympy.Expr]:
        """The positive solutions for one argument of `formula == value`, a number or a sympy expression (a symbol `y`
        by default); ValueError for any other value."""
        import sympy

        if name not in self.symbols:
            raise ValueError(f"{self.name} has no argument {name!r}; it has {', '.join(self.arguments)}")
        if not (value is None or isinstance(value, numbers.Number | sympy.Expr)):  # sympify would run a string
            raise ValueError(f"value={value!r} is neither a number nor a sympy expression")
        target = sympy.Symbol("y", positive=True) if value is None else sympy.sympify(value)
        free = sympy.Symbol(name, positive=True)  # solutions are sought over the positive reals
        expression = self._expression().subs(self.symbols[name], free)
        equation = expression - target
        for w in expression.atoms(sympy.LambertW):
            if expression == w.args[0] / w:  # u/W(u) = y, which sympy leaves alone, is u = y ln y
                equation = w.args[0] - target * sympy.log(target)
        return [s for s in sympy.solve(equation, free) if s.is_positive is not False]

    def to_dict(self) -> dict[str, Any]:
        """All that is known of the formula, for JSON."""
        named = ("name", "title", "provenance", "reference", "source", "quote", "regime", "limits", "unit")
        known = self.expr is not None
        return {**{name: getattr(self, name) for name in named},
                "symbols": {a: dataclasses.asdict(SYMBOLS[a]) for a in self.arguments},
                "expression": str(self.expr) if known else None, "latex": self.latex() if known else None,
                "python": self.python() if known else None}


@functools.cache
def symbol(name: str) -> sympy.Symbol:
    """The sympy symbol of a declared name; all formulas share it."""
    import sympy

    info = SYMBOLS[name]
    if info.domain == "real":
        return sympy.Symbol(name, real=True)
    # Sizes are declared positive, not integer: one differentiates and solves for them.
    return sympy.Symbol(name, positive=True) if info.positive else sympy.Symbol(name, nonnegative=True)


class Registry(Mapping[str, Formula]):
    """All formulas by name. Modules are imported when the registry is first read."""

    def __init__(self) -> None:
        self._formulas: dict[str, Formula] = {}
        self._loaded = False

    def add(self, item: Formula) -> None:
        """Put a formula on record; a name serves once."""
        if item.name in self._formulas:
            raise ValueError(f"a formula named {item.name!r} exists already")
        self._formulas[item.name] = item

    def _load(self) -> dict[str, Formula]:
        if not self._loaded:
            self._loaded = True
            for module in MODULES:
                importlib.import_module("." + module, __package__)
        return self._formulas

    def __getitem__(self, name: str) -> Formula:
        if name not in self._load():
            raise KeyError(f"no formula is named {name!r}; near it: {', '.join(self.near(name)) or 'none'}")
        return self._formulas[name]

    def near(self, name: str) -> list[str]:
        """Up to three names of formulas that are like this one, or hold it."""
        names = list(self)
        return (difflib.get_close_matches(name, names, n=3, cutoff=2 / 5)
                or [n for n in names if name and name.lower() in n][:3])

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def __len__(self) -> int:
        return len(self._load())


formulas = Registry()


def formula(name: str, title: str, *, provenance: Provenance = "derived", reference: str, regime: str,
            limits: str = "", unit: str = "", of: type | None = None,
            arguments: str = "") -> Callable[[Function], Function]:
    """Register the decorated function as a formula; the function itself comes back unchanged.

    A function of one argument, the dataclass `of`, is a formula of the fields that `arguments` names. What the formulas
    of a page have in common is given once, with `functools.partial`.
    """

    def register(function: Function) -> Function:
        def of_fields(**values: Real) -> Real:
            """Fields that it does not need may be left out."""
            needed = [f.name for f in dataclasses.fields(of) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
            return function(of(**{**dict.fromkeys(needed), **values}))  # type: ignore[misc]

        formulas.add(Formula(function if of is None else of_fields, name, title, provenance, reference, regime, limits,
                             unit, arguments=tuple(arguments.split())))
        return function

    return register
