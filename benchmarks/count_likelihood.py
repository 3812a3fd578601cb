"""Likelihoods of known numbers of positives beside forward-backward: ``python benchmarks/count_likelihood.py``.

The protocol, for one thread, float64 and standard normal features:

- Bags: 10,000 of 100 rows with 50 features, and one of 1,000,000 rows with scores alone. Numbers of positives are those
  of labels that are drawn from the model at other weights; "at least one" is what is known of the same bags in the
  third row. One evaluation is the value and its gradient: of the weights where there are features, else of the scores.
- Rival: forward-backward over the bag (Numba), which is what the likelihood is usually computed by: O(m count) time and
  memory. It is compiled and timed on the same scores, and on the first 10,000 rows of the large bag, where its
  log-probability and posteriors are also what ours are compared with.
- Times: seconds of the processor, medians of ``--rounds`` that take turns; compilation is left out.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from scipy.special import expit

from setwise.core.batch import Sets
from setwise.losses import CountRange
from setwise.models import RowModel
from setwise.probabilistic import AllowedPartition, CountLikelihood
from setwise.risks import MeanRisk


@njit(cache=True)
def forward_backward(q: Any, count: int, posterior: Any) -> float:
    """Returns ``Pr(count)`` of independent decisions and writes the posteriors, by two tables of the counts."""
    m = len(q)
    ahead = np.zeros((m + 1, count + 1))
    ahead[0, 0] = 1.0
    for i in range(m):
        p, rest = q[i], 1.0 - q[i]
        ahead[i + 1, 0] = rest * ahead[i, 0]
        for c in range(1, min(i + 1, count) + 1):
            ahead[i + 1, c] = rest * ahead[i, c] + p * ahead[i, c - 1]
    behind, total = np.zeros(count + 1), ahead[m, count]
    behind[0] = 1.0
    for i in range(m - 1, -1, -1):
        p, rest, found = q[i], 1.0 - q[i], 0.0
        for c in range(count):
            found += ahead[i, c] * behind[count - 1 - c]
        posterior[i] = p * found / total
        for c in range(min(m - i, count), 0, -1):
            behind[c] = rest * behind[c] + p * behind[c - 1]
        behind[0] *= rest
    return float(total)


def seconds(run: Callable[[], object]) -> float:
    """The seconds of the processor of one call."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def medians(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each, in turns."""
    for run in runs.values():
        run()
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(seconds(run))
    return {name: statistics.median(each) for name, each in found.items()}


def many_bags(rng: np.random.Generator, rounds: int) -> None:
    """10,000 bags of 100 rows with 50 features."""
    bags, size, d = 10_000, 100, 50
    X, offsets = rng.standard_normal((bags * size, d)), np.arange(bags + 1) * size
    truth, w = rng.standard_normal((2, d + 1)) / np.sqrt(d)
    truth[-1] = w[-1] = -1.0
    y = rng.random(len(X)) < expit(X @ truth[:-1] + truth[-1])
    counts = np.add.reduceat(y.astype(np.int64), offsets[:-1])
    sets = Sets(np.full(len(X), -1, dtype=np.int8), offsets)
    exact, least = (MeanRisk(RowModel(X, offsets), CountLikelihood(loss).on(sets)) for loss in (
        CountRange(counts, counts), CountRange((counts > 0).astype(np.int64), np.where(counts > 0, size, 0)),
    ))  # fmt: skip
    scores, out = X @ w[:-1] + w[-1], np.empty(size)
    q = expit(scores)

    def rival() -> None:
        for b in range(bags):
            forward_backward(q[offsets[b] : offsets[b + 1]], int(counts[b]), out)

    evaluator = AllowedPartition(CountRange(counts, counts).bind(sets).zero())
    found = medians(
        {
            "value and gradient of the weights, counts": lambda: exact.cut(w),
            "value and gradient of the weights, at least one": lambda: least.cut(w),
            "log-partition and posteriors of scores": lambda: evaluator(scores),
            "forward-backward, scores": rival,
        },
        rounds,
    )
    print(f"{bags:,} bags of {size} rows x {d} features, seconds")
    for name, each in found.items():
        print(f"  {name:50} {each:.3f}")


def one_bag(rng: np.random.Generator, rounds: int) -> None:
    """A bag of a million rows, and its first 10,000 beside forward-backward."""
    scores = 1.5 * rng.standard_normal(1_000_000) - 1.0
    for size in (10_000, 1_000_000):
        s = scores[:size]
        count = int((rng.random(size) < expit(s + 0.2)).sum())
        likelihood = CountLikelihood(CountRange(count, count)).on(Sets(np.full(size, -1, np.int8), np.array([0, size])))
        found = medians({"ours": lambda likelihood=likelihood, s=s: likelihood(s)}, rounds)["ours"]
        print(f"one bag of {size:,} rows with {count:,} positives: {found:.3f} s")
        if size > 10_000:
            continue
        posterior, q = np.empty(size), expit(s)
        total = forward_backward(q, count, posterior)
        taken = seconds(lambda q=q, count=count, posterior=posterior: forward_backward(q, count, posterior))
        ours = likelihood(s)
        print(
            f"  forward-backward {taken:.3f} s; ours differs by {abs(ours.values[0] + np.log(total)):.1e} in the "
            f"log-likelihood and by {np.abs(q - ours.gradient - posterior).max():.1e} in the posteriors"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    many_bags(rng, rounds)
    one_bag(rng, rounds)


if __name__ == "__main__":
    main()
