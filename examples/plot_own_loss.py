"""
A loss of one's own
===================

A lot of twenty parts is inspected. A faulty part that passes costs 5, and a good part that is sorted out costs 1. At a
cost of 20 the whole lot is inspected again, so no lot costs more. Such a loss is one line of Python. The pictures show
the loss, and what lots cost if a model is trained for it or its threshold is tuned for it.
"""

# %%
# The loss, and what it promises
# ------------------------------
#
# The function takes the numbers of misses (false negatives) and false alarms (false positives) as
# arrays. Its traits decide which surrogates and searches are exact; :func:`setwise.describe` finds
# them by trying all sets of mistakes.

import textwrap

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

from setwise import MeasureClassifier, SetClassifier, describe, plotting
from setwise.core import BrokenPromise
from setwise.losses import CountFunctionLoss, Trait

lot_costs = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
print(describe(lot_costs, np.arange(12) % 3 == 0).split("Surrogates:")[0])

fn, fp = np.meshgrid(np.arange(6), np.arange(16), indexing="ij")
fig, axes = plt.subplots(figsize=(6.2, 3.0), layout="constrained")
drawn = axes.pcolormesh(fp, fn, lot_costs.f(fn, fp), cmap="viridis")
for a, b in zip(fn[:, ::3].ravel(), fp[:, ::3].ravel(), strict=True):
    color = "#fff0cf" if 5 * a + b < 12 else "#1c1246"
    axes.text(b, a, lot_costs.f(a, b), ha="center", va="center", color=color)
axes.set_xlabel("good parts sorted out")
axes.set_ylabel("faulty parts missed")
axes.set_title("No lot costs more than 20")
fig.colorbar(drawn, label="cost")
fig.set_label(
    "The cost of a lot over the numbers of good parts sorted out and faulty parts missed, as a map "
    "of colors with numbers: it grows five times as fast with misses, and stays at 20 at the end."
)

# %%
# Training for it
# ---------------
# You can use the loss wherever a loss name is accepted. Three hundred lots are for training and six hundred for
# testing. The faulty parts form two clusters. Logistic regression has the usual threshold, or the one that
# :class:`setwise.MeasureClassifier` finds by cross-fitting for this loss. :class:`setwise.SetClassifier` is trained for
# it, and takes the Lovász hinge, because the loss is submodular.

rng = np.random.default_rng(0)


def lots(n):
    """Two measurements of each part, whether it is faulty, and the number of its lot."""
    faulty = rng.random(20 * n) < 0.2
    parts = rng.standard_normal((20 * n, 2))
    middle = np.where(rng.random((20 * n, 1)) < 0.35, [1.0, 2.5], [3.0, 0.0])
    parts[faulty] = 0.5 * parts[faulty] + middle[faulty]
    return parts, faulty, np.repeat(np.arange(n), 20)


X, y, lot = lots(300)
new, truth, new_lot = lots(600)
usual = LogisticRegression().fit(X, y)
tuned = MeasureClassifier(LogisticRegression(), lot_costs, strategies=["threshold"], random_state=0)
tuned.fit(X, y, groups=lot)
trained = SetClassifier(lot_costs, C=300.0).fit(X, y, groups=lot)
print(f"SetClassifier: surrogate {trained.surrogate_}, certified gap {trained.duality_gap_:.0e}")


def costs(labels):
    """The cost of each new lot."""
    missed, sorted_out = (truth & ~labels).reshape(-1, 20), (labels & ~truth).reshape(-1, 20)
    return lot_costs.f(missed.sum(axis=1), sorted_out.sum(axis=1))


models = {"usual threshold": usual, "tuned threshold": tuned, "SetClassifier": trained}
each = {name: costs(model.predict(new)) for name, model in models.items()}
for name, found in each.items():
    error = found.std() / np.sqrt(len(found))
    print(f"{name:16} mean cost of a lot {found.mean():.2f} +- {error:.2f}")
gain = each["tuned threshold"] - each["SetClassifier"]
error = gain.std() / np.sqrt(len(gain))
print(f"SetClassifier costs {gain.mean():.2f} +- {error:.2f} less than the tuned threshold")

part = tuned.best_threshold_
moved = tuned.estimator_.intercept_[0] - np.log(part / (1 - part))
lines = {
    "usual threshold": (*usual.coef_[0], usual.intercept_[0]),
    "tuned threshold": (*tuned.estimator_.coef_[0], moved),
    "SetClassifier": (*trained.coef_[0], trained.intercept_[0]),
}
shown = slice(1500)
figure = plotting.plane(new[shown], truth[shown].astype(int), ("good", "faulty"), lines)
figure.axes[0].set_title("Parts, and the lines beyond which they are sorted out")
figure.set_label(
    "Good parts around the origin and two clusters of faulty ones. The usual line cuts through the "
    "clusters; the line with a tuned threshold is parallel to it and nearer to the good parts."
)

# %%
# The threshold matters most: it saves most of the cost, and what training adds is within its error. Both took the loss
# as it is above. A tuned threshold moves the line, and training may also turn it.
#
# A promise that is false
# -----------------------
# Tables of large sets are too large to check, so you must promise a trait there. Promises are checked where that is
# cheap, and a false one ends the fit instead of giving a wrong certificate:

both = CountFunctionLoss(lambda fn, fp: fn * fp / 3, promises=[Trait.INCREASING, Trait.SUBMODULAR])
try:
    SetClassifier(both, C=300.0).fit(X, y, groups=lot)
except BrokenPromise as broken:
    print(textwrap.fill(str(broken), 70))

# %%
# :doc:`/guide/own_loss` shows other kinds of losses, up to your own class, and :doc:`/guide/surrogates` says what each
# trait is good for.
