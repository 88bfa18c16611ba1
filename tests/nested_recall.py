"""Recall at a seed by plain nested quadrature: every node against every kind of competitor, no grid.

The slow form of `recall_theory.theory.recall_given_seed.compete`. It starts from the same facts and weights, and
sums over the share of right attention, the count, the length and the noise of the label's output as
docs/derivations/recall.md writes them, each competitor at its node's gain.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from recall_theory.numerics.quadrature import gauss_gamma, gauss_poisson
from recall_theory.numerics.unit_sphere import peizer_pratt_scale
from recall_theory.theory.competitors import _tilted_score
from recall_theory.theory.correct_label import square_spread
from recall_theory.theory.fact import FLOOR, weights
from recall_theory.theory.training_attention import attended_share


def nested(seeds, groups, facts, n_above=3, n_own=9, n_length=3, n_count=11, n_noise=49):
    """recall and E[share recall], each (R,)."""
    w = weights(seeds, groups, facts)
    x = np.linspace(-6, 6, n_noise)
    w_x = np.exp(-x * x / 2)
    w_x /= w_x.sum()
    out = np.zeros((2, len(seeds.V)))
    share, w_share = attended_share(seeds, facts.zeta, n_above)
    count, w_count = gauss_poisson(seeds.lam[:, None, None] * share, n_own)
    n_right, w_right = gauss_poisson(seeds.lam[:, None] * groups.share, n_count)
    for r, f, a, n in np.ndindex(count.shape):
        V, d, lam = seeds.V[r], seeds.d[r], seeds.lam[r]
        noise = max(V - 2, 1) * w.square[r, f]
        lead = (count[r, f, a, n] / lam * facts.s[r, f] - w.mean[r, f]
                + (1 - share[r, f, a]) * groups.wrong[r, 0] * facts.alpha[r, f]) * (1 - 1 / V)
        power = noise + lead**2 / V
        typical = noise / (noise + max(facts.s[r, f] - facts.t[r, f], 0) ** 2)
        length = square_spread(lam, facts.t[r, f], facts.s[r, f] / d) / V * typical**2
        missed = 1 - share[r, f, a] - (groups.weight[r] * (1 - groups.share[r])).sum()
        wider = np.sqrt(1 + d * w.common_pick[r, f] * missed**2 / power)
        stretch, w_stretch = gauss_gamma(2 / d + length, n_length)
        if seeds.sphere:
            D = peizer_pratt_scale(d)
            rho = lead / np.sqrt(power * stretch)[:, None]
            own = np.sign(x) * np.sqrt(-np.expm1(-x * x / D)) * wider
            size = np.sqrt(np.maximum(rho**2 + 1 + 2 * rho * own, 1e-9))
            cosine = (rho + own) / size
            score = np.sign(cosine) * np.sqrt(-D * np.log1p(-np.minimum(cosine**2, 1 - 1e-15)))
            gain = np.sqrt(stretch / power)[:, None] * (1 + rho * own) / size * d / (d - 1)
        else:
            chi = (np.sqrt(d * stretch) * (1 + length / 2))[:, None]
            score = (chi * lead + np.sqrt(power) * wider * x) / np.sqrt(power + lead**2)
            gain = (chi - lead / np.sqrt(power) * x) / np.sqrt(power + lead**2)
        mass = w_stretch[:, None] * w_x * facts.weight[r, f] * w_share[r, f, a] * w_count[r, f, a, n]
        below = np.zeros_like(score)
        for c, k in np.ndindex(n_right.shape[1:]):
            right = n_right[r, c, k] / lam
            theta = right * w.bias[r, f, c] + w.rest[r, f, c] - w.mean[r, f] - lead / V
            varies = right**2 * w.spread[r, f, c] + w.rest_variance[r, f, c]
            if seeds.sphere:
                z = _tilted_score(score, gain * theta, gain**2 * varies, np.array(D), np.array(-6 / (d + 2)))
            else:
                left = max(1 - (theta**2 + varies) / noise, FLOOR)
                z = (score - gain * theta) / np.sqrt(left + gain**2 * varies)
            below += groups.weight[r, c] * w_right[r, c, k] * ndtr(z)
        win = (mass * np.exp((V - 1) * np.log(np.clip(below, 1e-300, 1)))).sum()
        out[0, r] += win
        out[1, r] += win * share[r, f, a]
    return out
