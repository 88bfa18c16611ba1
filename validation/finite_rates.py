"""Draw settings at finite eta*gamma, simulate them, and lay the predictions of finite rates beside what was seen.

    python -m validation.finite_rates observe development|test|fresh|latest|first_37|last_37|hot_38 [--seconds 4]
    python -m validation.finite_rates compare development|test|fresh|latest|first_37|last_37|hot_38

Two sets are drawn before any prediction of finite rates is looked at: one of 40 settings to develop with, one of 80
that nobody looks at until the law is written down. The first look at those showed an error, which was mended; the
fresh set of 60 was drawn after that, and the latest after law 11. The first under law 37 showed one more error, in long
sequences; the last, drawn after it was mended, is what says how good the law is. Sizes are log-uniform: V 16 to 1,024,
L 2 to 256, d 8 to 384, N/V 1 to 500 and, in one setting of five, m 32 to 1,024; embeddings are gaussian or sphere in
turn, with the trigger in the values or in the keys alone; beta*T is log-uniform from 0.5 to 15, T being the leading
term of the trigger's score. The hot set has it from 15 to 1,500, without an MLP, and only where attention misses more
than a hundredth in the limit: there predictions up to law 37 went astray, which none of the others showed.
A setting whose recall in the limit is predicted within 0.03 of 0 or 1 says little and is drawn again, and so is one
that takes long (N L above 2 10^6, N L d above 6 10^8 or N m d above 3 10^8).

Seeds of a setting follow until the standard errors of recall and accuracy are below 0.002 or its time is over. An
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from recall_theory import Setting, predict
from recall_theory.simulate.run import observe_seed
from validation.draw import DULL, SMOOTH, log_uniform

FOLDER = Path(__file__).parent
# settings, and the seed that draws them
SETS = {"development": (40, 1511), "test": (80, 1512), "fresh": (60, 1513), "latest": (60, 1616),
        "first_37": (90, 1717), "last_37": (90, 1818), "hot_38": (60, 1919)}
ENOUGH, FEWEST, BATCH = 0.002, 32, 16
N_TEST = 1024
ETA = 1e-9
OBSERVED = ("attention", "recall", "accuracy", "attention_weight")


def lead(setting: Setting) -> float:
    """T = (1 - 1/L)/L^2 (1/V + e/N) + (1 - 1/L)/(N L d), the trigger's score at typical embeddings."""
    V, L, d, N, e = setting.V, setting.L, setting.d, setting.N, int(setting.trigger_in_value)
    return (1 - 1 / L) * ((1 / V + e / N) / L**2 + 1 / (N * L * d))


def drawn(name: str) -> list[tuple[Setting, float]]:
    """The settings of a set with their beta*T, from its seed alone."""
    number, seed = SETS[name]
    hot = name == "hot_38"
    rng = np.random.default_rng(seed)
    found: list[tuple[Setting, float]] = []
    while len(found) < number:
        turn = len(found)
        V, L, d = (log_uniform(rng, *ends) for ends in ((16, 1024), (2, 256), (8, 384)))
        N = max(1, round(V * float(np.exp(rng.uniform(0, np.log(500))))))
        mlp: dict[str, Any] = {}
        if turn % 5 == 4 and not hot:
            mlp = {"m": log_uniform(rng, 32, 1024), "activation": SMOOTH[turn // 5 % len(SMOOTH)]}
        limit = Setting(V=V, L=L, d=d, N=N, embedding=("gaussian", "sphere")[turn % 2],
                        trigger_in_value=turn // 2 % 2 == 0, **mlp)
        beta_lead = float(np.exp(rng.uniform(*np.log((15, 1500) if hot else (0.5, 15)))))
        if N * L > 2e6 or N * L * d > 6e8 or N * (limit.m or 0) * d > 3e8:
            continue
        in_limit = predict(limit)
        if DULL < in_limit.recall < 1 - DULL and (in_limit.attention < 0.99 or not hot):
            found.append((limit.replace(eta=ETA, gamma=beta_lead / lead(limit) / ETA), beta_lead))
    return found


def observed(setting: Setting, seed: int, seconds: float) -> dict[str, Any]:
    """Seeds, and mean, standard error and spread of each observable."""
    started = time.process_time()
    rows: list[tuple[float, ...]] = []
    while True:
        rows += [observe_seed(setting, seed, index, N_TEST) for index in range(len(rows), len(rows) + BATCH)]
        values = np.array(rows).T
        std, n = values.std(axis=1, ddof=1), len(rows)
        sharp = n >= FEWEST and max(std[1], std[2]) / n**0.5 < ENOUGH
        if sharp or time.process_time() - started > seconds:
            return {"seeds": n, **{o: {"mean": float(m), "se": float(s) / n**0.5, "std": float(s)}
                                   for o, m, s in zip(OBSERVED, values.mean(axis=1), std, strict=True)}}


def observe(name: str, seconds: float) -> None:
    """Simulate what is not there yet of a set."""
    path = FOLDER / f"finite_rates_{name}.json"
    done = json.loads(path.read_text()) if path.exists() else []
    for number, (setting, beta_lead) in enumerate(drawn(name)):
        if number >= len(done):
            seen = observed(setting, SETS[name][1] * 1000 + number, seconds)
            done.append({"setting": setting.to_dict(), "beta_lead": beta_lead, "observed": seen})
            path.write_text(json.dumps(done, indent=1) + "\n")
            print(number, setting.describe(), f"seeds {seen['seeds']}", flush=True)


def compare(name: str) -> None:
    """Predictions less what was seen, beyond the simulation's own error, in the mean and at most; with an MLP there are
    none. The summary goes beside the observations."""
    rows = json.loads((FOLDER / f"finite_rates_{name}.json").read_text())
    differences: dict[str, list[float]] = {o: [] for o in OBSERVED}
    errors: dict[str, list[float]] = {o: [] for o in OBSERVED}
    checked: list[bool] = []
    for row in rows:
        setting = Setting(**row["setting"])
        if setting.m is not None:
            continue
        p = predict(setting)
        checked.append(p.checked)
        for o in OBSERVED:
            seen, expected = row["observed"][o], getattr(p, o)
            differences[o].append(expected - seen["mean"])
            errors[o].append(max(0.0, abs(expected - seen["mean"]) - 2 * seen["se"]))
            print(f"{o:17} {expected:.4f} {seen['mean']:.4f} +- {seen['se']:.4f} {errors[o][-1]:.4f}  "
                  f"{setting.describe()}, beta T = {row['beta_lead']:.3g}")
    path = FOLDER / "finite_rates_compared.json"
    compared = json.loads(path.read_text()) if path.exists() else {}
    for where, chosen in (("checked", np.array(checked)), ("elsewhere", ~np.array(checked))):
        compared[f"{name}, {where}"] = {o: {
            "settings": int(chosen.sum()), "bias": round(float(np.array(differences[o])[chosen].mean()), 4),
            "mean_excess": round(float(np.array(errors[o])[chosen].mean()), 4),
            "largest_excess": round(float(np.array(errors[o])[chosen].max()), 4)} for o in OBSERVED}
    path.write_text(json.dumps(dict(sorted(compared.items())), indent=1) + "\n")
    print(json.dumps({key: found for key, found in compared.items() if key.startswith(name)}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("observe", "compare"))
    parser.add_argument("set", choices=tuple(SETS))
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    if options.action == "observe":
        observe(options.set, options.seconds)
    else:
        compare(options.set)


if __name__ == "__main__":
    main()
