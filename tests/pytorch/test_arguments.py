"""Every loss in PyTorch equals setwise's surrogates set by set, in random cases over all arguments."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pytorch.random_cases import draw, expected, pick  # noqa: E402
from rounds import rounds  # noqa: E402
from setwise.core.terms import Trait  # noqa: E402
from setwise.losses import (  # noqa: E402
    BalancedError,
    CountFunctionLoss,
    FBeta,
    Hamming,
    Jaccard,
    SaturatingLoss,
    Tversky,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling  # noqa: E402
from setwise.torch import (  # noqa: E402
    AveragePrecisionLoss,
    LovaszHingeLoss,
    LovaszSoftmaxLoss,
    MarginRescalingLoss,
    RampLoss,
    RocAreaLoss,
    SlackRescalingLoss,
    average_precision_loss,
    lovasz_hinge_loss,
    lovasz_softmax_loss,
    margin_rescaling_loss,
    ramp_loss,
    roc_area_loss,
    slack_rescaling_loss,
)

# A user's own loss that increases, and one that falls again where most decisions are wrong.
GROWING = CountFunctionLoss(lambda fn, fp: np.sqrt(fn + 2 * fp), promises=[Trait.INCREASING, Trait.SUBMODULAR])
FALLING = CountFunctionLoss(lambda fn, fp, P, N: (fn + fp) * (P + N - fn - fp), promises=[Trait.SUBMODULAR])
SUBMODULAR = [Jaccard(), Jaccard(), Hamming(), SaturatingLoss(0.7), BalancedError(), GROWING, FALLING]
COUNTS = [Jaccard(), FBeta(), FBeta(2.0, zero_division=0.0), FBeta(0.5), Tversky(0.3, 0.7), BalancedError(), ZeroOne()]


@pytest.mark.draw(4)
@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.slow) for share in range(1, 5))])
@pytest.mark.parametrize("name", ["hinge", "softmax", "margin", "slack", "ramp", "area", "precision"])
def test_every_argument_is_understood(name, share):
    rng = np.random.default_rng([share, *name.encode()])
    for number in range(100 if share else rounds(100, 30)):
        mode = pick(rng, ["binary", "multiclass", "multilabel"])
        choices = {"empty": [None, "ignore"]}
        loss, options = None, {}
        if name in ("hinge", "softmax"):
            loss = pick(rng, SUBMODULAR)
        elif name in ("margin", "slack", "ramp"):
            loss = pick(rng, COUNTS)
        meant = loss
        if isinstance(loss, Jaccard):
            choices["empty"] = [None, "ignore", "perfect", "fraction"]
        elif hasattr(loss, "zero_division"):
            choices["empty"] = [None, "ignore", "perfect"]
        if name in ("margin", "ramp"):
            options["scale"] = pick(rng, [1.0, 0.3, "size"])
        if name == "softmax":
            options["from_logits"] = pick(rng, [True, False])
        case = draw(rng, mode, choices)
        if case.options["empty"] in ("perfect", "fraction"):
            field = "empty" if isinstance(loss, Jaccard) else "zero_division"
            meant = replace(loss, **{field: case.options["empty"] if field == "empty" else 1.0})
        check(name, rng, loss, meant, options, case, f"{name} {share} {number}: {loss} {options} {case}")


def check(name, rng, loss, meant, options, case, said):
    """The module and its functional twin give the value and the gradient of the loop over sets."""
    kind, function, surrogate = {
        "hinge": (LovaszHingeLoss, lovasz_hinge_loss, lambda: LovaszHinge(meant)),
        "softmax": (LovaszSoftmaxLoss, lovasz_softmax_loss, lambda: LovaszHinge(meant)),
        "margin": (MarginRescalingLoss, margin_rescaling_loss, lambda: MarginRescaling(meant, scale=options["scale"])),
        "slack": (SlackRescalingLoss, slack_rescaling_loss, lambda: SlackRescaling(meant)),
        "ramp": (RampLoss, ramp_loss, lambda: Ramp(meant, scale=options["scale"])),
        "area": (RocAreaLoss, roc_area_loss, lambda: MarginRescaling("auc")),
        "precision": (
            AveragePrecisionLoss,
            average_precision_loss,
            lambda: MarginRescaling("average_precision"),
        ),
    }[name]
    given = case.given
    scores, way_back = case.logits.astype(np.float64), lambda gradient: gradient
    if name == "softmax":
        scores, way_back = probabilities(scores, case.options["mode"])
        if not options["from_logits"]:
            given, way_back = torch.tensor(scores).to(given.dtype).reshape(given.shape), lambda gradient: gradient
        # The margin scores whose errors are 1 - q for positives and q for negatives.
        scores = np.where(case.positive, scores, scores - 1)
    given = given.detach().requires_grad_()
    module = partial(kind, **({} if loss is None else {"loss": loss}))(**options, **case.options)
    value = module(given, case.target, case.mask)
    weights = rng.standard_normal(value.shape)
    (value * torch.from_numpy(weights)).sum().backward()
    wanted, gradient = expected(case, surrogate(), scores, weights if case.options["reduction"] == "none" else None)
    gradient = way_back(gradient) * (1.0 if case.options["reduction"] == "none" else weights)
    near = 1e-10 if given.dtype == torch.float64 else 2e-5
    assert value.dtype == given.dtype, said
    np.testing.assert_allclose(value.detach().numpy(), wanted, rtol=near, atol=near, err_msg=said)
    np.testing.assert_allclose(given.grad.numpy().reshape(gradient.shape), gradient, rtol=near, atol=near, err_msg=said)
    told = {} if loss is None else {"loss": loss}
    twin = function(given.detach(), case.target, **told, mask=case.mask, **options, **case.options)
    assert torch.equal(twin, value.detach()), said


def probabilities(logits, mode):
    """The softmax or sigmoid of logits (N, C, pixels), and the chain rule back through it."""
    if mode != "multiclass":
        q = 1 / (1 + np.exp(-logits))
        return q, lambda gradient: gradient * q * (1 - q)
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    q = raised / raised.sum(axis=1, keepdims=True)
    return q, lambda gradient: q * (gradient - (gradient * q).sum(axis=1, keepdims=True))


def test_the_ramp_lies_between_the_loss_and_the_margin():
    rng = np.random.default_rng(0)
    for _ in range(50):
        loss, scale = pick(rng, COUNTS), pick(rng, [1.0, 0.3, "size"])
        scores, truth = rng.standard_normal(12) * pick(rng, [0.1, 1.0, 5.0]), rng.random(12) < 0.3
        given = torch.tensor(scores), torch.tensor(truth)
        ramp, margin = (
            ramp_loss(*given, loss, scale=scale).item(),
            margin_rescaling_loss(*given, loss, scale=scale).item(),
        )
        assert loss(truth, scores > 0) <= ramp + 1e-12
        assert ramp <= margin + 1e-12
