"""
Labels in a hierarchy
=====================

Digits come in kinds: some have a loop, some have straight strokes, some are bent. The labels of an image are a digit
and its kind. If the digit is uncertain, the kind alone may be right. The pictures show the scores of all labels for
single images, and compare a predictor of whole label sets with one classifier for each label.
"""

# %%
# :class:`~setwise.spaces.Hierarchy` maps each label to its parent. The score of a digit is a sum over its path, so
# digits of one kind share weights. Training looks for the worst set of labels of each image.

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from setwise import MultilabelStructuredPredictor
from setwise.spaces import Hierarchy, hierarchical_f1

kinds = {"loop": "0689", "straight": "147", "bent": "235"}
tree = Hierarchy({digit: kind for kind, digits in kinds.items() for digit in digits})
data = load_digits()
X, Y = data.data / 16, tree.closed([[str(digit)] for digit in data.target])
kernel = partial(rbf_kernel, gamma=0.05)
model = MultilabelStructuredPredictor(tree, "sum", surrogate="margin", C=1000.0, kernel=kernel)

order = np.random.default_rng(0).permutation(len(X))
known, new = order[:60], order[-1000:]
model.fit(X[known], Y[known])
guess, scores = model.predict_matrix(X[new]), model.decision_function(X[new])
leaf = np.char.isdigit(tree.names)
right = (guess == Y[new]).all(axis=1)
kind_alone = (guess == Y[new])[:, ~leaf].all(axis=1) & ~guess[:, leaf].any(axis=1)
print(f"trained on {len(known)} images, {right.mean():.0%} of the new sets are right,")
print(f"and of {kind_alone.mean():.0%} only the kind is named, and right")

# %%
# Labels with a score above 0 are predicted, and drawn in color. In the second image only the kind is clear, so no digit
# is predicted.

missed = ~right & ~kind_alone & guess[:, leaf].any(axis=1)
shown = {"right": right, "kind alone": kind_alone, "wrong": missed}
names = [name for kind, digits in kinds.items() for name in (kind, *digits)]
columns = [tree.names.index(name) for name in names]
fig, grid = plt.subplots(2, 3, figsize=(6.4, 5), layout="constrained", height_ratios=(1, 2.6))
for (title, found), (above, below) in zip(shown.items(), grid.T, strict=True):
    i = np.argmax(found)
    above.imshow(data.images[new[i]], cmap="cividis")
    above.set(xticks=[], yticks=[], title=f"{title}: a {data.target[new[i]]}")
    bars = np.clip(scores[i, columns], -3, 3)
    below.barh(names, bars, color=np.where(bars > 0, "#2a7fb8", "#aaaaaa"))
    below.axvline(0, color="#888888", linewidth=1)
    below.set(xlim=(-3.1, 3.1), xlabel="score")
    below.invert_yaxis()
    for label in below.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in kinds else "normal")
fig.set_label(
    "Three images of digits and the scores of 13 labels for each: one whose digit and kind are right, one of which "
    "only the kind is named, and one that is wrong."
)
plt.show()

# %%
# Separate SVMs are better here. They have a classifier for each label, including kinds. All methods choose C in three
# folds of the training rows, by the F1 of labels together with their ancestors. With the same kernel, separate SVMs
# reach a larger F1 on this table. But more of their label sets are inconsistent ("torn"): a digit without its kind. So
# a hierarchy alone is no reason to use the structured predictor. Use it for costs of single mistakes, or if there are
# too many labels for separate classifiers.


def path_f1(model, rows, labels):
    """The F1 of labels with what is above them, as a scorer."""
    return hierarchical_f1(tree, labels, model.decision_function(rows) > 0)


rbf, logistic = OneVsRestClassifier(SVC(gamma=0.05)), OneVsRestClassifier(LogisticRegression())
ways = {
    "sets of labels, RBF kernel": GridSearchCV(model, {"C": [100, 1000, 10000]}, scoring=path_f1, cv=3),
    "SVM for each label, RBF kernel": GridSearchCV(rbf, {"estimator__C": [1, 10, 100]}, scoring=path_f1, cv=3),
    "logistic regression for each": GridSearchCV(logistic, {"estimator__C": [1, 10, 100]}, scoring=path_f1, cv=3),
}
sizes = (60, 120, 240)
print(f"{'':31} F1 for {sizes} images, and torn sets")
fig, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, search), color, marker in zip(ways.items(), ("#2a7fb8", "#d1495b", "#c9871f"), "os^", strict=True):
    found = [search.fit(X[order[:n]], Y[order[:n]]).decision_function(X[new]) > 0 for n in sizes]
    curve = [hierarchical_f1(tree, Y[new], guess) for guess in found]
    torn = [np.mean((tree.closed(guess) != guess).any(axis=1)) for guess in found]
    print(f"{name:31}", *(f"{value:.3f}" for value in curve), "", *(f"{share:5.1%}" for share in torn))
    axes.plot(sizes, curve, color=color, marker=marker, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, sizes)
axes.set(xlabel="training images", ylabel="F1 of labels with their ancestors")
axes.legend(loc="lower right")
axes.set_title("Separate SVMs reach a larger F1")
fig.set_label(
    "F1 of new images over the number of training images. The curve of support vector machines for each label lies "
    "above that of the structured predictor at all sizes."
)
plt.show()

# %%
# :doc:`/guide/multilabel` has costs, bounds and certified predictions of this predictor, and
# :doc:`/guide/label_spaces` labels that are too many to list.
