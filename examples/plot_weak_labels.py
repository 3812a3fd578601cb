"""
Labels of rows from counts of bags
==================================

Sometimes you do not know which rows are positive, but only how many are positive in each group: a ward, a district, a
batch of parts. Can a model label single rows from such counts? The picture shows how many rows are wrong for bags of
growing size, compared with logistic regression that takes the share of a bag as the label of each of its rows.
"""

# %%
# The table is the breast cancer data of scikit-learn. Its training rows are put into bags at random, and the model sees
# only the number of malignant tumors in each bag.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise import WeakSetClassifier

X, target = load_breast_cancer(return_X_y=True)
y = (target == 0).astype(int)  # malignant is positive


def in_bags(size, seed):
    """Training rows, the bag of each, the number of positives of each bag; and the rows and labels of the test."""
    rows, new, y_rows, y_new = train_test_split(X, y, stratify=y, random_state=seed)
    groups = np.random.default_rng(seed).permutation(len(rows)) // size
    return rows, groups, np.bincount(groups, y_rows).astype(int), new, y_new


rows, groups, counts, new, y_new = in_bags(16, 0)
print(f"{len(counts)} bags with", counts[:8], "... positives")
model = WeakSetClassifier(method="count_likelihood", C=1.0).fit(rows, groups=groups, counts=counts)
print(f"{1 - model.score(new, y_new):.1%} of the new rows are wrong")

# %%
# Logistic regression takes each row twice, once as positive and once as negative, with the shares of its bag as
# weights. Its probabilities are then too close to each other, so its threshold is set to predict as many positives as
# the bags have.


def by_shares(rows, groups, counts, new):
    """Labels of new rows by logistic regression on the shares of the bags."""
    share = (counts / np.bincount(groups))[groups]
    twice, labels = np.concatenate([rows, rows]), np.repeat([0, 1], len(rows))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(twice, labels, logisticregression__sample_weight=np.concatenate([1 - share, share]))
    threshold = np.sort(model.decision_function(rows))[-counts.sum()]
    return model.decision_function(new) >= threshold


sizes = (2, 4, 8, 16, 32, 64)
names = ("shares as labels", "counts, WeakSetClassifier", "labels of all rows")
wrong = np.empty((len(names), len(sizes), 10))
for i, size in enumerate(sizes):
    for seed in range(10):
        rows, groups, counts, new, y_new = in_bags(size, seed)
        ours = WeakSetClassifier(method="count_likelihood", C=1.0).fit(rows, groups=groups, counts=counts)
        y_rows = train_test_split(y, stratify=y, random_state=seed)[0]
        known = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, y_rows)
        found = by_shares(rows, groups, counts, new), ours.predict(new), known.predict(new)
        wrong[:, i, seed] = [100 * np.mean(labels != y_new) for labels in found]

print(f"{'percent of new rows wrong':27}", *(f"bags of {size:2}" for size in sizes))
for name, values in zip(names, wrong.mean(axis=2), strict=True):
    print(f"{name:27}", *(f"{value:10.1f}" for value in values))

# %%
# With bags of up to 32 rows counts are almost as good as labels. With the six or seven bags of 64 they begin to fail.
# Shares as labels are much worse: in a bag that is half positive, they say nothing about any row.

fig, axes = plt.subplots(figsize=(6.4, 3.9), layout="constrained")
for name, values, color, marker in zip(names, wrong, ("#d1495b", "#2a7fb8", "#888888"), "s^o", strict=True):
    error = values.std(axis=1, ddof=1) / values.shape[1] ** 0.5
    axes.errorbar(sizes, values.mean(axis=1), error, color=color, marker=marker, capsize=3, linewidth=2, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, sizes)
axes.set(xlabel="rows in a bag", ylabel="new rows that are wrong, percent", ylim=(0, None))
axes.legend(loc="upper left")
axes.set_title("Counts of bags of up to 32 are nearly as good as labels")
fig.set_label(
    "Percent of wrong rows over the size of bags, as means of ten splits with standard errors. The curve of "
    "WeakSetClassifier stays near that of known labels up to bags of 32; shares as labels rise far above both."
)
plt.show()

# %%
# Random bags are the hard case, because their shares differ by chance alone. :doc:`/guide/bags` has other kinds of
# knowledge (shares, "at least one", labels of some rows), compares several methods, and says what bags cannot tell.
