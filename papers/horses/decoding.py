"""Masks from scores of pixels: above 0, above a tuned threshold, and of least expected loss; and their measures."""

from typing import NamedTuple, final

import numpy as np
import torch

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values
from setwise.decisions import best_threshold
from setwise.losses import Jaccard
from setwise.torch import decide


@final
class DecodedScores(NamedTuple):
    """Jaccard indices in percent, (decodings, measures), and masks (decodings, n, H, W)."""

    cells: Values
    masks: Bools


def indices(masks: Bools, truth: Bools) -> Values:
    """In percent, the mean Jaccard index of the images (n, H, W), and that of all their pixels as one set."""
    flat, right = masks.ravel(), truth.reshape(len(truth), -1)
    losses = [float(Jaccard().values(sets, flat).mean()) for sets in (Sets.rows(right), Sets.single(right.ravel()))]
    return 100.0 * (1.0 - np.array(losses))


def decoded(held: Values, held_truth: Bools, scores: Values, truth: Bools) -> DecodedScores:
    """Decode test scores (n, H, W), with thresholds that are best on held scores for each of the two measures.

    Masks of a tuned threshold are those for the mean of the images.
    """
    flat = held_truth.reshape(len(held), -1)
    sets = (Sets.rows(flat), Sets.single(flat.ravel()))
    tuned = [scores >= best_threshold(one, held.ravel(), Jaccard()).threshold for one in sets]
    masks = np.stack([scores > 0.0, tuned[0], decide(torch.from_numpy(scores), "jaccard").labels.numpy()])
    cells = np.stack([indices(one, truth) for one in masks])
    cells[1, 1] = indices(tuned[1], truth)[1]
    return DecodedScores(cells, masks)
