"""What a rule fitted on held-out maps gains over the most probable class, on photographs of 21 classes.

``python benchmarks/map_rules.py --memory [MAPS]`` fits 500 made-up maps of 19 classes and 512 x 512 pixels, which are
made when they are read, and prints the seconds and the memory that this adds.

``python benchmarks/map_rules.py --absent`` fits masks of one object that many images do not have. 100 held-out images
of 64 x 64, half of them empty; 400 new ones, of which 1/10, 1/2 or 9/10 are empty; four seeds. Pixels depend on each
other and are calibrated on held-out images: an object of 400 pixels of .9; elsewhere .01, since one image in a hundred
is an object as a whole ("clean"). In "spots" there is also a spot of 100 pixels of .5, real in half of the cases, in
each image with an object and in a fifth of the others. Entries are gains over the threshold 1/2.

``python benchmarks/map_rules.py --few`` fits 12 or 20 masks of discs, of which .7, .8 or .9 are empty, for the mean
over the masks that have a disc. It takes what gains more than two standard errors, and prints how much of that is lost
on 150 new masks, by the number of masks that the gain comes from.

``python benchmarks/map_rules.py MSRC [--networks N] [--epochs N] [--horses FILE]``, by default 2 networks of 25 epochs;
MSRC is the folder with ``index.npz``, ``images_half_png`` and ``labels_half_png``. FILE is a NumPy archive of
photographs of another source, ``rgb128`` (n, 128, 128, 3). Horse, mountain and what is unlabeled do not count. Of the
318 training images two thirds, drawn by the seed, train a small U-Net by cross-entropy on crops and flips; the others
are the held-out maps that ``MapRule`` is fitted on. Rows are measured on the 273 test images, less the most probable
class:

- "fitted, dataset": the rule that is taken for the IoU of the data set
- "whole, 25 maps": the rule of deciding over the whole set from 25 held-out maps without labels
- "fitted, present": the rule for the IoU of the classes that are present in an image
- "masks": for each class alone its probability and the rest, ``over="all"``; the mean, and the least, over all classes
  of the networks
- ``decide``: labels of least expected IoU, image by image, where pixels are independent
- rankseg, where it is installed: its labels for IoU, and for Dice with ``safe_screening``, image by image

Below are the AUC by which the test images, and those of the other source, are told from the held-out ones, and whether
``predict`` warns of them.
"""

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import clone  # noqa: F401
from papers.horses.network import made
from setwise import MapRule, ShiftWarning
from setwise.decisions.map_rules import MapMeasure, tally_of
from setwise.estimators import map_rule
from setwise.losses import Jaccard
from setwise.torch import decide
from timing import table

OUT = 255
KEPT = [c for c in range(1, 24) if c not in (5, 8)]
SIZE, CROP = 160, 112
WIDTHS, BATCH, RATE = (16, 32, 64, 96), 8, 3e-3


def pictures(folder):
    """Images and labels, padded to squares of 160 pixels, and the given split."""
    index = np.load(folder / "index.npz")
    code = np.full(256, OUT)
    code[KEPT] = np.arange(len(KEPT))
    images, labels = (
        np.zeros((len(index["ids"]), SIZE, SIZE, 3), np.uint8),
        np.full((len(index["ids"]), SIZE, SIZE), OUT),
    )
    for i, name in enumerate(index["ids"]):
        image = np.asarray(Image.open(folder / "images_half_png" / f"{name}.png"))[:SIZE, :SIZE]
        h, w = image.shape[:2]
        images[i, :h, :w] = image
        labels[i, :h, :w] = code[np.asarray(Image.open(folder / "labels_half_png" / f"{name}.png"))[:h, :w]]
    return images, labels, index["train"], index["test"]


def trained(images, labels, seed, epochs):
    """A network trained on some images."""
    torch.manual_seed(seed)
    network = made(WIDTHS, len(KEPT), seed)
    optimizer, steps = torch.optim.Adam(network.parameters(), RATE), epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    rng = np.random.default_rng(seed)
    x, y = as_input(images), torch.from_numpy(labels)
    for _ in range(epochs):
        for chosen in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
            i, j = rng.integers(0, SIZE - CROP, 2)
            a, b = x[chosen, :, i : i + CROP, j : j + CROP], y[chosen, i : i + CROP, j : j + CROP]
            if rng.random() < 0.5:
                a, b = a.flip(3), b.flip(2)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(a), b, ignore_index=OUT).backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def as_input(images):
    """Images as the network reads them."""
    return (torch.from_numpy(images).float() / 255.0 - 0.5).permute(0, 3, 1, 2) / 0.25


@torch.no_grad()
def probabilities(network, images):
    """The probabilities of the classes, (n, C, H, W)."""
    return torch.cat([network(as_input(images[i : i + 8])).softmax(dim=1) for i in range(0, len(images), 8)]).numpy()


def measure(labels, target, over, classes):
    """The measure of labels of maps."""
    y = np.where(target == OUT, -1, target).reshape(len(target), -1)
    tallies = np.stack([tally_of(h, each, classes) for h, each in zip(labels.reshape(len(labels), -1), y, strict=True)])
    return MapMeasure(Jaccard(), over, 1 if classes == 2 else 0).values(tallies, np.ones((1, len(labels))))[0]


def of_rankseg(q):
    """Labels of rankseg by name, nothing where it is not installed."""
    try:
        from rankseg import RankSEG
    except ImportError:
        return {}
    makers = {
        "rankseg, IoU": RankSEG("IoU", solver="RMA", output_mode="multiclass"),
        "rankseg, Dice, safe_screening": RankSEG("dice", solver="RMA", output_mode="multiclass", safe_screening=True),
    }
    return {name: maker.predict(torch.from_numpy(q)).numpy() for name, maker in makers.items()}


def warned(rule, q):
    """The AUC of maps beside those of the fit, and whether the rule warns of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rule.predict(q)
    return f"AUC {rule.shift(q):.2f}, {'warns' if any(w.category is ShiftWarning for w in caught) else 'does not warn'}"


def main(folder, networks, epochs, horses):
    """Print the gains of each network."""
    images, labels, train, test = pictures(folder)
    other = None if horses is None else np.load(horses)["rgb128"]
    told = []
    cells, masks = [("network", "rule", "taken", "gain in the fit", "dataset", "present", "all", "pixels right")], []
    for seed in range(networks):
        order = np.random.default_rng(seed).permutation(train)
        fitted, held = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
        network = trained(images[fitted], labels[fitted], seed, epochs)
        q, new = probabilities(network, images[held]), probabilities(network, images[test])
        truth, target = labels[held], labels[test]
        plain = new.argmax(axis=1)
        base = [measure(plain, target, over, len(KEPT)) for over in ("dataset", "present", "all")]
        right = (plain == target)[target != OUT].mean()
        cells.append((f"{seed}", "the most probable", "", "", *(f"{b:.3f}" for b in base), f"{right:.3f}"))

        def row(name, taken, gain, found, seed=seed, base=base, right=right, target=target):
            gains = [measure(found, target, over, len(KEPT)) for over in ("dataset", "present", "all")]
            rest = [f"{g - b:+.3f}" for g, b in zip(gains, base, strict=True)]
            accuracy = (found == target)[target != OUT].mean() - right
            cells.append((f"{seed}", name, taken, gain, *rest, f"{accuracy:+.3f}"))

        options = {"from_logits": False, "random_state": 0}
        for over in ("dataset", "present", "all"):
            rule = MapRule(over, ignore_index=OUT, **options).fit(q, truth)
            print(rule, flush=True)
            row(f"fitted, {over}", rule.rule_, f"{rule.gain_:+.3f} +- {rule.gain_se_:.3f}", rule.predict(new))
        whole = MapRule("dataset", **options).fit(q[:25])
        row("whole, 25 maps", "whole", "", whole.predict(new))
        decided = decide(torch.from_numpy(new), mode="multiclass", from_logits=False).labels.numpy()
        row("decide, by image", "", "", decided)
        for name, found in of_rankseg(new).items():
            row(name, "", "", found)
        told.append(f"{seed}: test {warned(whole, new)}")
        if other is not None:
            told[-1] += f"; other source {warned(whole, probabilities(network, other))}"
        for c in range(len(KEPT)):
            one = [(y == c).astype(int) + (y == OUT) * OUT for y in (truth, target)]
            rule = MapRule("all", ignore_index=OUT, **options).fit(q[:, c : c + 1], one[0])
            found = rule.predict(new[:, c : c + 1])
            start = (new[:, c] > 0.5).astype(int)
            gain = measure(found, one[1], "all", 2) - measure(start, one[1], "all", 2)
            masks.append((gain, rule.rule_))
            there = (truth == c).any(axis=(1, 2)).sum()
            print(f"mask of class {c}: {there} held-out images have it, {rule.rule_}, gain {gain:+.4f}", flush=True)
    table(cells)
    print("\n".join(told))
    gains = np.array([gain for gain, _ in masks])
    names = [name for _, name in masks]
    print(
        f"masks: {len(gains)} tasks, gain {gains.mean():+.4f} +- {gains.std(ddof=1) / np.sqrt(len(gains)):.4f}, least "
        f"{gains.min():+.4f}, taken { ({name: names.count(name) for name in sorted(set(names))}) }"
    )


class GeneratedMaps:
    """Maps, or with ``labels`` their targets, that are made when they are read."""

    def __init__(self, maps, labels):
        self.maps, self.labels = maps, labels

    def __len__(self):
        return self.maps

    def __getitem__(self, i):
        if not 0 <= i < self.maps:
            raise IndexError
        rng = np.random.default_rng(i)
        y = rng.choice(19, (16, 16), p=np.arange(19, 0, -1) / 190).repeat(32, axis=0).repeat(32, axis=1)
        if self.labels:
            return y
        logits = rng.standard_normal((19, 512, 512), dtype=np.float32)
        np.put_along_axis(logits, y[None], np.take_along_axis(logits, y[None], axis=0) + 2.0, axis=0)
        return logits


def memory(maps):
    """Print the seconds and the memory of a fit."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    rule = MapRule("dataset", random_state=0).fit(GeneratedMaps(maps, False), GeneratedMaps(maps, True))
    seconds = time.perf_counter() - begin
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{rule}\n{maps} maps of 19 x 512 x 512: {seconds:.0f} s, {more:,.0f} MiB more")


def masks(rng, maps, empty, law):
    """Probabilities (maps, 1, 64, 64) and labels of masks, of which a share is empty."""
    q, y = np.full((maps, 64, 64), 0.01), np.zeros((maps, 64, 64), bool)
    for i in range(maps):
        there = rng.random() >= empty
        if there:
            a, b = rng.integers(0, 44, 2)
            q[i, a : a + 20, b : b + 20] = 0.9
            y[i, a : a + 20, b : b + 20] = rng.random((20, 20)) < 0.9
        if law == "spots" and (there or rng.random() < 0.2):
            a, b = rng.integers(0, 54, 2)
            q[i, a : a + 10, b : b + 10], y[i, a : a + 10, b : b + 10] = 0.5, rng.random() < 0.5
        if rng.random() < 0.01:
            y[i] |= q[i] == 0.01
    return q[:, None], y.astype(int)


def absent():
    """Print the gains on masks that are often empty."""
    cells = [("law", "measure", "empty new images", "taken", *(f"seed {seed}" for seed in range(4)), "warns")]
    for law in ("clean", "spots"):
        for over in ("dataset", "present", "all"):
            rules = []
            for seed in range(4):
                q, y = masks(np.random.default_rng(seed), 100, 0.5, law)
                rules.append(MapRule(over, from_logits=False, random_state=0).fit(q, y))
            for empty in (0.1, 0.5, 0.9):
                gains, flagged = [], 0
                for seed, rule in enumerate(rules):
                    q, y = masks(np.random.default_rng(100 + seed), 400, empty, law)
                    start = measure((q[:, 0] > 0.5).astype(int), y, over, 2)
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        gains.append(measure(rule.predict(q), y, over, 2) - start)
                    flagged += any(w.category is ShiftWarning for w in caught)
                taken = ", ".join(sorted({rule.rule_ for rule in rules}))
                cells.append((law, over, f"{empty:.1f}", taken, *(f"{gain:+.4f}" for gain in gains), f"{flagged} of 4"))
    table(cells)


def discs(rng, n, empty, offset, side=24):
    """Noisy logits of masks that hold a disc or are empty."""
    y, grid = np.zeros((n, side, side), int), np.mgrid[:side, :side]
    for i in np.flatnonzero(rng.random(n) >= empty):
        center, radius = rng.uniform(0, side, 2), rng.uniform(1.5, 7)
        y[i] = ((grid - center[:, None, None]) ** 2).sum(axis=0) < radius**2
    noise = 1.2 * rng.standard_normal((n, 1, 1)) + rng.standard_normal((n, side, side))
    return (4.0 * y - 2.0 + offset + noise)[:, None], y


def few(seeds=80):
    """Print what is lost by rules whose gain comes from a few maps."""
    known, fits, taken = map_rule.is_known, 0, {"1": [], "2": [], "3 or 4": [], "5 or more": []}
    map_rule.is_known = lambda gain, se, carriers: gain > 2.0 * se
    for empty in (0.7, 0.8, 0.9):
        for offset in (0.0, -1.0, -1.5):
            for n in (12, 20):
                for seed in range(seeds):
                    fits += 1
                    rng = np.random.default_rng(seed)
                    rule = MapRule("present", random_state=0).fit(*discs(rng, n, empty, offset))
                    if rule.rule_ == "plain":
                        continue
                    new, y = discs(rng, 150, empty, offset)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ShiftWarning)
                        gain = measure(rule.predict(new), y, "present", 2)
                    gain -= measure((new[:, 0] > 0).astype(int), y, "present", 2)
                    row = next(row for row in rule.table_ if row["rule"] == rule.rule_)
                    k = int(row["from"] + 1e-9)
                    name = "5 or more" if k >= 5 else "3 or 4" if k >= 3 else f"{k}"
                    taken[name].append((gain, row["gain"], known(row["gain"], row["se"], row["from"])))
    cells = [
        (
            "from",
            "fits",
            "gain in the fit",
            "gain on new masks",
            "least",
            "share that loses > .005",
            "taken by a t-test",
            "of these lose",
        )
    ]
    for name, found in taken.items():
        new, said, kept = np.array(found).reshape(-1, 3).T
        lost = new < -0.005
        shares = (f"{lost.mean():.2f}", f"{kept.sum():.0f}", f"{(lost * kept).sum():.0f}")
        figures = (f"{said.mean():+.3f}", f"{new.mean():+.3f}", f"{new.min():+.3f}") if len(new) else ("", "", "")
        cells.append((name, f"{len(new)} of {fits}", *figures, *shares))
    table(cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--networks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--horses", type=Path)
    parser.add_argument("--memory", nargs="?", type=int, const=500)
    parser.add_argument("--absent", action="store_true")
    parser.add_argument("--few", action="store_true")
    given = parser.parse_args()
    if given.few:
        few()
    elif given.absent:
        absent()
    elif given.memory:
        memory(given.memory)
    else:
        main(given.folder, given.networks, given.epochs, given.horses)
