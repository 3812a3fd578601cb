"""
A threshold under a recall floor
================================

A test must find at least nine of ten malignant tumors, with as few false alarms as possible. Which threshold does that,
and will it still do so for new patients? A threshold that just meets the floor on the given rows misses it on new rows
about half of the time. The pictures compare it with a threshold that meets the floor with 95 % confidence, and show
what both do on new rows.
"""

# %%
# The table is the breast cancer data of scikit-learn, with only the mean radius and texture, so that the task is not
# too easy. We choose the threshold on a third of the rows, by out-of-fold scores.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.decisions import precision_at_recall

FLOOR = 0.9
X, target = load_breast_cancer(return_X_y=True)
X, y = X[:, :2], target == 0  # malignant is positive
model = make_pipeline(StandardScaler(), LogisticRegression())


def split(seed):
    """The labels and out-of-fold scores of a third of the rows; those of the others, by a model of that third."""
    known, new, y_known, y_new = train_test_split(X, y, train_size=1 / 3, stratify=y, random_state=seed)
    scores = cross_val_predict(model, known, y_known, cv=5, method="predict_proba")[:, 1]
    return y_known, scores, y_new, model.fit(known, y_known).predict_proba(new)[:, 1]


y_known, scores, _, _ = split(0)
met = precision_at_recall(y_known, scores, FLOOR)
sure = precision_at_recall(y_known, scores, FLOOR, confidence=0.95)
for name, point in (("just met", met), ("95 % sure", sure)):
    print(f"{name:10} threshold {point.threshold:.3f}, recall {point.recall:.3f}, precision {point.precision:.3f}")
print(f"of the second a recall of {sure.reached[0]:.3f} is 95 % sure")

# %%
# The first threshold is read off scikit-learn's curve. The second is the best one at which the lower end of the
# Clopper-Pearson interval of the recall, the edge of the band, is above the floor too.

precision, recall, cuts = precision_recall_curve(y_known, scores)
precision, recall = precision[:-1], recall[:-1]
meets = np.flatnonzero(recall >= FLOOR)
read_off = cuts[meets[np.argmax(precision[meets])]]
print("both find the same tumors:", np.array_equal(scores >= read_off, scores >= met.threshold))

positives = y_known.sum()
found = np.round(recall * positives)
lower = beta.ppf(0.05, found, positives - found + 1)

fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.fill_between(cuts, lower, recall, color="#2a7fb8", alpha=0.25, linewidth=0, label="recall that is 95 % sure")
axes.plot(cuts, recall, color="#2a7fb8", linewidth=2, label="recall")
axes.plot(cuts, precision, color="#66a182", linewidth=2, linestyle="-.", label="precision")
axes.axhline(FLOOR, color="#888888", linewidth=1)
axes.text(0.98, FLOOR + 0.01, "floor", ha="right", color="#888888")
for name, point, color in (("just met", met, "#d1495b"), ("95 % sure", sure, "#c9871f")):
    axes.axvline(point.threshold, color=color, linewidth=2, linestyle="--")
    axes.text(point.threshold + 0.01, 0.22, name, color=color)
axes.set(xlim=(0, 1), ylim=(0.2, 1.02), xlabel="threshold of the probability", ylabel="share")
axes.legend(loc="lower center", bbox_to_anchor=(0.64, 0))
axes.set_title("95 % confidence needs a lower threshold")
fig.set_label(
    "Recall falls and precision rises with the threshold. The floor of 0.9 is met by the recall up to one threshold, "
    "and by the lower edge of its band only up to a smaller one."
)
plt.show()

# %%
# Does the floor hold on new rows? Here are both thresholds for 100 random splits of the table. Confidence has a price:
# more false alarms, so less precision.

held = {"just met": [], "95 % sure": []}
for seed in range(100):
    y_known, scores, y_new, new_scores = split(seed)
    for rows, confidence in zip(held.values(), (None, 0.95), strict=True):
        labels = new_scores >= precision_at_recall(y_known, scores, FLOOR, confidence).threshold
        hits = (labels & y_new).sum()
        rows.append((hits / y_new.sum(), hits / labels.sum()))

fig, panels = plt.subplots(2, 1, figsize=(6.4, 4.2), sharex=True, sharey=True, layout="constrained")
for (name, rows), axes, color in zip(held.items(), panels, ("#d1495b", "#edae49"), strict=True):
    recall, precision = np.transpose(rows)
    share = np.mean(recall >= FLOOR)
    print(f"{name:10} the floor held in {100 * share:.0f} % of the cuts, mean precision {precision.mean():.2f}")
    axes.hist(recall, np.arange(0.7, 1.0001, 0.02), color=color)
    axes.axvline(FLOOR, color="#888888", linewidth=2)
    axes.text(
        0.7, 29, f"{name}: the floor held in {100 * share:.0f} %\nof the cuts, mean precision {precision.mean():.2f}"
    )
    axes.set(xlim=(0.695, 1.005), ylabel="cuts")
panels[1].set_xlabel("recall on the two thirds of the rows that are new (line: floor)")
fig.suptitle("A floor that is just met holds on new rows about half the time")
fig.set_label(
    "Histograms of the recall on new rows for 100 cuts. For the threshold that just met the floor they lie on both "
    "sides of it, for the one that is sure nearly all above it."
)
plt.show()

# %%
# :doc:`/guide/thresholds` says what is guaranteed here, and :func:`~setwise.decisions.constrained_threshold` takes any
# loss and several floors. If no threshold meets the floor, :class:`~setwise.decisions.UnmetFloor` names the best one
# possible.
