"""
One set over many machines
==========================

The F1 of a data set is not the mean of the F1 of its parts. ``setwise.dask`` trains for the F1 of all rows, however
they are spread over workers. The left picture compares its weights, and the mean of models of the parts, with those of
one process. The right one shows the time of an iteration by the number of partitions.
"""

# %%
# Rows in one place
# -----------------
# The rows come from four sites, one after another, with fewer and fewer positives. So each partition has rows of one or
# two sites, and models of the parts are trained for the F1 of other problems.

from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score

import setwise
from setwise.dask import SetClassifier

rng = np.random.default_rng(0)
n = 40_000
X = rng.standard_normal((n, 5))
least = np.repeat([0.3, 0.7, 1.1, 1.5], n // 4)
y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.standard_normal(n) > least
print("positives at the sites:", y.reshape(4, -1).mean(axis=1).round(3))

options = {"loss": "f1", "surrogate": "convex", "C": 1000.0, "tol": 1e-6}
here = setwise.SetClassifier(**options).fit(X, y)
print(f"{here.status_} after {here.n_iter_} iterations, F1 {here.score(X, y):.4f}")
print(f"{1e3 * here.history_['seconds'][-1] / here.n_iter_:.1f} ms for an iteration")

# %%
# The same rows on workers
# ------------------------
# Here the cluster has two workers, which are threads of this process. With a client for other machines, nothing else
# changes. In each iteration a fit asks all partitions for their parts of one plane, and it ends at the same certified
# gap. The alternative is to train the same model on each partition alone and to average the weights, which avoids
# communication.


def as_vector(model):
    """The weights and the intercept."""
    return np.append(model.coef_[0], model.intercept_)


counts, scores = [2, 4, 8, 16, 32, 64], {}
differences, times = {"cluster": [], "mean of the parts": []}, []
with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
    for count in counts:
        rows = da.from_array(X, chunks=(n // count, -1)).persist()
        labels = da.from_array(y, chunks=n // count).persist()
        model, begin = SetClassifier(**options, client=client), perf_counter()
        model.fit(rows, labels)
        times.append((perf_counter() - begin) / model.n_iter_)
        parts = zip(np.split(X, count), np.split(y, count), strict=True)
        alone = [setwise.SetClassifier(**options).fit(*part) for part in parts]
        mean = np.mean([as_vector(part) for part in alone], axis=0)
        for name, w in {"cluster": as_vector(model), "mean of the parts": mean}.items():
            differences[name].append(np.abs(w - as_vector(here)).max())
            scores[name] = f1_score(y, X @ w[:-1] + w[-1] > 0)
        print(f"{count:2} partitions, {model.n_iter_} iterations: weights differ by ", end="")
        print(*(f"{found[-1]:.0e} ({name})" for name, found in differences.items()))
print(f"largest weight: {np.abs(as_vector(here)).max():.1f}")
print("F1 of all rows:", {name: round(value, 4) for name, value in scores.items()})

fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
for (name, found), color in zip(differences.items(), ("#2a7fb8", "#d1495b"), strict=True):
    panels[0].loglog(counts, found, "o-", color=color, label=name)
panels[0].set_ylabel("largest difference of a weight")
panels[0].set_title("The cluster finds the same weights")
panels[0].legend(loc="center right", bbox_to_anchor=(1.0, 0.65))
panels[1].semilogx(counts, 1e3 * np.array(times), "o-", color="#2a7fb8")
panels[1].set_ylim(bottom=0.0)
panels[1].set_ylabel("milliseconds for an iteration")
panels[1].set_title("Time of an iteration (two workers)")
for panel in panels:
    panel.set_xticks(counts, counts)
    panel.minorticks_off()
    panel.set_xlabel("partitions")
fig.set_label(
    "Left: weights from the cluster differ from those of one process by 1e-8 or less, the mean of "
    "models of the parts by more than 1. Right: the time of an iteration over 2 to 64 partitions."
)

# %%
# The cluster differs from one process only because sums have another order. The mean of the parts is another model. Its
# F1 is not much smaller here, but there is no bound on what it loses.
#
# Each worker treats its partitions as one task, so the time of an iteration grows slowly with their
# number. For rows that fit into memory, as these do, one process is faster.
# :doc:`/guide/cluster` has measurements up to 30 million rows, what is sent, and files larger than
# the memory of one machine.
