"""
Why a set loss turns the decision line
======================================

A machine is watched for fifteen minutes, and faults should be detected in the first of them. Early and late signs of a
fault are in different directions of the plane. Which line separates them from normal readings? The first picture shows
the line with the fewest mistakes, and the one that :class:`~setwise.SetClassifier` learns from the loss of whole
sequences. The second shows that no threshold makes up for the difference.
"""

# %%
# Each sequence is a set of 15 decisions in time order. :class:`~setwise.losses.EarlyDetection` counts the mistakes up
# to each time, with weights that fall with time. The Hamming loss counts all mistakes the same. Two thirds of the
# positive rows are late ones, so the line with the fewest mistakes follows these.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from setwise import SetClassifier
from setwise.core import Sets
from setwise.datasets.synthetic import early_detection, early_stage
from setwise.losses import EarlyDetection, Hamming
from setwise.plotting import plane

X, y, groups = early_detection(1000, random_state=0)
X_test, y_test, _ = early_detection(5000, random_state=1)
sets = Sets.rows(y_test.reshape(-1, 15))


def losses(labels):
    """The mean early-detection loss of the sets, and the mean number of mistakes of each."""
    return [loss.values(sets, labels).mean() for loss in (EarlyDetection(), Hamming())]


hamming = SetClassifier(Hamming(), "lovasz", C=20.0, intercept_scaling=10.0).fit(X, y, groups=groups)
early = SetClassifier(EarlyDetection(), "lovasz", C=300.0, intercept_scaling=10.0).fit(X, y, groups=groups)
lines = {}
for name, model in (("Lovász hinge of early detection", early), ("Hamming SVM", hamming)):
    loss, wrong = losses(model.predict(X_test))
    lines[f"{name}:\nearly loss {loss:.3f}, {wrong:.1f} of 15 wrong"] = (*model.coef_[0], model.intercept_[0])
    print(f"{name:32} early-detection loss {loss:.3f}, {wrong:.1f} of 15 wrong")

kinds = np.where(y_test == 0, 0, np.where(np.tile(early_stage(15), 5000), 1, 2))[:900]
title = "The loss turns the decision line"
figure = plane(X_test[:900], kinds, ("negative", "early positive", "late positive"), lines, title)
figure.set_label(
    "Samples of the plane with two lines. The line of fewest mistakes separates the late positives on the right; the "
    "line of early detection lies almost flat below the early positives at the top."
)

# %%
# A threshold moves a line, but does not turn it. Here is the loss of each model for all thresholds, as a function of
# how many rows they call positive. Logistic regression also turns the line if rows at time t have the weight
# :math:`e^{-t}` of the loss, and it does as well here. Without such weights it does the same as the Hamming SVM.

models = {
    "Hamming SVM": (hamming, "#d1495b", "-."),
    "logistic regression": (LogisticRegression().fit(X, y), "#888888", ":"),
    "the same, weights fall with time": (
        LogisticRegression().fit(X, y, sample_weight=np.tile(np.exp(-np.arange(15.0)), 1000)), "#66a182", "--"
    ),
    "Lovász hinge of early detection": (early, "#2a7fb8", "-"),
}  # fmt: skip
shares = np.linspace(0.05, 0.95, 91)
fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, (model, color, dash) in models.items():
    scores = model.decision_function(X_test)
    curve = [losses(scores > threshold)[0] for threshold in np.quantile(scores, 1 - shares)]
    axes.plot(shares, curve, color=color, linestyle=dash, linewidth=2, label=name)
    print(
        f"{name:32} early-detection loss at its best threshold {min(curve):.3f}, at its own {losses(scores > 0)[0]:.3f}"
    )
axes.set(xlabel="share of rows that are called positive", ylabel="early-detection loss", ylim=(0, None))
axes.legend(loc="lower right")
axes.set_title("No threshold makes up for the direction")
fig.set_label(
    "The loss of four models over all thresholds. Those that count all mistakes alike stay above .17; those to which "
    "early mistakes matter more come down to about .08."
)
plt.show()

# %%
# :doc:`/guide/losses` describes this loss and others, :doc:`/guide/surrogates` the Lovász hinge.
