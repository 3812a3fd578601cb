"""Random logits, targets and arguments of the losses in PyTorch, and what they are worth by a loop over sets."""

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Case:
    """Logits, which labels are positive and which count, each (N, C, pixels), and how they are passed."""

    logits: np.ndarray
    positive: np.ndarray
    counted: np.ndarray
    given: torch.Tensor
    target: torch.Tensor
    mask: torch.Tensor | None
    options: dict

    @property
    def single(self):
        return self.options["mode"] == "binary"


def draw(rng, mode, choices):
    """A random case; ``choices`` are further options, as {name: values to choose from}."""
    C = 1 if mode == "binary" else int(rng.integers(2, 5)) if mode == "multiclass" else int(rng.integers(1, 5))
    N, space = int(rng.integers(1, 4)), tuple(int(d) for d in rng.integers(1, 4, int(rng.integers(0, 4))))
    S = int(np.prod(space))
    dtype = pick(rng, [torch.float64, torch.float32])
    logits = (rng.standard_normal((N, C, S)) * pick(rng, [0.3, 1.0, 4.0])).astype(str(dtype).removeprefix("torch."))
    present = rng.permutation(C)[: rng.integers(1, C + 1)]
    labels = present[rng.integers(0, len(present), (N, 1, S))]
    if mode == "multiclass":
        positive = labels == np.arange(C)[:, None]
    else:
        positive = (rng.random((N, C, S)) < pick(rng, [0.0, 0.2, 0.6])) & np.isin(np.arange(C), present)[:, None]
    options = {"mode": mode, "per_image": pick(rng, [False, True]), "reduction": pick(rng, ["none", "mean", "sum"])}
    options |= {name: pick(rng, values) for name, values in choices.items()}
    options["class_weight"] = pick(rng, [None, None, rng.integers(1, 4, C).tolist(), rng.random(C) + 0.1])
    if mode != "binary":
        some = rng.permutation(C)[: rng.integers(1, C + 1)].tolist()
        options["classes"] = pick(rng, ["present", "all", some])
        options["include_background"] = bool(rng.random() < 0.7 or C == 1 or some == [0])
    target, unknown = target_of(rng, mode, labels if mode == "multiclass" else positive, positive, options)
    mask, masked = mask_of(rng, positive.shape)
    shape = (N, *space) if mode == "binary" and rng.random() < 0.5 else (N, C, *space)
    return Case(
        logits,
        positive,
        ~(unknown | masked),
        scattered(rng, torch.from_numpy(logits.reshape(shape))),
        scattered(rng, target.reshape(shaped(rng, target.shape, shape, C, mode, space))),
        None if mask is None else mask.reshape(shaped(rng, mask.shape, shape, C, mode, space)),
        options,
    )


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def target_of(rng, mode, labels, positive, options):
    """The target (N, 1 or C, pixels) as a tensor, and which labels it leaves unknown."""
    one_hot = mode != "multiclass" or rng.random() < 0.3
    known = labels if not one_hot else positive
    kind = pick(rng, [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32])
    if not one_hot and kind is torch.bool:
        kind = torch.int64
    values = torch.from_numpy(known.astype(np.int64))
    unknown = np.zeros_like(positive)
    style = pick(rng, ["none", "outside", "class"])
    if style == "outside" and kind is not torch.bool:
        options["ignore_index"] = 255 if kind is torch.uint8 else pick(rng, [255, -1, -100])
        odd = rng.random(values.shape) < pick(rng, [0.2, 1.0])
        values[torch.from_numpy(odd)] = options["ignore_index"]
        # A pixel counts for all classes or for none where it has one of them; labels count one by one elsewhere.
        unknown |= odd.any(axis=1, keepdims=True) if mode == "multiclass" else odd
    elif style == "class":
        options["ignore_index"] = int(rng.integers(0, positive.shape[1] if mode == "multiclass" else 2))
        if mode == "multiclass":
            unknown |= positive[:, [options["ignore_index"]]]
        else:
            unknown |= positive == bool(options["ignore_index"])
    return values.to(kind), unknown


def mask_of(rng, shape):
    """A mask of pixels or of labels, or None, and which labels it leaves out."""
    style = pick(rng, ["none", "pixels", "labels"])
    kept = rng.random((shape[0], 1 if style == "pixels" else shape[1], shape[2])) < pick(rng, [0.5, 0.9, 1.0])
    if style == "none":
        return None, np.zeros(shape, dtype=bool)
    return torch.from_numpy(kept), np.broadcast_to(~kept, shape)


def shaped(rng, given, logits, C, mode, space):
    """One of the shapes in which what is (N, 1 or C, pixels) may be passed."""
    if given[1] > 1 or (mode == "multilabel" and C == 1 and given[1] == C):
        return logits
    return pick(rng, [(given[0], *space), (given[0], 1, *space)])


def scattered(rng, tensor):
    """The same tensor, sometimes as a view with gaps or with another order in memory."""
    style = pick(rng, ["plain", "gaps", "order"])
    if style == "gaps":
        return torch.stack([tensor, tensor], dim=-1)[..., 1]
    return tensor.T.contiguous().T if style == "order" and tensor.ndim == 2 else tensor


def expected(case, surrogate, scores, weights):
    """The loss and its gradient by the scores (N, C, pixels), by a loop over the sets.

    ``weights`` are those of the sets where nothing is reduced.
    """
    option = case.options.get
    C = scores.shape[1]
    classes = option("classes", "present")
    chosen = [
        c for c in (classes if isinstance(classes, list) else range(C)) if c or option("include_background", True)
    ]
    present = option("empty") == "ignore" or (not case.single and classes == "present")
    groups = [[i] for i in range(len(scores))] if option("per_image") else [list(range(len(scores)))]
    values, shares = np.zeros((len(groups), len(chosen))), np.zeros((len(groups), len(chosen)))
    gradients = np.zeros((len(groups), len(chosen), *scores.shape))
    for g, images in enumerate(groups):
        for k, c in enumerate(chosen):
            at = np.zeros(scores.shape, dtype=bool)
            at[images, c] = case.counted[images, c]
            if at.any() and (case.positive[at].any() or not present):
                seen = surrogate(case.positive[at], scores[at])
                values[g, k], gradients[g, k][at] = seen.value, seen.gradient
                shares[g, k] = 1.0 if option("class_weight") is None else option("class_weight")[c]
    if option("reduction") == "none":
        shares, found = weights.reshape(shares.shape), values if option("per_image") else values[0]
    else:
        some = shares.sum(axis=1) > 0
        if option("reduction") == "mean":
            shares[some] /= shares[some].sum(axis=1, keepdims=True) * some.sum()
        found = (shares * values).sum()
    return found, np.einsum("gk,gk...->...", shares, gradients)
