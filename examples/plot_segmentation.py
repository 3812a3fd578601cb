"""
Segmentation with a grid or superpixels
=======================================

A noisy pixel says little by itself, and more together with its neighbors. Here networks of pixels and of superpixels
are trained for the Jaccard index (IoU) of each image. They are compared with single pixels whose threshold and blur are
tuned for the same measure. The pictures show the segmentations, and for each image how much inference may have missed.
"""

# %%
# Images, and single pixels
# -------------------------
#
# Each generated image shows one object. Its color differs a little from its surroundings, which have another color in
# each image. Twelve images are for training and sixteen for the test. Logistic regression scores single pixels. The
# width of a Gaussian blur of its scores and the threshold have the best mean IoU on the training images.

import numpy as np
from matplotlib import pyplot as plt
from scipy.ndimage import gaussian_filter
from skimage.segmentation import slic
from sklearn.linear_model import LogisticRegression

from setwise import GraphClassifier, plotting
from setwise.core import Graphs
from setwise.datasets import textured_objects
from setwise.graphs import from_image
from setwise.inference import DualDecomposition
from setwise.losses import Jaccard
from setwise.models import GraphModel

data = textured_objects(28, shape=(60, 90), contrast=0.05, random_state=0)
images, truth = data.images, [labels == 1 for labels in data.labels]
train, test = slice(12), slice(12, 28)


def mean_iou(masks, right):
    """The mean Jaccard index of the images."""
    return np.mean([(a & b).sum() / (a | b).sum() for a, b in zip(masks, right, strict=True)])


def painted(graphs, labels):
    """The masks of labels of nodes."""
    return [graph.paint(one) == 1 for graph, one in zip(graphs, labels, strict=True)]


grids = [from_image(image, node_features=["color"]) for image in images]
single = LogisticRegression(C=100.0, max_iter=1000)
single.fit(np.vstack([graph.X for graph in grids[train]]), np.concatenate(truth[train]).ravel())
scores = [graph.paint(single.decision_function(graph.X)) for graph in grids]


def tuned(widths):
    """The masks of all images, with the blur and threshold that are best on the training images."""
    options = []
    for width in widths:
        blurred = [gaussian_filter(one, width) for one in scores]
        for threshold in np.linspace(-4, 4, 81):
            masks = [one > threshold for one in blurred]
            options.append((mean_iou(masks[train], truth[train]), width, threshold, masks))
    best = max(options, key=lambda option: option[:3])
    print(f"  best on the training images: blur of {best[1]:.1f} pixels, threshold {best[2]:.1f}")
    return best[3]


found = {"single pixels": tuned([0.0]), "with blur": tuned(np.arange(0.0, 6.5, 0.5))}

# %%
# Networks
# --------
#
# A network scores each pixel by its color, and each pair of neighbors with the same label by their contrast.
# ``surrogate="margin"`` is convex, and its fit has a certificate. The default, the ramp, follows the loss more closely
# and has no certificate. ``C=0`` stays at its start. We compare all three on superpixels, about 200 per image from
# SLIC. Such networks are fast, but their masks cannot be better than the outlines of the superpixels.

maps = [slic(image, 216, compactness=30, sigma=1, start_label=0) for image in images]
coarse = [from_image(*pair, node_features=["color"]) for pair in zip(images, maps, strict=True)]
convex = {"surrogate": "margin", "tol": 0.05, "max_iter": 50}
kinds = {
    "superpixels": (coarse, convex),
    "superpixels, ramp": (coarse, {"tol": 0.05}),
    "superpixels, C=0": (coarse, {"C": 0}),
    "grid of pixels": (grids, convex),
}
fits = {}
for name, (graphs, options) in kinds.items():
    labels = [graph.labels_of(mask) for graph, mask in zip(graphs, truth, strict=True)]
    fits[name] = model = GraphClassifier("jaccard", **options).fit(graphs[train], labels[train])
    found[name] = painted(graphs, model.predict(graphs))
    print(f"{name}: {model.status_}, gap of the objective {model.duality_gap_:.3f}")
    if name == "superpixels":
        reach = mean_iou(painted(graphs, labels)[test], truth[test])
        print(f"  the best labels of superpixels, painted: mean IoU {reach:.2f} on new images")
        print(f"  score, of labels of superpixels: {model.score(graphs[test], labels[test]):.2f}")

print("\nmean IoU of masks   training  new images")
for name, masks in found.items():
    print(f"{name:17}", *(f"{mean_iou(masks[part], truth[part]):10.2f}" for part in (train, test)))

shown = [13, 15, 18]
columns = {"truth": [truth[i] for i in shown]}
for name in ("with blur", "grid of pixels"):
    title = f"{name}\nIoU {mean_iou(found[name][test], truth[test]):.2f}"
    columns[title] = [found[name][i] for i in shown]
figure = plotting.segmentations([images[i] for i in shown], columns)
figure.set_label(
    "Three new images with the true mask and those of blurred single pixels, which spill far over "
    "the outline, and of the grid of pixels, which is closer. Over each column its mean IoU."
)

# %%
# The tuned blur works well in training and poorly on new images. The grid is better on both, and so are the
# superpixels, whose network has about 25 times fewer nodes. If the colors differ more, with ``contrast=0.15``, the
# default of these images, blurred pixels are nearly as good as the grid. **The gap is about the training objective**,
# surrogate plus regularizer: no weights have one that is more than 5 % lower. It says nothing about the IoU. For the
# ramp the only lower bound is 0, so its gap is 1. With ``C=0`` nothing was minimized, and it is nan. These two fit the
# training images more closely, and twelve are few: on new images the certified model is slightly better here. On two
# hundred photographs of horses the ramp is better (:doc:`/results`), so compare both on held-out images. :doc:`/faq`
# answers *Why does my convex loss certify a bad model?* ``score`` and ``evaluate`` compare labels of nodes. For
# superpixels that is larger than the IoU of the masks, so here masks are painted before they are measured.
#
# How much inference can have missed
# ----------------------------------
# Training needs, for each image, the labels with the greatest loss plus score. The Jaccard index couples all pixels of
# an image, and the score couples neighbors, so no single cut solves both. Dual decomposition finds labels, and a bound
# that no labels exceed: the difference is certified for each image. Here it may make 1, 2, ..., 200 cuts for each
# training image, at the weights of the grid. The loss of an image is between 0 and 1.

batch = Graphs.images(truth[train])
features = (np.concatenate([getattr(one, part) for one in grids[train]]) for part in ("X", "Z"))
weights = fits["grid of pixels"]
w = np.concatenate([weights.coef_[0], weights.intercept_, weights.edge_coef_])
scores = GraphModel(*features, batch).scores(w) / truth[0].size  # the surrogate divides by the size
cuts, gaps = [1, 2, 3, 5, 10, 20, 50, 200], []
for limit in cuts:
    inference = DualDecomposition(max_iter=limit).prepare(Jaccard().bind(batch))
    solution = inference.maximize(scores)
    gaps.append(solution.bounds - solution.values)
    print(
        f"at most {limit:3} cuts: largest gap {gaps[-1].max():.4f}, "
        f"{solution.exact.sum():2} of {len(batch)} images are solved exactly"
    )

fig, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(cuts, np.maximum(gaps, 1e-6), color="#2a7fb8", alpha=0.5, marker="o", markersize=3)
largest = np.maximum(np.max(gaps, axis=1), 1e-6)
axes.plot(cuts, largest, color="#d1495b", label="largest of the images")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks(cuts, cuts)
axes.set_yticks([1.0, 1e-2, 1e-4, 1e-6], ["1", "0.01", "0.0001", "exact"])
axes.minorticks_off()
axes.set_xlabel("cuts allowed for an image")
axes.set_ylabel("bound minus value (loss: 0 to 1)")
axes.set_title("More cuts shrink the certified gap of each image")
axes.legend()
fig.set_label(
    "The certified gap of twelve images over the number of cuts allowed, on log scales: it falls "
    "from about 1 after one cut to less than .003 after fifty, and some images are solved exactly."
)

# %%
# If a gap is left, the bound enters the certified gap of the fit, which therefore includes what inference may have
# missed. :doc:`/how/dual_decomposition` shows how the two sides come to agree, :doc:`/guide/networks` has everything
# that :class:`setwise.GraphClassifier` takes, and :doc:`/guide/network_inference` the other methods.
