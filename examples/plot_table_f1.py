"""
The threshold of F1 in a table
==============================

A classifier calls a row positive if its probability is above one half. For the F1 of a rare label that is the wrong
threshold. Here the best one is chosen on the training rows alone, and both are tested on new rows.
"""

# %%
# One row in twenty is positive. :class:`~setwise.MeasureClassifier` wraps any classifier of scikit-learn. It chooses
# the threshold on rows that the model has not seen, and compares it with other decision rules.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from setwise import MeasureClassifier

X, y = make_classification(12_000, 20, n_informative=6, weights=[0.95], flip_y=0.02, class_sep=0.7, random_state=1)
X, X_new, y, y_new = train_test_split(X, y, train_size=6_000, stratify=y, random_state=0)

model = MeasureClassifier(LogisticRegression(max_iter=1000), loss="f1", strategies=["threshold"], random_state=0)
model.fit(X, y)
usual = f1_score(y_new, model.estimator_.predict(X_new))
tuned = f1_score(y_new, model.predict(X_new))
print(f"F1 on new rows: threshold 0.5 {usual:.2f}, threshold {model.best_threshold_:.2f} {tuned:.2f}")

# %%
# The curve is the F1 of the new rows at every threshold. The tuned threshold was chosen without them, and is near the
# top.

q = model.estimator_.predict_proba(X_new)[:, 1]
thresholds = np.linspace(0.01, 0.8, 120)
curve = [f1_score(y_new, q >= one, zero_division=0) for one in thresholds]

fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.plot(thresholds, curve, color="#2a7fb8", linewidth=2)
for name, at, value, color in (
    ("0.5", 0.5, usual, "#d1495b"),
    (f"tuned: {model.best_threshold_:.2f}", model.best_threshold_, tuned, "#66a182"),
):
    axes.axvline(at, color=color, linewidth=2, linestyle="--")
    axes.plot([at], [value], "o", color=color)
    axes.text(at + 0.01, value + 0.02, f"{name}\nF1 {value:.2f}", color=color)
axes.set(xlabel="threshold of the probability", ylabel="F1 of new rows", ylim=(0, max(curve) + 0.15))
axes.set_title(f"A tuned threshold raises F1 from {usual:.2f} to {tuned:.2f}")
fig.set_label("F1 of new rows over the threshold. It is largest below one half; the tuned threshold is near the top.")
plt.show()

# %%
# :doc:`/guide/measure` says what else is tried, and when the threshold is enough. For your file
# it is one command: ``setwise compare data.csv --target label --loss f1``.
