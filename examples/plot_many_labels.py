"""
Decisions for many labels
=========================

A document may be about any of ten topics, and a model says how probable each one is. Which topics should be reported to
get the best F1 of each document? A threshold of one half reports too few. The pictures show the best number of topics
for single documents, and the F1 of five decision rules on two tables.
"""

# %%
# scikit-learn generates the documents, and each topic has its own logistic regression.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from setwise import MeasureClassifier
from setwise.decisions import expected_loss, least_expected_loss

X, Y = make_multilabel_classification(3000, 20, n_classes=10, n_labels=3, random_state=0)
base = LogisticRegression(max_iter=1000)
q = np.column_stack([base.fit(X[:1500], label).predict_proba(X[1500:])[:, 1] for label in Y[:1500].T])
best = least_expected_loss(q, "f1").labels.sum(axis=1)
usual = (q > 0.5).sum(axis=1)
more, fewer = np.mean(best > usual), np.mean(best < usual)
print(f"more topics than at 0.5 are best for {more:.0%} of the documents, fewer for {fewer:.0%}")

# %%
# If labels are independent given the document, the best k labels are the k most probable ones. So there are eleven sets
# of labels to compare. Which one has the largest expected F1 depends on all probabilities of the document.

ranked = -np.sort(-q, axis=1)
first_k = np.tri(11, 10, -1, dtype=bool)
chosen = [np.argmax((best == k) & (usual == at)) for k, at in ((1, 1), (3, 1), (6, 4))]
fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for i, color, marker, lift in zip(chosen, ("#d1495b", "#2a7fb8", "#66a182"), "os^", (10, -20, 10), strict=True):
    curve = [1 - expected_loss(ranked[i], labels, "f1")[0] for labels in first_k]
    axes.plot(curve, color=color, marker=marker, markersize=4)
    axes.plot(best[i], curve[best[i]], marker=marker, color=color, markersize=12)
    axes.annotate(f"best {best[i]}, at 0.5: {usual[i]}", (best[i], curve[best[i]]), (0, lift),
                  textcoords="offset points", color=color, ha="center")  # fmt: skip
axes.set(xlabel="number of topics that are reported, the most probable first", ylabel="expected F1", ylim=(0, 1.02))
axes.set_title("How many topics are best depends on the document")
fig.set_label(
    "Expected F1 over the number of reported topics, for three documents. The tops lie at one, three and six topics."
)
plt.show()

# %%
# Which decision rule is best on rows that the models have not seen? :class:`~setwise.MeasureClassifier` tunes and tests
# each of them out of fold. Labels need not be independent, so there is a second table, in which each row has exactly
# one label. There one tuned threshold is better than the decision by independent probabilities. The general
# F-maximizer, which models each label together with the number of labels, is best on both tables.

rng = np.random.default_rng(0)
rows = rng.standard_normal((3000, 6))
scores = rows @ rng.standard_normal((6, 10)) + rng.gumbel(size=(3000, 10))
single = (scores == scores.max(axis=1, keepdims=True)).astype(int)
ways = {
    "as_it_is": "0.5 for all",
    "threshold": "one tuned threshold",
    "label_thresholds": "a threshold of each label",
    "decision": "least expected loss",
    "gfm": "general F-maximizer",
}
tables = {"several topics": (X, Y), "exactly one label": (rows, single)}

fig, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for (name, table), color, marker in zip(tables.items(), ("#2a7fb8", "#d1495b"), "os", strict=True):
    known, y, new, y_new = (part[half] for half in (slice(1500), slice(1500, None)) for part in table)
    model = MeasureClassifier(base, "f1", list(ways), cv=3).fit(known, y)
    found = {candidate.strategy: candidate for candidate in model.candidates_}
    for strategy, words in ways.items():
        print(f"{name:18} {words:26} F1 {1 - found[strategy].loss:.3f} ± {found[strategy].error:.3f}")
    print(f"{name:18} chosen: {ways[model.best_strategy_]}, F1 of new rows {model.score(new, y_new):.3f}")
    reached, errors = [1 - found[strategy].loss for strategy in ways], [found[strategy].error for strategy in ways]
    axes.errorbar(
        reached,
        range(len(ways)),
        xerr=errors,
        color=color,
        marker=marker,
        markersize=6,
        capsize=4,
        linestyle="",
        label=name,
    )
axes.set_yticks(range(len(ways)), ways.values())
axes.invert_yaxis()
axes.set(xlim=(0.2, 0.7), xlabel="mean F1 of the rows, out of fold")
axes.grid(axis="y", color="#cccccc", linewidth=0.5)
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
fig.suptitle("The general F-maximizer is best on both tables")
fig.set_label(
    "Mean F1 of five ways to decide, on two tables. With several topics least expected loss beats thresholds, "
    "with exactly one label it is worse. The general F-maximizer is the best on both."
)
plt.show()

# %%
# :doc:`/guide/decisions` says why the decision is fast and where it is exact, and
# :doc:`/guide/measure` how the choice is made.
