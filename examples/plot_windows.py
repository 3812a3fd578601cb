"""
Boxes in images
===============

An image has millions of boxes, any number of which may show an object. A window classifier scores each box by the sum
of the weights of the visual words inside, and an exact search finds the best boxes among all of them. It is compared
with a blurred map of log-odds with a threshold. The picture shows the boxes of both in new images.
"""

# %%
# Scenes and words
# ----------------
#
# The objects look like cars seen from the side, among facades, bushes, poles and single wheels of
# all grays. An image has none, one or two of them. A visual word is a cluster of small patches,
# described by the directions of their edges.

import textwrap
import warnings
from itertools import product

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from scipy.ndimage import find_objects, gaussian_filter, label
from sklearn.cluster import MiniBatchKMeans

from setwise import MultilabelStructuredPredictor
from setwise.datasets import object_scenes
from setwise.losses import MaxLoss
from setwise.spaces import Overlap, Windows, WordImage, window_f1, window_precision, window_recall

HEIGHT, WIDTH, STEP, SIDE, WORDS = 120, 180, 4, 12, 200


def scenes(n, seed):
    """Images with up to two objects and much clutter."""
    options = {"shape": (HEIGHT, WIDTH), "lengths": (60, 90), "clutter": 2.0}
    return object_scenes(n, objects=(0, 2), random_state=seed, **options)


def patches(image):
    """For each patch the sums of gradients in eight directions in its four quarters, normalized."""
    down, right = np.gradient(image / 255.0)
    direction = np.floor((np.arctan2(right, down) / np.pi + 1.0) * 4.0).astype(int) % 8
    parts = (direction[..., None] == np.arange(8)) * np.hypot(down, right)[..., None]
    half = SIDE // 2
    sums = np.lib.stride_tricks.sliding_window_view(parts, (half, half), axis=(0, 1)).sum((-2, -1))
    far = np.s_[half:, half:], np.s_[half:, :-half], np.s_[:-half, half:], np.s_[:-half, :-half]
    found = np.concatenate([sums[quarter][::STEP, ::STEP] for quarter in far], axis=-1)
    return found / (np.linalg.norm(found, axis=-1, keepdims=True) + 0.3)


train, held_out, new = scenes(300, seed=0), scenes(60, seed=1), scenes(60, seed=2)
described = {part: [patches(image) for image in part.images] for part in (train, held_out, new)}
some = np.concatenate([one.reshape(-1, 32) for one in described[train]])[::4]
words = MiniBatchKMeans(WORDS, random_state=0, n_init=1).fit(some)
maps = {
    part: [words.predict(one.reshape(-1, 32)).reshape(one.shape[:2]) for one in found]
    for part, found in described.items()
}
rows, columns = np.indices(maps[train][0].shape) * STEP + SIDE // 2


def word_image(one):
    """The words of an image with their places."""
    return WordImage(HEIGHT, WIDTH, np.column_stack([rows.ravel(), columns.ravel(), one.ravel()]))


points = {part: [word_image(one) for one in found] for part, found in maps.items()}
print(f"{rows.size} words in each image")

# %%
# Training
# --------
# A box that overlaps a true one by half costs nothing. Any other box costs 1, and so does a missed object. The search
# for the worst box of each image is exact, so the gap of the fit is certified.

space = Windows(WORDS, stride=STEP, overlap=0.1)
model = MultilabelStructuredPredictor(
    space, MaxLoss(Overlap()), surrogate="hinge", C=30.0, intercept_scaling=10.0, tol=0.02
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(points[train], list(train.boxes))
print(f"{model.status_}, certified relative gap {model.duality_gap_:.3f}")
print(f"mean hinge of an image {model.objective_ / model.C_:.2f} at most")
for warning in caught:
    print(textwrap.fill(f"{warning.category.__name__}: {warning.message}", 70))

# %%
# The optimum is certified, but the warning says that it is a poor bound. The hinge of an image counts its worst box,
# and with so much clutter almost every image has a bad box. So 0 is not a good threshold for the scores, as we will
# see, although they rank the boxes well.


def boxes(part):
    """For each image the boxes with scores above -2, the best first, none near a better one."""
    layout, features = space.bind(points[part], constant=10.0)
    lists = space.best(layout, features.scores(model.coef_), 5, threshold=-2.0)
    return [list(zip(*one, strict=True)) or [[], []] for one in lists]


def above(found, threshold):
    """The boxes whose scores are above the threshold."""
    kept = ([box for box, score in zip(*one, strict=True) if score > threshold] for one in found)
    return [np.array(rects, dtype=int).reshape(-1, 4) for rects in kept]


# %%
# The threshold, and a baseline
# -----------------------------
# The threshold of the boxes has the best F1 on held-out images. The baseline gives each word the log-odds of being
# inside a true box, blurs their map, and makes a box of each connected region above a threshold. Its blur, threshold,
# smallest size and margin are chosen in the same way.

inside = np.zeros((2, WORDS)) + 1.0
for one, rects in zip(maps[train], train.boxes, strict=True):
    covered = np.zeros(one.shape, dtype=bool)
    for top, left, bottom, right in rects:
        covered |= (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
    for k in (0, 1):
        inside[k] += np.bincount(one[covered == k], minlength=WORDS)
odds = np.log(inside[1] / inside[1].sum()) - np.log(inside[0] / inside[0].sum())


def from_map(part, blur, threshold, least, margin):
    """Boxes with a margin around what is connected in the blurred map of log-odds."""
    out = []
    for one in maps[part]:
        found = find_objects(label(gaussian_filter(odds[one], blur) > threshold)[0])
        sides = [(down.start, right.start, down.stop, right.stop) for down, right in found]
        large = [box for box in sides if (box[2] - box[0]) * (box[3] - box[1]) >= least]
        rects = np.reshape(large, (-1, 4)) * STEP + SIDE // 2 + [-margin, -margin, margin, margin]
        out.append(np.clip(rects, 0, [HEIGHT, WIDTH] * 2).astype(int))
    return out


listed = {part: boxes(part) for part in (held_out, new)}
cuts = np.linspace(-2.0, 2.0, 41)
best = max(cuts, key=lambda cut: window_f1(held_out.boxes, above(listed[held_out], cut)))
options = list(product((0, 1, 2), np.linspace(0.0, 2.0, 11), (30, 60, 90), (0, 3, 6)))
chosen = max(options, key=lambda option: window_f1(held_out.boxes, from_map(held_out, *option)))
print(f"threshold of the windows {best:.1f}")
print("map: blur {}, threshold {:.1f}, least size {}, margin {}".format(*chosen))
results = {
    "windows, threshold 0": above(listed[new], 0.0),
    "windows": above(listed[new], best),
    "map of log-odds": from_map(new, *chosen),
}
for name, found in results.items():
    measured = (f(new.boxes, found) for f in (window_precision, window_recall, window_f1))
    print("{:21} precision {:.2f}, recall {:.2f}, F1 {:.2f}".format(name, *measured))

# %%
# With much clutter the windows are better if their threshold is tuned; at 0 they find too few objects. With less
# clutter the difference is smaller. In the picture of the first new images with objects, true boxes are dotted.

fig, axes = plt.subplots(3, 2, figsize=(6.6, 7.2), layout="constrained")
styles = {
    "truth": ("#30c060", ":"),
    "windows": ("#edae49", "-"),
    "map of log-odds": ("#3d9be9", "--"),
}
drawn = {"truth": new.boxes, **results}
shown = [i for i, rects in enumerate(new.boxes) if len(rects)][: axes.size]
for i, panel in zip(shown, axes.flat, strict=True):
    panel.imshow(new.images[i], cmap="gray", vmin=0, vmax=255)
    for name, (color, dash) in styles.items():
        for top, left, bottom, right in drawn[name][i]:
            frame = {"fill": False, "ec": color, "ls": dash, "lw": 2}
            panel.add_patch(Rectangle((left, top), right - left, bottom - top, **frame))
    panel.axis("off")
lines = [plt.Line2D([], [], color=color, ls=dash, lw=2) for color, dash in styles.values()]
fig.legend(lines, styles, loc="outside lower center", ncols=3)
fig.suptitle("Windows find the objects better than a blurred map")
fig.set_label(
    "Six gray scenes with cars among clutter. Boxes of the windows and of the map lie around most "
    "cars; where two cars stand side by side, both methods find one box for the two."
)

# %%
# The model ignores the shape of the object, so two cars side by side make one good box. :doc:`/guide/windows` has the
# costs and the search, and :doc:`/guide/label_spaces` other spaces of labels that are too many to list.
