"""Decisions from logits equal enumeration, set by set, and their bounds hold."""

from itertools import product

import numpy as np
import pytest

from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import least_expected_loss, least_expected_loss_of_map
from setwise.losses import FBeta, GMean, Jaccard, RowCosts

torch = pytest.importorskip("torch")

from setwise.torch import decide  # noqa: E402

LOSSES = {
    "dice": FBeta(),
    "iou": Jaccard(),
    "f1": FBeta(),
    "jaccard": Jaccard(),
    "hamming": None,
    FBeta(zero_division=0.0): None,
    GMean(): None,
}


def draws(seed, shape, mode="binary"):
    """Logits of very different certainty, and probabilities by the definition."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal(shape) * rng.choice([0.0, 0.3, 1.0, 4.0, 40.0])
    if mode == "multiclass":
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return logits, e / e.sum(axis=1, keepdims=True)
    return logits, 1.0 / (1.0 + np.exp(-logits))


def as_loss(loss):
    from setwise.losses import as_loss as named

    return LOSSES[loss] or named(loss)


def table(loss, p):
    """The loss of every labeling (second axis) for every truth (first axis), and the labelings."""
    every = brute.subsets(p)
    bound_loss = loss.bind(Sets(every.ravel(), np.arange(len(every) + 1) * p))
    return every, np.stack([bound_loss.values(np.tile(h, len(every))) for h in every], axis=1)


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_masks_equal_enumeration(loss):
    for p in (1, 2, 5):
        every, losses = table(as_loss(loss), p)
        for seed in range(10):
            logits, q = draws(seed, (3, 2, p))
            found = decide(torch.tensor(logits), loss, "multilabel", tol=0.0)
            for i, c in np.ndindex(3, 2):
                expected = np.where(every, q[i, c], 1 - q[i, c]).prod(axis=1) @ losses
                at = int((every == found.labels[i, c].numpy()).all(axis=1).argmax())
                assert expected[at] == pytest.approx(expected.min(), abs=1e-12)
                assert found.values[i, c].item() == pytest.approx(expected.min(), abs=1e-12)
            assert found.exact.all()
            assert torch.equal(found.bounds, found.values)


@pytest.mark.parametrize("name", ["dice", "jaccard"])
def test_a_mask_of_ten_pixels_equals_enumeration(name):
    every, losses = table(as_loss(name), 10)
    for seed in range(5):
        logits, q = draws(seed, (1, 10))
        found = decide(torch.tensor(logits), name)
        expected = np.where(every, q[0], 1 - q[0]).prod(axis=1) @ losses
        at = int((every == found.labels[0].numpy()).all(axis=1).argmax())
        assert expected[at] == pytest.approx(expected.min(), abs=1e-12)
        assert found.values.item() == pytest.approx(expected.min(), abs=1e-12)


def map_losses(inner, every, chosen):
    """The mean loss of the chosen classes, of all labels (second axis) for all true labels (first axis)."""
    binary, losses = table(inner, every.shape[1])
    places = {tuple(row): i for i, row in enumerate(binary)}
    at = [np.array([places[tuple(row == c)] for row in every]) for c in chosen]
    return np.mean([losses[np.ix_(a, a)] for a in at], axis=0)


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", ["dice", "jaccard", GMean()], ids=repr)
@pytest.mark.parametrize(("k", "p"), [(2, 6), (3, 4), (4, 3)])
@pytest.mark.parametrize("foreground", [False, True])
def test_maps_of_few_pixels_equal_enumeration(loss, k, p, foreground):
    """All k^p labels are evaluated for all k^p truths."""
    every = np.array(list(product(range(k), repeat=p)))
    means = map_losses(as_loss(loss), every, range(int(foreground), k))
    for seed in range(15):
        logits, q = draws(seed, (1, k, p), "multiclass")
        found = decide(torch.tensor(logits), loss, "multiclass", include_background=not foreground, tol=0.0)
        expected = np.prod(q[0][every, np.arange(p)], axis=1) @ means
        value = expected[(every == found.labels[0].numpy()).all(axis=1)].item()
        assert value == pytest.approx(expected.min(), abs=1e-12)
        assert found.values.item() == pytest.approx(value, abs=1e-12)
        assert found.bounds.item() <= expected.min() + 1e-12
        assert found.exact.item()


def test_the_bound_of_a_map_is_the_mean_of_what_each_class_could_have_alone():
    logits, q = draws(1, (2, 4, 200), "multiclass")
    found, masks = (decide(torch.tensor(logits), "dice", "multiclass", overlapping=o) for o in (False, True))
    alone = decide(torch.tensor(q), "dice", "multilabel", from_logits=False)
    assert torch.equal(masks.labels, alone.labels)
    assert masks.values.shape == (2, 4)
    torch.testing.assert_close(masks.values, alone.values)
    torch.testing.assert_close(found.bounds, masks.bounds.mean(dim=1))
    assert (found.values >= found.bounds).all()


@pytest.mark.parametrize("overlapping", [False, True])
def test_images_in_one_batch_are_decided_as_alone(overlapping):
    logits = torch.tensor(draws(2, (3, 3, 4, 5), "multiclass")[0])
    whole = decide(logits, "dice", "multiclass", overlapping=overlapping)
    for i in range(3):
        alone = decide(logits[i : i + 1], "dice", "multiclass", overlapping=overlapping)
        for one, every in zip(alone, whole, strict=True):
            assert torch.equal(one[0], every[i])


def test_one_image_needs_a_leading_one():
    logits = torch.tensor(draws(4, (4, 5))[0])
    assert [len(decide(given).values) for given in (logits, logits[None])] == [4, 1]


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_a_batch_as_one_set_is_one_image_of_all_pixels(mode):
    channels = 1 if mode == "binary" else 3
    logits = torch.tensor(draws(3, (2, channels, 4, 5))[0])
    found = decide(logits, "jaccard", mode, per_image=False)
    one = decide(logits.transpose(0, 1).reshape(1, channels, 40), "jaccard", mode)
    assert torch.equal(found.values, one.values[0])
    assert torch.equal(found.bounds, one.bounds[0])
    labels = found.labels if mode == "multiclass" else found.labels.transpose(0, 1)
    assert torch.equal(labels.reshape(-1), one.labels.reshape(-1))


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_pixels_that_do_not_count_have_no_part(mode):
    channels = 1 if mode == "binary" else 3
    logits = torch.tensor(draws(5, (2, channels, 4, 5))[0])
    mask = torch.rand(2, 4, 5, generator=torch.Generator().manual_seed(0)) < 0.6
    found = decide(logits, "jaccard", mode, mask=mask)
    logits_without = logits.masked_fill(~mask[:, None], torch.nan)
    for i in range(2):
        alone = decide(logits[i][:, mask[i]][None], "jaccard", mode)
        assert torch.equal(found.values[i], alone.values[0])
        labels = found.labels[i][mask[i]] if mode == "multiclass" else found.labels[i][:, mask[i]]
        assert torch.equal(labels.reshape(-1), alone.labels.reshape(-1))
    usual = logits.argmax(dim=1) if mode == "multiclass" else logits > 0
    outside = ~mask if mode == "multiclass" else ~mask[:, None].expand_as(logits)
    assert torch.equal(found.labels[outside], usual[outside])
    assert torch.equal(decide(logits_without, "jaccard", mode, mask=mask).values, found.values)


def test_each_channel_may_have_a_mask_of_its_own():
    logits = torch.tensor(draws(6, (2, 3, 7))[0])
    mask = torch.rand(2, 3, 7, generator=torch.Generator().manual_seed(1)) < 0.5
    found = decide(logits, "dice", "multilabel", mask=mask)
    for i, c in np.ndindex(2, 3):
        kept = mask[i, c]
        alone = decide(logits[i, c, kept][None], "dice")
        assert torch.equal(found.values[i, c], alone.values[0])
        assert torch.equal(found.labels[i, c, kept], alone.labels[0])


def test_classes_that_do_not_count_are_what_is_left():
    logits, q = draws(7, (1, 4, 60), "multiclass")
    for chosen in ([1, 3], [2], [0, 1, 2, 3]):
        found = decide(torch.tensor(logits), "jaccard", "multiclass", classes=chosen)
        masks = decide(torch.tensor(logits), "jaccard", "multiclass", classes=chosen, overlapping=True)
        assert masks.values.shape == (1, len(chosen))
        assert found.bounds.item() == pytest.approx(masks.bounds.mean().item(), abs=1e-12)
        assert found.values.item() >= found.bounds.item()
        same = least_expected_loss_of_map(q[0].T, "jaccard", classes=chosen)
        np.testing.assert_array_equal(found.labels[0].numpy(), same.labels)
        if len(chosen) == 1:
            assert found.exact.all()
        labels, others = found.labels[0].numpy(), np.setdiff1d(np.arange(4), chosen)
        left = ~np.isin(labels, chosen)
        if left.any():
            np.testing.assert_array_equal(labels[left], others[q[0][others][:, left].argmax(axis=0)])
    foreground = decide(torch.tensor(logits), "jaccard", "multiclass", include_background=False)
    listed = decide(torch.tensor(logits), "jaccard", "multiclass", classes=[1, 2, 3])
    assert torch.equal(foreground.labels, listed.labels)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_small_floats_are_decided_as_what_they_hold(dtype):
    logits = torch.tensor(draws(8, (2, 3, 6, 4))[0]).to(dtype)
    for mode in ("multilabel", "multiclass"):
        found, exact = decide(logits, "dice", mode), decide(logits.double(), "dice", mode)
        assert torch.equal(found.labels, exact.labels)
        torch.testing.assert_close(found.values, exact.values)
        strided = logits.transpose(2, 3).contiguous().transpose(2, 3)
        assert not strided.is_contiguous()
        assert torch.equal(decide(strided, "dice", mode).labels, found.labels)
        q = logits.softmax(dim=1) if mode == "multiclass" else torch.sigmoid(logits)
        assert decide(q, "dice", mode, from_logits=False).values.shape == found.values.shape


@pytest.mark.parametrize(("mode", "shape"), [("binary", (0, 5)), ("multilabel", (0, 3, 5)), ("multiclass", (0, 3, 5))])
def test_empty_batches_and_pixels_that_are_none(mode, shape):
    found = decide(torch.zeros(shape), "dice", mode)
    assert found.labels.shape == (shape if mode != "multiclass" else (0, 5))
    assert found.values.shape == ((0, 3) if mode == "multilabel" else (0,))
    empty = decide(torch.zeros(2, *shape[1:-1], 0), "dice", mode)
    nothing = torch.zeros(2, 5, dtype=torch.bool)
    masked = decide(torch.ones(2, *shape[1:]), "dice", mode, mask=nothing)
    together = decide(torch.zeros(shape), "dice", mode, per_image=False)
    for each in (empty, masked, together):
        assert not each.values.any()
        assert each.exact.all()


def test_what_sets_without_positives_cost():
    """One pixel that is positive with probability q: predicted it costs 1 - q, and otherwise q, or 1 with 0/0 = 0."""
    logits = torch.tensor([[-1.0]])
    q = torch.sigmoid(logits).item()
    assert decide(logits, "dice").labels.item() is False
    assert decide(logits, "dice").values.item() == pytest.approx(q)
    assert decide(logits, FBeta(zero_division=0.0)).labels.item() is True
    assert decide(logits, "jaccard", empty="ignore").labels.item() is True
    assert decide(logits, "jaccard", empty="ignore").values.item() == pytest.approx(0.0, abs=1e-12)
    assert decide(logits, "jaccard", empty="perfect").values.item() == pytest.approx(q)


def test_nothing_has_a_gradient():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    found = decide(logits, "dice", "multilabel")
    assert not any(each.requires_grad for each in found)


@pytest.mark.slow
def test_large_maps_have_small_gaps():
    """The gap of a mask of 512 x 512 pixels is at most 1e-3, without a search for an exact answer."""
    y, x = torch.meshgrid(torch.linspace(0, 1, 512), torch.linspace(0, 1, 512), indexing="ij")
    logits = 6 * torch.sin(9 * x + 4 * y)[None]
    for loss in ("dice", "jaccard"):
        found = decide(logits, loss)
        assert 0 <= (found.values - found.bounds).item() <= 1e-3
        assert found.values.item() <= decide(logits, loss, tol=0.0).values.item() + 1e-3


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"logits": torch.full((2, 3), torch.nan)}, ValueError, "logits must be numbers.*got NaN"),
        ({"logits": torch.zeros(2, 3, dtype=torch.int64)}, TypeError, "logits must be a tensor of floats"),
        ({"logits": torch.full((2, 3), 1.5), "from_logits": False}, ValueError, r"probabilities must .*\[0, 1\]"),
        ({"logits": torch.zeros(2, 3, 4), "mode": "multiclass", "from_logits": False}, ValueError, "the sum 1"),
        ({"logits": torch.zeros(2, 1, 4), "mode": "multiclass"}, ValueError, "two channels or more"),
        ({"classes": [1], "mode": "binary"}, Refusal, "mode='binary' has one"),
        ({"classes": "present", "mode": "multilabel"}, Refusal, "needs a target"),
        ({"overlapping": True}, Refusal, "overlapping=True is for mode='multiclass'"),
        ({"empty": "ignore", "loss": "dice"}, Refusal, "empty='ignore' is for Jaccard"),
        ({"loss": "auc"}, Refusal, "order of scores"),
        ({"mask": torch.ones(2, 5, dtype=torch.bool)}, ValueError, "mask must have one value for each pixel"),
        ({"mask": torch.ones(2, 3)}, TypeError, "mask must be a tensor of bools"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"per_image": 1}, TypeError, "per_image"),
    ],
)
def test_refusals(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        decide(**{"logits": torch.zeros(2, 3), **arguments})


@pytest.mark.parametrize("loss", ["jaccard", "dice"])
def test_classes_that_are_nearly_surely_absent_get_no_pixels_of_large_maps(loss):
    torch.manual_seed(0)
    z = torch.nn.functional.interpolate(torch.randn(1, 8, 32, 32), size=(129, 129), mode="bicubic") * 3
    found = decide(z - 4.0 * torch.arange(8)[None, :, None, None], loss, "multiclass")
    assert found.values.item() - found.bounds.item() < 5e-3
    assert not (found.labels > 4).any()


def test_classes_that_are_certainly_present_and_nowhere_near_are_said():
    q = torch.full((20, 32, 32), 0.01)
    q[:5, :8] = 0.9
    with pytest.warns(UserWarning, match=r"in 15 of 20 sets no pixel has .* prod\(1 - q\) is 3.4e-05 there on average"):
        found = decide(q, from_logits=False)
    assert found.labels[5:].all()
    decide(q[:12], from_logits=False)
    decide(q[:, :16], from_logits=False)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("n", [1, 9])
def test_a_class_that_is_nowhere_near_is_said_of_few_images_if_it_is_so_in_all(n):
    q = torch.full((n + 1, 64, 64), 0.01, dtype=torch.float64)
    with pytest.warns(UserWarning, match=f"in {n} of {n} sets? no pixel has the class with a probability of 0.5"):
        assert decide(q[:n], from_logits=False).labels.all()
    maps = torch.stack([1 - q[:n], q[:n]], dim=1)
    with pytest.warns(UserWarning, match=f"in {n} of {2 * n} sets no pixel has"):
        decide(maps, mode="multiclass", from_logits=False)
    q[n, 0, 0] = 0.99
    decide(q, from_logits=False)


@pytest.mark.parametrize("per_image", [True, False])
def test_each_row_is_decided_by_its_own_costs(per_image):
    rng = np.random.default_rng(0)
    q, costs = rng.random(50), RowCosts(fp=5.0, fn=rng.exponential(8.0, 50), tn=0.2)
    found, want = (
        decide(torch.tensor(q[None]), costs, from_logits=False, per_image=per_image),
        least_expected_loss(q, costs),
    )
    assert (found.labels.numpy().ravel() == want.labels).all()
    assert found.values.numpy().ravel() == pytest.approx(want.values)
