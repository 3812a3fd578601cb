"""
Fine-tuning a neural network for IoU
====================================

A neural network for segmentation is trained by cross-entropy, but you report IoU. Here three remedies are compared on
new images, with the same network and the same steps: a tuned threshold, the labels with the smallest expected loss by
:func:`setwise.torch.decide`, and a Lovász loss added to cross-entropy in the last steps. The pictures show the mean IoU
of each and what the masks look like.
"""

# %%
# The images and the network
# --------------------------
# The objects differ from their surroundings by texture, not by color. The network is tiny and sees 5 x 5 pixels at
# once, so most pixels stay uncertain. If a network is confident, all remedies do little.

import copy

import numpy as np
import torch
from matplotlib import pyplot as plt

from setwise import plotting
from setwise.datasets import textured_objects
from setwise.torch import LovaszHingeLoss, decide

data = textured_objects(240, shape=(40, 60), contrast=0.0, random_state=0)
images = torch.tensor(np.stack(data.images)).permute(0, 3, 1, 2) / 255.0
images = images - images.mean(dim=(2, 3), keepdim=True)
masks = torch.tensor(np.stack(data.labels)[:, None]).bool()
train, held_out, new = slice(80), slice(80, 120), slice(120, 240)


def network(seed):
    """Two layers of random weights."""
    torch.manual_seed(seed)
    first, second = (torch.nn.Conv2d(a, b, 3, padding=1) for a, b in ((3, 8), (8, 1)))
    return torch.nn.Sequential(first, torch.nn.ReLU(), second)


def iou(labels, part):
    """The mean IoU of the images."""
    both, either = labels & masks[part], labels | masks[part]
    return (both.sum((1, 2, 3)) / either.sum((1, 2, 3)).clamp(min=1)).mean().item()


cross_entropy, lovasz = torch.nn.BCEWithLogitsLoss(), LovaszHingeLoss("jaccard", per_image=True)


def train_on(model, steps, rate, share=0.0):
    """Train on batches for cross-entropy, and so much of the Lovász loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    order = torch.Generator().manual_seed(0)
    for _ in range(steps):
        rows = torch.randperm(80, generator=order)[:16]
        logits = model(images[rows])
        loss = cross_entropy(logits, masks[rows].float())
        if share:
            loss = loss + share * lovasz(logits, masks[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


# %%
# Remedies
# --------
# All networks take 300 steps with cross-entropy. Then one copy continues for 200 steps with the same loss, and another
# copy with the Lovász loss of each image added. Thresholds of logits are tuned on held-out images. ``decide`` needs
# only the logits, and relies on their probabilities. Three random starts show how much is chance.

thresholds = torch.linspace(-4, 3, 71)
results, shown = {}, {}


def add(name, labels):
    """Keep the masks of the new images, and their mean IoU."""
    results.setdefault(name, []).append(iou(labels, new))
    shown[name] = labels


for seed in range(3):
    start = network(seed)
    train_on(start, 300, 1e-2)
    for name, share in (("cross-entropy", 0.0), ("with Lovász", 1.0)):
        model = copy.deepcopy(start)
        train_on(model, 200, 3e-3, share)
        with torch.no_grad():
            before, logits = model(images[held_out]), model(images[new])
        best = max(thresholds, key=lambda cut: iou(before > cut, held_out))
        add(f"{name}, logits above 0", logits > 0)
        add(f"{name}, tuned threshold", logits > best)
        add(f"{name}, decide", decide(logits, "jaccard").labels.bool())

for name, found in results.items():
    print(f"{name:31} {np.mean(found):.3f}  ({', '.join(f'{one:.3f}' for one in found)})")

fig, axes = plt.subplots(figsize=(6.6, 3.6), layout="constrained")
for one in np.transpose(list(results.values())):
    axes.plot(one, range(len(results)), "-o", color="#888888", alpha=0.6, markersize=4)
for row, (name, found) in enumerate(results.items()):
    color = "#2a7fb8" if name.startswith("cross") else "#d1495b"
    axes.plot(np.mean(found), row, "|", color=color, markersize=24, markeredgewidth=4)
axes.set_yticks(range(len(results)), results)
axes.invert_yaxis()
axes.margins(y=0.12)
axes.set_xlabel("mean IoU of new images")
axes.set_title("Three remedies raise IoU alike (gray: three starts)")
fig.set_label(
    "Mean IoU of six ways to train and decide, three starts each. A threshold, decide and the "
    "Lovász loss gain some 0.05 over cross-entropy; decide on the Lovász logits loses 0.07."
)

# %%
# The three remedies gain about the same here, and much more than doing nothing. The tuned threshold needs held-out
# images with masks. ``decide`` needs none and leaves the network as it is. The Lovász loss needs neither a threshold
# nor ``decide``, and is slightly better. Do not combine them here: ``decide`` reads logits as log-odds, which they no
# longer are after the Lovász loss, so it makes the masks worse. For other networks it does not:
# :doc:`/guide/iou_goes_down` has a table.
#
# All three predict more pixels, so more right ones and more wrong ones. The pictures show the Lovász
# loss of the third start; the IoU is that of all new images:

chosen = [2, 5, 8]
names = {
    "cross-entropy": "cross-entropy, logits above 0",
    "with Lovász": "with Lovász, logits above 0",
}
drawn = {"truth": masks[new]}
drawn |= {f"{short}\nIoU {results[name][-1]:.2f}": shown[name] for short, name in names.items()}
columns = {name: [one[i, 0].numpy() for i in chosen] for name, one in drawn.items()}
figure = plotting.segmentations([data.images[new][i] for i in chosen], columns)
figure.set_label(
    "Three new images with the true mask and those of cross-entropy, which are small and full of "
    "holes, and of the Lovász loss, which cover more of the object and more around it."
)

# %%
# :doc:`/guide/torch` says which loss suits which measure, :doc:`/guide/decisions` what ``decide`` computes, and
# :doc:`/guide/iou_goes_down` what to check if the IoU falls although the loss falls too.
