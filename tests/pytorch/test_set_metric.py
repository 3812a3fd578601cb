"""SetMetric is the loss of decided labels over all batches, and counts the sets that the losses count."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score, jaccard_score

from setwise.losses import BalancedError, Cardinality, EarlyDetection, FBeta, Hamming, Jaccard, MeanOverClasses, RocArea

torch = pytest.importorskip("torch")
pytest.importorskip("setwise.torch")

from pytorch.random_cases import draw  # noqa: E402
from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss, RocAreaLoss, SetMetric, decide  # noqa: E402

IGNORED = 255


def drawn(mode, images=5, seed=0):
    """Logits and a target that lacks class 2 in some images, with ignored pixels."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(images, 1 if mode == "binary" else 4, 3, 4, generator=generator)
    if mode == "multiclass":
        target = torch.randint(0, 2, (images, 3, 4), generator=generator) + (torch.arange(images) % 2)[:, None, None]
    else:
        target = (torch.rand(logits.shape, generator=generator) < 0.3).long()
        target[0] = 0
    target[torch.rand(target.shape, generator=generator) < 0.1] = IGNORED
    return logits, target


def vertices(logits, mode):
    """Probabilities 0 and 1 of the labels that the logits decide, at which Lovász-softmax is the loss itself."""
    if mode != "multiclass":
        return (logits > 0).double()
    return torch.nn.functional.one_hot(logits.argmax(dim=1), logits.shape[1]).movedim(-1, 1).double()


ARGUMENTS = [
    {"loss": loss, "mode": mode, "per_image": per_image, **more}
    for loss, mode, per_image in product(
        [Jaccard(), Hamming(), Jaccard() + 0.5 * BalancedError()], ["binary", "multiclass", "multilabel"], [False, True]
    )
    for more in (
        [{}, {"empty": "ignore"}]
        if mode == "binary"
        else [
            {},
            {"classes": "all", "class_weight": [1.0, 2.0, 0.5, 3.0]},
            {"classes": [1, 3], "include_background": False},
            {"include_background": False, "classes": "all"},
        ]
    )
] + [{"loss": Jaccard(), "empty": "fraction", "mode": "multilabel", "classes": "all"}]


@pytest.mark.draw(14)
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=repr)
def test_the_figure_is_what_was_trained_for(arguments):
    mode = arguments["mode"]
    logits, target = drawn(mode)
    mask = torch.rand(target.shape[:1] + target.shape[-2:], generator=torch.Generator().manual_seed(1)) < 0.9
    loss = LovaszSoftmaxLoss(**arguments, ignore_index=IGNORED, from_logits=False)
    metric = SetMetric(**arguments, ignore_index=IGNORED)
    for i in range(0, 5, 2):
        part = logits[i : i + 2], target[i : i + 2], mask[i : i + 2]
        batch = loss(vertices(part[0], mode), *part[1:])
        assert metric(*part).item() == pytest.approx(batch.item(), abs=1e-12)
    expected = loss(vertices(logits, mode), target, mask)
    assert metric.compute().item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("mode", ["binary", "multiclass", "multilabel"])
def test_random_cases_equal_a_loop_over_sets(mode):
    rng = np.random.default_rng(3)
    for _ in range(60):
        case = draw(rng, mode, {"empty": [None, "ignore", "perfect"]})
        options = {name: value for name, value in case.options.items() if name != "reduction"}
        found = SetMetric(Jaccard(), **options)(case.given, case.target, case.mask).item()
        assert found == pytest.approx(by_loop(case, Jaccard(), options), nan_ok=True, abs=1e-12)


def by_loop(case, loss, options):
    """The mean over images, or the whole batch, of the mean over classes of the loss of each set that counts."""
    logits, several = case.logits, options["mode"] != "binary"
    guess = logits == logits.max(axis=1, keepdims=True) if options["mode"] == "multiclass" else logits > 0
    classes = options["classes"] if isinstance(options.get("classes"), list) else range(logits.shape[1])
    classes = [c for c in classes if c > 0 or options.get("include_background", True)]
    weights = np.ones(logits.shape[1]) if options["class_weight"] is None else options["class_weight"]
    present = options["empty"] == "ignore" or (several and options["classes"] == "present")
    means = []
    for images in [[i] for i in range(len(logits))] if options["per_image"] else [slice(None)]:
        total = weight = 0.0
        for c in classes:
            keep = case.counted[images, c]
            truth = case.positive[images, c][keep]
            if truth.size and (truth.any() or not present):
                total, weight = total + weights[c] * loss(truth, guess[images, c][keep]), weight + weights[c]
        if weight > 0:
            means.append(total / weight)
    return np.mean(means) if means else np.nan


def test_it_can_be_a_metric_of_torchmetrics():
    """A metric of torchmetrics is a subclass of its own class, and this one keeps its sums there."""
    torchmetrics = pytest.importorskip("torchmetrics")

    class TorchMetric(torchmetrics.Metric):
        higher_is_better, is_differentiable, full_state_update = False, False, False

        def __init__(self, metric, sums):
            super().__init__()
            self.metric = metric
            self.add_state("sums", sums, dist_reduce_fx="sum")

        def update(self, preds, target):
            self.sums = self.sums + self.metric.sums_of(preds, target)

        def compute(self):
            return self.metric.value_of(self.sums)

    given = {"mode": "multiclass", "ignore_index": IGNORED}
    whole, images = SetMetric(**given), SetMetric(**given, per_image=True)
    both = torchmetrics.MetricCollection(
        {
            "whole": TorchMetric(SetMetric(**given), torch.zeros(4, 4, dtype=torch.int64)),
            "images": TorchMetric(SetMetric(**given, per_image=True), torch.zeros(2, dtype=torch.float64)),
        }
    )
    logits, target = drawn("multiclass")
    for i in range(0, 5, 2):
        part = logits[i : i + 2], target[i : i + 2]
        assert both(*part) == {"whole": whole(*part), "images": images(*part)}
    assert both.compute() == {"whole": whole.compute(), "images": images.compute()}


@pytest.mark.parametrize("mode", ["binary", "multiclass", "multilabel"])
def test_labels_that_are_decided_count_as_the_logits_do(mode):
    logits, target = drawn(mode)
    expected = SetMetric("f1", mode, ignore_index=IGNORED)(logits, target)
    metric = SetMetric("f1", mode, ignore_index=IGNORED, num_classes=None if mode == "binary" else 4)
    given = [vertices(logits, mode).bool(), logits.argmax(dim=1) if mode == "multiclass" else (logits > 0).int()]
    for labels in given:
        assert torch.equal(metric(labels, target), expected)
    if mode == "multiclass":
        chances, threshold = logits.softmax(dim=1), 0.0
    else:
        chances, threshold = torch.sigmoid(logits), 0.5
    assert torch.equal(SetMetric("f1", mode, ignore_index=IGNORED, threshold=threshold)(chances, target), expected)


def test_it_is_one_minus_the_scores_of_scikit_learn():
    logits, target = drawn("multiclass", images=9)
    keep = target != IGNORED
    truth, guess = target[keep].numpy(), logits.argmax(dim=1)[keep].numpy()
    for loss, score in (("jaccard", jaccard_score), (FBeta(), f1_score)):
        each = score(truth, guess, labels=range(4), average=None, zero_division=1)
        found = SetMetric(loss, "multiclass", ignore_index=IGNORED, reduction="none")(logits, target).numpy()
        present = np.isin(range(4), truth)
        np.testing.assert_allclose(found[present], 1 - each[present], rtol=1e-12)
        assert np.isnan(found[~present]).all()
        mean = SetMetric(loss, "multiclass", ignore_index=IGNORED)(logits, target).item()
        assert mean == pytest.approx(1 - each[present].mean())


@pytest.mark.parametrize("loss", [EarlyDetection(), RocArea(), Cardinality(np.sqrt(np.arange(13)))], ids=repr)
def test_any_loss_is_taken_by_the_image(loss):
    logits, target = drawn("multilabel")
    target = target.clamp(max=1)
    metric = SetMetric(loss, "multilabel", per_image=True, classes="all")
    for i in range(0, 5, 2):
        metric.update(logits[i : i + 2], target[i : i + 2])
    rows = logits.reshape(20, 12).double().numpy()
    predictions = rows if loss.reads == "scores" else rows > 0
    values = [loss(y, s) for y, s in zip(target.reshape(20, 12).numpy(), predictions, strict=True)]
    assert metric.compute().item() == pytest.approx(np.mean(values))


def test_sets_of_which_nothing_counts_have_no_figure():
    logits, target = drawn("multiclass")
    for per_image in (False, True):
        metric = SetMetric("jaccard", "multiclass", ignore_index=IGNORED, per_image=per_image)
        assert metric(logits[:0], target[:0]).isnan()
        assert metric(logits, torch.full_like(target, IGNORED)).isnan()
        assert metric.compute().isnan()
        alone = SetMetric("jaccard", "multiclass", ignore_index=IGNORED, per_image=per_image)(logits, target)
        metric.update(logits, target)
        assert torch.equal(metric.compute(), alone)


def test_counts_are_whole_numbers_beyond_those_of_float32():
    metric, truth = SetMetric("error_rate"), torch.zeros(1, 2**20, dtype=torch.bool)
    guess = truth.clone()
    guess[0, 0] = True
    for _ in range(17):
        metric.update(guess, truth)
    assert metric.compute().item() == 2.0**-20


def test_reset_merge_and_copies():
    logits, target = drawn("multiclass", images=6)
    for per_image in (False, True):
        whole, parts = (
            SetMetric("f1", "multiclass", ignore_index=IGNORED, per_image=per_image, class_weight=[1, 2, 3, 4])
            for _ in range(2)
        )
        whole.update(logits, target)
        parts.update(logits[:2], target[:2])
        other = pickle.loads(pickle.dumps(copy.deepcopy(parts)))
        assert torch.equal(other.compute(), parts.compute())
        other.reset()
        parts.merge_state(other)
        other.update(logits[2:], target[2:])
        parts.merge_state(other)
        torch.testing.assert_close(parts.compute(), whole.compute(), rtol=1e-12, atol=0.0)
        other.reset()
        with pytest.raises(RuntimeError, match="compute of SetMetric was called before update"):
            other.compute()
        with pytest.raises(ValueError, match="incoming must be a SetMetric with the arguments of this one, SetMetric"):
            parts.merge_state(SetMetric())


def test_sums_follow_the_module_and_keep_their_type():
    logits, target = drawn("binary")
    for per_image in (False, True):
        metric = SetMetric(ignore_index=IGNORED, per_image=per_image)
        metric.update(logits, target)
        before = metric.compute()
        assert torch.equal(torch.nn.ModuleList([metric]).half().to(torch.bfloat16)[0].compute(), before)
        assert not metric.state_dict()
        assert metric.to("meta")._sums.device.type == "meta"


def test_it_gives_no_gradient():
    logits, target = drawn("binary")
    assert not SetMetric(ignore_index=IGNORED)(logits.requires_grad_(), target).requires_grad


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SetMetric("auc"), r"SetMetric refuses RocArea\(\) over a whole data set: .*Use per_image=True\."),
        (lambda: SetMetric(EarlyDetection()), "not a function of the counts of mistakes in sets of any size"),
        (lambda: SetMetric(Cardinality([0, 1, 2])), "its batches do not add up"),
        (lambda: SetMetric(MeanOverClasses("jaccard"), "multiclass"), "Pass the loss of one class"),
        (lambda: SetMetric(per_image=True, reduction="none"), "SetMetric keeps one sum of all images"),
        (lambda: SetMetric(reduction="sum"), "reduction must be"),
        (lambda: SetMetric(num_classes=4), "num_classes=4 is for several classes, but mode='binary' has one"),
        (lambda: SetMetric(mode="multiclass", threshold=0.5), "threshold=0.5 is for decisions of their own"),
    ],
)
def test_what_cannot_be_summed_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("mode", "preds", "kind", "sentence"),
    [
        ("multiclass", torch.zeros(2, 3, dtype=torch.long), ValueError, "give num_classes"),
        ("binary", torch.full((2, 3), 2), ValueError, "preds must be logits, or labels from 0 to 1; got 2"),
        (
            "multiclass",
            torch.zeros(2, 1, 3),
            ValueError,
            r"preds must be logits \(N, C, ...\) with C >= 2 .*\(2, 1, 3\)",
        ),
        ("binary", [0.5, 1.0], TypeError, "preds must be a tensor of logits or labels"),
    ],
)
def test_odd_predictions_are_refused(mode, preds, kind, sentence):
    with pytest.raises(kind, match=sentence):
        SetMetric(mode=mode).update(preds, torch.zeros(2, 3, dtype=torch.long))


@pytest.mark.parametrize("mode", ["binary", "multiclass", "multilabel"])
@pytest.mark.parametrize("per_image", [False, True])
def test_logits_that_are_nan_are_refused_where_pixels_count(mode, per_image):
    logits, target = drawn(mode)
    metric = SetMetric(mode=mode, per_image=per_image, ignore_index=IGNORED)
    mask = torch.ones(logits.shape, dtype=torch.bool)
    mask[0, ..., 0] = False
    wrong = logits.clone()
    wrong[0, :, ..., 0] = float("nan")
    assert torch.equal(metric(wrong, target, mask), metric(logits, target, mask))
    wrong = logits.clone()
    wrong[1, 0] = float("nan")
    with pytest.raises(ValueError, match="preds must be numbers where pixels count; got NaN"):
        metric(wrong, target)
    wrong = logits.clone()
    wrong[0, :1], wrong[1, :1] = float("inf"), float("-inf")
    assert metric(wrong, target).isfinite()


@pytest.mark.parametrize("mode", ["multiclass", "multilabel"])
def test_the_number_of_classes_is_that_of_the_channels(mode):
    logits, target = drawn(mode)
    SetMetric(mode=mode, num_classes=logits.shape[1], ignore_index=IGNORED).update(logits, target)
    with pytest.raises(ValueError, match="num_classes must be the number of channels of preds, 4; got 7"):
        SetMetric(mode=mode, num_classes=7, ignore_index=IGNORED).update(logits, target)


def test_channels_may_not_change():
    metric = SetMetric(mode="multiclass")
    metric.update(torch.randn(2, 3, 4), torch.zeros(2, 4, dtype=torch.long))
    with pytest.raises(
        ValueError, match="preds must have the same channels in all batches; SetMetric got 3, 5 classes"
    ):
        metric.update(torch.randn(2, 5, 4), torch.zeros(2, 4, dtype=torch.long))
    with pytest.raises(TypeError, match=r"preds must be logits for RocArea\(\), which ranks them"):
        SetMetric("auc", per_image=True).update(torch.zeros(2, 3, dtype=torch.bool), torch.zeros(2, 3))


def test_probabilities_where_logits_are_wanted_are_told_once():
    chances, target = torch.rand(3, 8, generator=torch.Generator().manual_seed(0)), torch.zeros(3, 8, dtype=torch.long)
    for made in (SetMetric, LovaszHingeLoss, LovaszSoftmaxLoss):
        module = made(mode="binary")
        with pytest.warns(UserWarning, match=rf"in \[0, 1\], like probabilities, but {made.__name__}"):
            module(chances, target)
        module(chances, target)
    with pytest.warns(
        UserWarning, match=r"like probabilities, but decide reads them as logits: give from_logits=False"
    ) as told:
        decide(chances)
    # The line of the caller, and not that of a decorator.
    assert told[0].filename == __file__
    decide(chances, from_logits=False)
    # These say what they are given, read an order, or are no probabilities.
    SetMetric(threshold=0.0)(chances, target)
    LovaszSoftmaxLoss(mode="binary", from_logits=False)(chances, target)
    RocAreaLoss()(chances, target)
    LovaszHingeLoss()(torch.zeros(3, 8), target)
    LovaszHingeLoss()(chances - 0.1, target)
