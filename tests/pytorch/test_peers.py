"""The losses in PyTorch equal those of other packages where these are right; where they are wrong, ours are enumerated.

What is said here of a package is asserted of it wherever it is at hand; ours is asserted always.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch import peers  # noqa: E402
from setwise.core import enumerate as brute  # noqa: E402
from setwise.losses import Jaccard  # noqa: E402
from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss  # noqa: E402

SMP = peers.each("segmentation_models_pytorch", "losses.lovasz")
KORNIA_SOFTMAX = peers.each("kornia", "losses.lovasz_softmax")
KORNIA_HINGE = peers.each("kornia", "losses.lovasz_hinge")

# Five pixels of three classes, of which the last is absent.
LOGITS = torch.tensor([[[0.3, -1.2, 0.8, 0.1, -0.4], [1.1, 0.2, -0.7, 0.5, 0.9], [-0.6, 0.4, 0.1, -1.5, 0.0]]])
LABELS = torch.tensor([[0, 1, 1, 0, 1]])


def class_loss(probabilities, truth):
    """The Lovász extension of Jaccard at the errors of probabilities, as the greatest sum over all orders."""
    margins = np.where(truth, probabilities, probabilities - 1)
    return brute.lovasz_hinge(Jaccard(), truth, margins, True)


def softmax_by_enumeration(logits, labels, classes):
    """The mean over ``classes`` of one image (C, p)."""
    q = logits.double().softmax(dim=0).numpy()
    return np.mean([class_loss(q[c], (labels == c).numpy()) for c in classes])


def random_batch(rng, C):
    N, space = int(rng.integers(1, 4)), [int(d) for d in rng.integers(1, 6, 2)]
    logits = torch.from_numpy(rng.standard_normal((N, C, *space)).astype(np.float32))
    some = rng.permutation(max(C, 2))[: rng.integers(1, max(C, 2) + 1)]
    labels = torch.from_numpy(some[rng.integers(0, len(some), (N, *space))])
    return logits, labels


def agree(logits, ours, theirs):
    """The same value and the same gradient."""
    found = []
    for loss in (ours, theirs):
        given = logits.clone().requires_grad_()
        value = loss(given)
        value.backward()
        found.append((value.item(), given.grad))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    torch.testing.assert_close(found[0][1], found[1][1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_equal_to_segmentation_models_pytorch_where_it_is_right(peer):
    rng = np.random.default_rng(0)
    for _ in range(250):
        mode, per_image = ("binary", "multiclass")[int(rng.integers(2))], bool(rng.random() < 0.5)
        logits, labels = random_batch(rng, 1 if mode == "binary" else int(rng.integers(2, 5)))
        ignore_index = None if rng.random() < 0.5 else 255
        if ignore_index is not None:
            # It cannot do without a pixel that counts in each image.
            labels[..., 1:][torch.from_numpy(rng.random(labels[..., 1:].shape) < 0.3)] = 255
        ours = {"binary": LovaszHingeLoss, "multiclass": LovaszSoftmaxLoss}[mode](
            mode=mode, per_image=per_image, ignore_index=ignore_index
        )
        theirs = peer[1].LovaszLoss(mode, per_image=per_image, ignore_index=ignore_index)
        agree(logits, lambda z, f=ours, y=labels: f(z, y), lambda z, f=theirs, y=labels: f(z, y))


@pytest.mark.parametrize("peer", KORNIA_SOFTMAX, ids=lambda peer: str(peer[0]))
def test_the_softmax_equals_that_of_kornia_from_0_9_on(peer):
    if peer[0] < (0, 9):
        pytest.skip("it is wrong before 0.9.0")
    rng = np.random.default_rng(1)
    for _ in range(125):
        logits, labels = random_batch(rng, int(rng.integers(2, 5)))
        ours = LovaszSoftmaxLoss(per_image=True, classes="all")
        agree(logits, lambda z, f=ours, y=labels: f(z, y), lambda z, y=labels: peer[1].lovasz_softmax_loss(z, y))


@pytest.mark.parametrize("peer", KORNIA_HINGE, ids=lambda peer: str(peer[0]))
def test_the_hinge_equals_that_of_kornia(peer):
    rng = np.random.default_rng(2)
    for _ in range(125):
        logits, labels = random_batch(rng, 1)
        ours = LovaszHingeLoss(per_image=True)
        agree(logits, lambda z, f=ours, y=labels: f(z, y), lambda z, y=labels: peer[1].lovasz_hinge_loss(z, y))


def test_equal_to_the_functions_of_the_first_authors():
    theirs = peers.berman()
    rng = np.random.default_rng(3)
    for _ in range(60):
        logits, labels = random_batch(rng, 3)
        per_image, classes = bool(rng.random() < 0.5), ("present", "all", [2, 0])[int(rng.integers(3))]
        ours = LovaszSoftmaxLoss(from_logits=False, per_image=per_image, classes=classes)
        agree(
            logits.softmax(dim=1),
            lambda q, f=ours, y=labels: f(q, y),
            lambda q, y=labels, c=classes, each=per_image: theirs.lovasz_softmax(q, y, classes=c, per_image=each),
        )
        labels = labels.clamp(max=1)
        hinge = LovaszHingeLoss(per_image=per_image)
        agree(
            logits[:, 0].contiguous(),
            lambda z, f=hinge, y=labels: f(z, y),
            lambda z, y=labels, each=per_image: theirs.lovasz_hinge(z, y, per_image=each),
        )


@pytest.mark.parametrize("peer", KORNIA_SOFTMAX, ids=lambda peer: str(peer[0]))
def test_class_numbers_are_no_foreground(peer):
    """kornia 0.6.5 to 0.8.3 counts class numbers as positives, the same ones for each class."""
    theirs = peer[1].lovasz_softmax_loss(LOGITS[..., None], LABELS[..., None]).item()
    expected = softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1, 2])
    assert theirs == pytest.approx(expected if peer[0] >= (0, 9) else 0.4785, abs=1e-4)


def test_ours_is_right_where_class_numbers_are_no_foreground():
    assert LovaszSoftmaxLoss(classes="all")(LOGITS, LABELS).item() == pytest.approx(
        softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1, 2])
    )


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_its_kinds_of_floats(peer):
    """segmentation_models_pytorch 0.6.0 multiplies float32 with the floats of the logits."""
    for mode, kinds in (("multiclass", (torch.float16, torch.bfloat16, torch.float64)), ("binary", (torch.float64,))):
        logits = LOGITS[..., None] if mode == "multiclass" else LOGITS[:, 0]
        for kind in kinds:
            with pytest.raises(RuntimeError, match="expected both vectors to have same dtype"):
                peer[1].LovaszLoss(mode)(logits.to(kind), LABELS[..., None])
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        peer[1].LovaszLoss("binary")(LOGITS[:, 0], LABELS == 1)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_ours_takes_all_kinds_of_floats(kind):
    logits = LOGITS.to(kind).clone().requires_grad_()
    value = LovaszSoftmaxLoss()(logits, LABELS)
    value.backward()
    assert value.item() == pytest.approx(softmax_by_enumeration(logits.detach()[0], LABELS[0], [0, 1]), abs=1e-6)
    assert value.dtype == (kind if kind is torch.float64 else torch.float32)
    assert logits.grad.dtype == kind
    hinge = LovaszHingeLoss()(LOGITS[:, 0].to(kind), LABELS == 1).item()
    margins = LOGITS[0, 0].to(kind).double().numpy()
    assert hinge == pytest.approx(brute.lovasz_hinge(Jaccard(), (LABELS[0] == 1).numpy(), margins, True), abs=1e-6)


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_its_batches_in_which_nothing_counts(peer):
    """segmentation_models_pytorch 0.6.0 returns an empty tensor for an image without a pixel that counts."""
    images, labels = LOGITS[..., None].repeat(2, 1, 1, 1).requires_grad_(), LABELS[..., None].repeat(2, 1, 1)
    loss = peer[1].LovaszLoss("multiclass", ignore_index=255)
    assert loss(images, torch.full_like(labels, 255)).shape == (0, 3)
    labels[0] = 255
    each = peer[1].LovaszLoss("multiclass", per_image=True, ignore_index=255)
    assert each(images, labels).shape == (0, 3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        each(images, labels.flip(0))
    # An image without a pixel that counts has a part in the mean as if it were perfect.
    halved = peer[1].LovaszLoss("binary", per_image=True, ignore_index=255)(images[:, 0], labels)
    assert halved.item() == pytest.approx(LovaszHingeLoss()(LOGITS[:, 0], LABELS).item() / 2)


def test_ours_leaves_out_images_in_which_nothing_counts():
    images, labels = LOGITS.repeat(2, 1, 1).requires_grad_(), LABELS.repeat(2, 1)
    labels[0] = 255
    value = LovaszSoftmaxLoss(per_image=True, ignore_index=255)(images, labels)
    value.backward()
    assert value.item() == pytest.approx(softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1]))
    assert not images.grad[0].any()
    assert images.grad[1].any()
    hinge = LovaszHingeLoss(per_image=True, ignore_index=255)(images[:, 0], labels).item()
    truth = LABELS[0].numpy() == 1
    assert hinge == pytest.approx(brute.lovasz_hinge(Jaccard(), truth, LOGITS[0, 0].double().numpy(), True))


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_its_labels_are_one_set(peer):
    """segmentation_models_pytorch 0.6.0 takes one Jaccard of all labels together in multilabel mode."""
    bits = torch.stack([LABELS[0] == 0, LABELS[0] == 1, LABELS[0] > 5])[None]
    flat = LovaszHingeLoss()(LOGITS.reshape(1, -1), bits.reshape(1, -1)).item()
    assert peer[1].LovaszLoss("multilabel")(LOGITS, bits.long()).item() == pytest.approx(flat)


def test_each_of_our_labels_is_a_set():
    bits = torch.stack([LABELS[0] == 0, LABELS[0] == 1, LABELS[0] > 5])[None]
    each = [brute.lovasz_hinge(Jaccard(), bits[0, c].numpy(), LOGITS[0, c].double().numpy(), True) for c in range(3)]
    found = LovaszHingeLoss(mode="multilabel", classes="all")(LOGITS, bits).item()
    assert found == pytest.approx(np.mean(each))
    assert LovaszHingeLoss(mode="multilabel")(LOGITS, bits).item() == pytest.approx(np.mean(each[:2]))
    assert abs(found - LovaszHingeLoss()(LOGITS.reshape(1, -1), bits.reshape(1, -1)).item()) > 0.03


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_its_probabilities_are_taken_for_logits(peer):
    """segmentation_models_pytorch 0.6.0 does not read ``from_logits``."""
    q = LOGITS.softmax(dim=1)
    theirs = peer[1].LovaszLoss("multiclass", from_logits=False)(q[..., None], LABELS[..., None]).item()
    assert theirs == pytest.approx(softmax_by_enumeration(q[0], LABELS[0], [0, 1]))
    ours = LovaszSoftmaxLoss(from_logits=False)(q, LABELS).item()
    assert ours == pytest.approx(softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1]))


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_its_labels_out_of_range_are_silent(peer):
    """segmentation_models_pytorch 0.6.0 returns the number 0 where no label is a class; ours says which label it is."""
    assert peer[1].LovaszLoss("multiclass")(LOGITS[..., None], LABELS[..., None] + 200) == 0
    with pytest.raises(ValueError, match="from 0 to 2, or ignore_index; got 200"):
        LovaszSoftmaxLoss()(LOGITS, LABELS + 200)


def test_the_first_authors_compare_words_by_identity():
    """A word that is made at run time, as one that was read from a file, counts absent classes there."""
    theirs = peers.berman()
    q, word = LOGITS.softmax(dim=1)[..., None], "".join(["pres", "ent"])
    assert theirs.lovasz_softmax(q, LABELS[..., None], classes=word).item() == pytest.approx(
        softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1, 2])
    )
    ours = LovaszSoftmaxLoss(classes=word, from_logits=False)(q, LABELS[..., None]).item()
    assert ours == pytest.approx(softmax_by_enumeration(LOGITS[0], LABELS[0], [0, 1]))
