"""
Is it converged?
================

A training loss that looks flat does not say how far away the optimum is. The learners for convex surrogates do: they
keep a lower bound of the minimum of the objective, and the certified gap is the distance between the bounds. The
pictures show the gap of four learners on one problem, and how many predictions can no longer change at each gap.
"""

# %%
# One problem, four learners
# --------------------------
#
# Each bag of rows is one set, and its loss is one minus the Jaccard index (IoU) of its rows. The four learners minimize
# the same convex function. An iteration of the first one reads all bags once and makes one plane. The second makes a
# plane for each bag. The other two make a step for each bag. All have 150 iterations to reach a gap of 1e-4.

import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from setwise import SetClassifier, plotting

rng = np.random.default_rng(0)
bags = np.repeat(np.arange(200), 20)


def drawn():
    """Rows of 20 features, and whether they are positive; four features count, under noise."""
    rows = rng.standard_normal((4000, 20))
    return rows, rows[:, :4] @ [1.0, -1.0, 0.5, 0.3] + 0.5 * rng.standard_normal(4000) > 0.8


X, y = drawn()
fits = {}
for learner in ("one_slack", "n_slack", "block_frank_wolfe", "subgradient"):
    model = SetClassifier("jaccard", "convex", learner, C=1000.0, tol=1e-4, max_iter=150)
    model.set_params(random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fits[learner] = model.fit(X, y, groups=bags)
    print(f"{learner}: {model.status_}, {model.n_iter_} iterations, gap {model.duality_gap_:.0e}")
    for warning in caught:
        print(f"  {warning.category.__name__}: {model.stop_reason_}")

figure = plotting.gap_curves(
    {name: fit.history_ for name, fit in fits.items()},
    tol=1e-4,
    title="A plane for each bag (n_slack) closes the gap first",
)
figure.set_label(
    "The certified relative gap of four learners over iterations, on log scales. The planes for "
    "each bag reach 1e-4 first; stochastic subgradients are still far above when they are stopped."
)

# %%
# A learner that has not converged says so in a warning, and in ``status_``, ``stop_reason_`` and ``duality_gap_``. A
# gap of .01 means that no weights have an objective that is better by more than 1 %. Iterations of different learners
# take different times; ``gap_curves(..., seconds=True)`` draws the gaps over time.
#
# Predictions that cannot change any more
# ---------------------------------------
# The gap also bounds the distance to the best weights. So a score that is far enough from 0 keeps its sign however long
# training continues. ``certain_share_`` is the share of training rows with such a score. Here the default learner stops
# at smaller and smaller gaps. The table shows the settled predictions, those that in fact differ from the ones at a gap
# of 1e-8, and the mean Jaccard index of other bags.

rows, truth = drawn()
tols = 10.0 ** np.arange(-1.0, -8.0, -1.0)
exact = SetClassifier("jaccard", "convex", C=1000.0, tol=1e-8, max_iter=5000)
last = exact.fit(X, y, groups=bags).predict(X)
gaps, settled, changed = [], [], []
print("     gap   settled   change   Jaccard index of new bags")
for tol in tols:
    model = SetClassifier("jaccard", "convex", C=1000.0, tol=tol, max_iter=5000)
    model.fit(X, y, groups=bags)
    labels, certain = model.predict(X, return_certain=True)
    differ = labels != last
    assert not (differ & certain).any()
    gaps.append(model.duality_gap_)
    settled.append(100 * model.certain_share_)
    changed.append(100 * differ.mean())
    found = model.score(rows, truth, groups=bags)
    print(f"{gaps[-1]:8.0e} {settled[-1]:8.1f} % {changed[-1]:6.1f} % {found:10.3f}")

fig, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(gaps, settled, "o-", color="#2a7fb8", label="certified: cannot change any more")
axes.plot(gaps, 100 - np.array(changed), "s--", color="#edae49", label="do not change in fact")
axes.set_xscale("log")
axes.invert_xaxis()
axes.set_xlabel("certified relative gap of the fit")
axes.set_ylabel("predictions, percent")
axes.set_title("A smaller gap settles more predictions")
axes.legend()
fig.set_label(
    "The share of predictions that are certified grows from 0 to 99 percent as the gap falls from "
    "1e-1 to 1e-7; the share that does not change in fact is near 100 percent throughout."
)

# %%
# No settled prediction has changed, and most of the others do not change either: the bound is true, but cautious. It is
# about optimization alone. The Jaccard index of new bags in the table hardly changes, because noise limits it here, not
# the gap. A small gap does not mean a good model. It only says that this objective on these rows cannot be made much
# smaller.
#
# :doc:`/how/certificates` says why the bound holds, :doc:`/guide/learners` which learner is for
# what. The ramp, a surrogate that is not convex, has only local minima and no certificate: its
# ``certain_share_`` is nan.
