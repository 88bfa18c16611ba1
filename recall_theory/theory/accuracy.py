"""`Accuracy`: how finely the theory computes. Every number that decides a value without being derived is here."""

from __future__ import annotations

import dataclasses
import math

__all__ = ["DEFAULT", "LAW", "SEED_ROUNDING", "Accuracy"]

SEED_ROUNDING = 2**-40  # seeds that differ by less, relative to what differs, differ by rounding alone
LAW = 39  # the version of what is predicted, in every JSON with predictions: raised whenever an observable moves


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Node counts of the quadratures and the switches between rules, each with what it is for.

    Whole numbers are counts of nodes, which `doubled` doubles; fractions are switches and ends.

    >>> Accuracy().doubled().tau_nodes
    10
    """

    # the law of a seed, for attention
    tau_nodes: int = 5  # of |z_trig|^2, a gamma variable
    scale_nodes: int = 3  # of the length of the label noise, a gamma variable of small spread
    spread_nodes: int = 4  # of the spread of the label counts, another
    noise_nodes: int = 5  # of the tokens' squared noise, a lognormal variable
    lead_nodes: int = 16  # of the lead on either side of 0: Gauss-Legendre over its normal density
    ahead_nodes: int = 9  # of the snr at each tau, where the lead is positive
    behind_nodes: int = 4  # of the snr at each tau, where it is negative and attention is small
    score_steps: int = 8  # steps a standard deviation of a token's score
    # the seeds at which recall is computed
    seed_tau: int = 3  # of |z_trig|^2
    seed_ahead: int = 4  # of the snr at each tau, where the lead is positive; on the sphere, of one tau, twice as many
    seed_behind: int = 1  # of the snr at each tau, where it is negative
    # a fact
    score: int = 5  # its token's attention score, where a few tokens outrank it; half in long sequences
    score_below: int = 1  # the same where many do
    score_above: int = 3  # and where next to none does; half in long sequences
    score_top: int = 3  # the highest score of all tokens, where sequences are long
    trigger: int = 3  # its overlap with the trigger, or half as many beside its score
    length: int = 2  # the rest of its squared norm, more at `small` sizes as of `chi`, `power`, `overlap` and `gain`
    signal: int = 3  # of facts alike in score and of the neurons' draw, over their signal to noise; one less in long
    # sequences, which have nodes of their own beside, from a quarter of `small` tokens and dimensions on, but where an
    # MLP's neurons tell more dimensions apart than there are tokens
    outranking: int = 6  # tokens that outrank its own
    count: int = 5  # its training samples, of which there are on average `few` or more
    few_count: int = 8  # the same where there are fewer
    common: int = 3  # its overlap with what most wrong picks attend to, if sequences are long; half with the trigger
    strength: int = 6  # its own strength, which shares and counts of samples decide; counts far apart are nodes each
    # the kernel of the neurons
    neuron_input: int = 6  # a neuron's input along the value read out, on each side of 0; twice that between kinks
    neuron_smooth: int = 24  # the same in all, for an activation without kinks
    neuron_polynomial: int = 8  # the same for each degree of a polynomial, up to the third
    neuron_beside: int = 4  # its input beside that, through the trigger
    neuron_length: int = 3  # the length of its weights, a gamma variable
    neuron_other: int = 24  # its input from another value, on each piece between kinks
    neuron_steps: int = 4  # steps a standard deviation of the table of moments over that input, which a cubic joins
    neuron_laplace: int = 10  # the integral that divides by the own value, by its powers up to the fourth
    neuron_ratio: int = 3  # the fluctuation over weights of the noise's power in units of the own value
    neuron_mean: int = 2  # that of the mean, given the power; one node more of both below `narrow`, as below
    # the correct label
    chi: int = 2  # length of the sum of the output embeddings; one more on the sphere
    power: int = 2  # total strength of the competitors; where attention is not sure, fewer more at `small` sizes
    noise: int = 8  # noise of its own output, between where it loses and where it wins
    # the competitors
    classes: int = 5  # of labels by their share of right attention, beside four near 0 and 1
    class_score: int = 18  # attention score of a label's token, from which classes are made
    class_above: int = 4  # tokens that outrank it
    competitor: int = 4  # training samples
    kind: int = 6  # of them, over the classes: means and variances of strengths at so many counts
    few_competitor: int = 6  # the same where there are few
    tail: int = 12  # variance of its strength, a lognormal variable, where single neurons give strengths heavy tails;
    # fewer where it is narrow
    logit: int = 6  # points over the correct label's logit, twice that where competitors have tails; between any two
    # there is one more by interpolation
    gain: int = 3  # points over a competitor's gain; two more at `sharp` counts
    # the variance over seeds
    overlap: int = 3  # of the overlap of two facts
    angle: int = 8  # of the arc over which a bivariate normal law is summed
    pair: int = 20  # points over a fact's score
    cells: int = 4  # into which nodes are sorted, a step between these points
    # what a wrongly attended token answers
    rank: int = 12  # of the token; all of them in a vocabulary of up to twice as many
    answer: int = 32  # points over the logit that answers
    answer_count: int = 2  # training samples of another label
    answer_trigger: int = 2  # the token's overlap with the trigger

    # finite rates: a setting's seeds, their softmax, and what is read out
    soft_tau: int = 2  # of |z_trig|^2
    soft_lead: int = 2  # of the lead at each of them; twice as many where attention is not sure
    soft_query: int = 2  # of |z_EOS|^2, which scales all attention logits
    soft_cells: int = 96  # of a token's score, on each of which its density is constant
    soft_table: int = 200  # points over the logarithm of a rate, between which tables are linear
    soft_gumbel: int = 40  # points over a Gumbel variable
    soft_vocabulary: int = 3  # of the sum over the vocabulary, which differs from seed to seed
    soft_others: int = 64  # tokens that outdo a logit, each counted where there are few
    soft_classes: int = 20  # of labels by their mean weight, which is spread where attention is soft
    soft_kind: int = 4  # of competing labels at each count, over these classes
    soft_score: int = 4  # a fact's attention score
    soft_trigger: int = 2  # its overlap with the trigger
    soft_top: int = 2  # the greatest score among the noise of a fresh sequence
    soft_rest: int = 1  # the sum of what the others add

    # orthogonal embeddings
    orthogonal_labels: int = 4  # the sum over labels that moves the scores' variance
    orthogonal_lead: int = 6  # the lead on either side of 0, given the label counts
    orthogonal_trigger: int = 12  # the weight of the trigger's direction, where d = V
    orthogonal_fact: int = 61  # points over a fact's score in attention
    orthogonal_ratio: int = 8  # the lead where recall is averaged over it
    orthogonal_top: int = 7  # the greatest score
    orthogonal_score: int = 16  # a token's score, on either side of what the greatest outranks
    orthogonal_ranks: int = 6  # ranks told apart; tokens below share the rest
    orthogonal_cells: int = 4  # cells of counts a standard deviation, where they are too many to sum over
    orthogonal_sum: int = 6  # frequencies at which the sum of all counts is held to N
    orthogonal_overlap: int = 4  # a token's overlap with the trigger, where d = V

    orthogonal_certain: float = 2**-40  # share missed by attention below which its spread is 0
    orthogonal_sure: float = 1e-6  # the same below which recall is as if none were
    hard: float = 1e-7  # mean of a (1 - a) over attention weights, below which they count as 0 and 1
    reach: float = 7.0  # standard deviations to which normal variables are integrated
    neuron_tilt: float = 24.0  # where that integral ends: draws of less than a 24th of the usual own value, which would
    # decide alone where neurons are few, count as if they had that
    narrow: float = 128.0  # neurons, below which that gets a node more of either kind, if attention is sure
    steady: float = 0.25  # relative variance of that power, below which it gets a node less
    many_ahead: float = 8.0  # tokens of a sequence's noise that outrank a score, from which on it is never attended to
    few_ahead: float = 0.02  # the same below which it always is
    rare: float = 1e-4  # weight of a score, or of a seed at which recall is computed, below which its node is left out
    light: float = 0.05  # weight of a seed, up to which it has a node less over the top score; two, up to a tenth of it
    lone: float = 3e-4  # weight of facts of one score and their seed, below which they are one fact, at one overlap
    slight: float = 1e-3  # weight of a fact and its seed, below which the fact's table and lengths are `coarse`
    negligible: float = 3e-7  # the same with a node over its samples, below which that node answers as a heavier one
    few: float = 24.0  # training samples of a fact, below which counts get the nodes of `few_count`
    widest: float = 8.0  # times as many nodes over counts, at most, where these are spread over several logits
    wide: float = 1024.0  # dimensions a token, beyond which embeddings are as good as orthogonal in step three
    small: float = 64.0  # tokens or dimensions, below which what fluctuates with them gets a node more, as below
    # a half and a quarter of it
    tailless: float = 0.02  # excess kurtosis of a competitor's logit below which there is one variance
    apart: float = 0.5  # logits between a competitor's neighbouring counts, from which on each count is a kind
    sharp: float = 1.0  # logits between a fact's own neighbouring counts, the same where there are `few`; between a
    # competitor's, from which on there are twice as many points over the logit
    last_count: float = 1e-7  # chance of more training samples than are counted each
    sure: float = 1e-4  # share missed by attention below which training counts as attended rightly
    almost: float = 0.025  # share missed below which scores get half their nodes where few tokens are ahead, or none,
    # and what wrong picks answer
    nearly: float = 0.005  # share missed below which the lead ahead of 0 gets half its nodes where recall is computed,
    # but in long sequences, where few seeds may miss all of it

    def points_over_logit(self, ratio: float, times: float = 1) -> int:
        """As many as d/V = ratio asks for, times that, in twos."""
        return 2 * math.ceil(self.logit / 2 * math.sqrt(1 + ratio) * times)

    def coarse(self) -> Accuracy:
        """The same with half as many points over the logit, and two thirds over the gain and of nodes over lengths."""
        fewer = {name: math.ceil(getattr(self, name) * 2 / 3) for name in ("gain", "chi", "power")}
        return dataclasses.replace(self, logit=math.ceil(self.logit / 2), **fewer)

    def doubled(self, *names: str) -> Accuracy:
        """The same with twice as many nodes of every kind, or of those whose names begin like these."""
        return self._with_counts(2, names or ("",))

    def halved(self) -> Accuracy:
        """The same with half as many, for guesses: orthogonal embeddings' recall, by 0.001 on average and 0.01 at most
        of 60 drawn settings, in a quarter of the time."""
        return self._with_counts(1 / 2, ("",))

    def _with_counts(self, times: float, names: tuple[str, ...]) -> Accuracy:
        counts = [f.name for f in dataclasses.fields(self) if f.type == "int" and f.name.startswith(names)]
        return dataclasses.replace(self, **{name: max(1, int(times * getattr(self, name))) for name in counts})


DEFAULT = Accuracy()
