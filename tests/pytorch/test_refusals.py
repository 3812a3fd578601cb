"""What does not fit is refused in one sentence that names the argument, what came and what is wanted."""

import copy
import pickle
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from setwise.core.exceptions import Refusal  # noqa: E402
from setwise.losses import CappedLoss, Jaccard, MeanOverClasses, PrecisionAtK, SetFunctionLoss  # noqa: E402
from setwise.torch import (  # noqa: E402
    AveragePrecisionLoss,
    LovaszHingeLoss,
    LovaszSoftmaxLoss,
    MarginRescalingLoss,
    MaxMarginMRFLoss,
    RampLoss,
    RocAreaLoss,
    SetMetric,
    SlackRescalingLoss,
    lovasz_extension,
)

Z, Y = torch.randn(2, 3, 4, 5), torch.arange(40).reshape(2, 4, 5) % 3
B, T = torch.randn(2, 4, 5), torch.arange(40).reshape(2, 4, 5) % 2
ONE_HOT = torch.nn.functional.one_hot(Y, 3).movedim(-1, 1)
NAN, INF = float("nan"), float("inf")
KINDS = [
    LovaszHingeLoss,
    LovaszSoftmaxLoss,
    lambda **options: MarginRescalingLoss("f1", **options),
    lambda **options: SlackRescalingLoss("f1", **options),
    lambda **options: RampLoss("f1", **options),
    RocAreaLoss,
    AveragePrecisionLoss,
]


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"mode": "multi"}, ValueError, "mode must be one of 'binary', 'multiclass', 'multilabel'; got 'multi'."),
        ({"mode": None}, ValueError, "mode must be one of 'binary', 'multiclass', 'multilabel'; got None."),
        ({"ignore_index": True}, TypeError, "ignore_index must be None or a whole number; got True."),
        ({"ignore_index": 255.0}, TypeError, "ignore_index must be None or a whole number; got 255.0."),
        ({"ignore_index": 2**63}, ValueError, "ignore_index must be a whole number of int64; got 9223372036854775808."),
        ({"per_image": 1}, TypeError, "per_image must be True or False; got 1."),
        ({"include_background": 0}, TypeError, "include_background must be True or False; got 0."),
        *[
            ({"classes": bad}, ValueError, f"'all' or different class numbers from 0; got {bad!r}.")
            for bad in ("some", [1, 1], [-1], [], [True], [0.5], 1)
        ],
        ({"mode": "binary", "classes": "all"}, Refusal, "choose among several channels, but mode='binary' has one."),
        ({"empty": "one"}, ValueError, "empty must be one of 'perfect', 'fraction', 'ignore'; got 'one'."),
        ({"reduction": "avg"}, ValueError, "reduction must be one of 'none', 'mean', 'sum'; got 'avg'."),
        *[
            ({"class_weight": bad}, ValueError, f"class_weight must be one number for each class; got {bad!r}.")
            for bad in ("balanced", 2.0, {0: 1.0}, [[1.0, 2.0]], [])
        ],
        *[
            (
                {"class_weight": weight},
                ValueError,
                "class_weight must not require a gradient, for it would get none; pass class_weight.detach().",
            )
            for weight in (torch.ones(2, requires_grad=True), list(torch.ones(2, requires_grad=True)))
        ],
        ({"class_weight": ["1"]}, TypeError, "class_weight must be a number; got '1'."),
        ({"class_weight": [1.0, -1.0]}, ValueError, "class_weight must be a finite number in [0, inf); got -1.0."),
        ({"class_weight": [1.0, NAN]}, ValueError, "class_weight must be a finite number in [0, inf); got nan."),
        ({"class_weight": [0.0, 0.0]}, ValueError, "must be above 0 for a class that counts; got [0.0, 0.0]."),
        ({"class_weight": [1.0, 0.0], "classes": [1]}, ValueError, "above 0 for a class that counts; got [1.0, 0.0]."),
    ],
)
def test_arguments_are_checked_by_every_module(options, kind, sentence):
    for module in KINDS:
        with pytest.raises(kind, match=re.escape(sentence)):
            module(**{"mode": "multiclass"} | options)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: LovaszHingeLoss(Jaccard),
            "loss must be a loss or its name, such as Jaccard() or 'jaccard'; got <class",
        ),
        (lambda: LovaszHingeLoss(0.5), "loss must be a loss or its name, such as Jaccard() or 'jaccard'; got"),
        (lambda: LovaszHingeLoss("binary"), "there is no loss 'binary'; use f1, jaccard"),
        (lambda: LovaszHingeLoss("f1"), "the Lovász extension refuses FBeta(beta=1.0, zero_division=1.0): the loss is"),
        (lambda: LovaszSoftmaxLoss("f1"), "the loss is not submodular. Use MarginRescalingLoss."),
        (lambda: LovaszHingeLoss("auc"), "it reads a ranking, not a set of mistakes. Use MarginRescalingLoss."),
        (lambda: SlackRescalingLoss("auc")(B, T), "it ranks, and has no set of mistakes. Use MarginRescalingLoss."),
        (lambda: RampLoss(MeanOverClasses(Jaccard())), "Pass the loss of one class, with mode='multiclass'."),
        (lambda: MarginRescalingLoss("hamming", empty="fraction"), "empty='fraction' is for losses that have this"),
        (lambda: MarginRescalingLoss("f1", empty="fraction"), "has its own cost of sets without positives. Leave"),
        (lambda: MarginRescalingLoss("f1", scale=0), "scale must be a finite number in (0, inf); got 0."),
        (lambda: RampLoss("f1", scale="p"), "scale must be a number above 0 or 'size'; got 'p'."),
        (lambda: LovaszSoftmaxLoss(from_logits=1), "from_logits must be True or False; got 1."),
    ],
)
def test_losses_are_checked_where_they_are_passed(make, sentence):
    with pytest.raises((TypeError, ValueError), match=re.escape(sentence)):
        make()


@pytest.mark.parametrize(
    ("options", "call", "sentence"),
    [
        ({}, ([1.0, 2.0], T), "logits must be a tensor of floats; got [1.0, 2.0]."),
        ({}, (T, T), "logits must be a tensor of floats; got a tensor of torch.int64."),
        ({}, (torch.tensor(1.0), torch.tensor(1)), "logits must have 1 or more dimensions in binary mode; got 0."),
        ({"mode": "multiclass"}, (Z[0, 0, 0], Y), "logits must have 2 or more dimensions in multiclass mode; got 1."),
        ({"mode": "multiclass"}, (Z[:, :1], Y), "logits must have two channels or more in multiclass mode; got 1. Use"),
        ({}, (B.masked_fill(B > 0, NAN), T), "logits must be finite; got NaN or inf."),
        ({"mode": "multiclass"}, (Z.masked_fill(Z > 0, INF), Y), "logits must be finite; got NaN or inf."),
        ({}, (B, [1, 0]), "target must be a tensor of bools, whole numbers other than uint64, or floats; got [1, 0]."),
        ({}, (B, T.to(torch.uint64)), "whole numbers other than uint64, or floats; got a tensor of torch.uint64."),
        ({}, (B, T.to(torch.complex64)), "uint64, or floats; got a tensor of torch.complex64."),
        ({}, (B, T[:1]), "target must have the shape (2, 4, 5) or (2, 1, 4, 5) for these logits; got (1, 4, 5)."),
        ({}, (Z, Y), "got (2, 4, 5). Several channels need mode='multiclass' or 'multilabel'."),
        ({}, (B, T + 1), "target must hold whole numbers from 0 to 1, or ignore_index; got 2."),
        ({}, (B, T / 2), "target must hold whole numbers from 0 to 1, or ignore_index; got 0.5."),
        ({}, (B, T * NAN), "target must hold whole numbers from 0 to 1, or ignore_index; got nan."),
        ({"mode": "multiclass"}, (Z, Y + 1), "target must hold whole numbers from 0 to 2, or ignore_index; got 3."),
        ({"mode": "multiclass"}, (Z, Y - 1), "target must hold whole numbers from 0 to 2, or ignore_index; got -1."),
        ({"mode": "multiclass"}, (Z, ONE_HOT | 1), "target must have one class of 1 at each pixel."),
        ({"mode": "multiclass"}, (Z, ONE_HOT & 0), "target must have one class of 1 at each pixel."),
        ({"mode": "multiclass", "classes": [1, 3]}, (Z, Y), "classes must be below the 3 channels of logits; got 3."),
        (
            {"mode": "multiclass", "classes": [0], "include_background": False},
            (Z, Y),
            "classes must leave at least one of the 3 channels of logits; none is left.",
        ),
        ({"mode": "multiclass", "class_weight": [1, 1]}, (Z, Y), "one number for each of 3 channels; got 2."),
        ({"mode": "multilabel"}, (Z, Y), "target must have the shape (2, 3, 4, 5) for these logits; got (2, 4, 5)."),
        ({}, (B, T, T), "mask must be a tensor of bools; got a tensor of torch.int64."),
        ({}, (B, T, [True]), "mask must be a tensor of bools; got [True]."),
        ({}, (B, T, T.mT > 0), "mask must have the shape (2, 4, 5) or (2, 1, 4, 5) for these logits; got (2, 5, 4)."),
        (
            {"mode": "multiclass"},
            (Z, Y, T[:1] > 0),
            "mask must have the shape (2, 4, 5), (2, 1, 4, 5) or (2, 3, 4, 5) for these logits; got (1, 4, 5).",
        ),
        ({"mode": "multilabel"}, (Z[:, :0], Z[:, :0]), "logits must have a channel or more in multilabel mode; got 0."),
        ({}, (B.to_sparse(), T), "logits must be a dense tensor with values; got one of the layout torch.sparse_coo."),
        ({}, (B.to("meta"), T), "logits must be a dense tensor with values; got one of the meta device."),
        ({}, (B, T.to_sparse()), "target must be a dense tensor; got one of the layout torch.sparse_coo."),
        ({}, (B, T.to("meta")), "target must be on the device of logits, cpu; got meta."),
        ({}, (B, T, (T > 0).to("meta")), "mask must be on the device of logits, cpu; got meta."),
    ],
)
def test_tensors_are_checked_by_every_module(options, call, sentence):
    for module in KINDS:
        with pytest.raises((TypeError, ValueError), match=re.escape(sentence)):
            module(**{"mode": "binary"} | options)(*call)


def test_names_of_measures_of_images():
    assert LovaszHingeLoss("iou")(B, T) == LovaszHingeLoss()(B, T)
    assert MarginRescalingLoss("dice")(B, T) == MarginRescalingLoss("f1")(B, T)
    assert SetMetric("dice")(B, T) == SetMetric("f1")(B, T)
    assert torch.equal(lovasz_extension("iou", T[0] > 0, B[0].abs()), lovasz_extension("jaccard", T[0] > 0, B[0].abs()))
    with pytest.raises(Refusal, match="the Lovász extension refuses FBeta"):
        LovaszHingeLoss("dice")


@pytest.mark.parametrize("make", [LovaszSoftmaxLoss, lambda **k: SetMetric(mode="multiclass", **k)])
def test_class_weights_keep_their_digits(make):
    module = make(class_weight=[0.1, 0.7, 1e-6])
    expected = module(Z, Y)
    network = torch.nn.Sequential(module)
    for one in (network.half(), network.bfloat16(), network.to(torch.float32), copy.deepcopy(network)):
        assert one[0].class_weight.tolist() == [0.1, 0.7, 1e-6]
        assert one[0](Z, Y) == expected
    assert pickle.loads(pickle.dumps(module)).class_weight.tolist() == [0.1, 0.7, 1e-6]
    assert network.to("meta")[0].class_weight.device.type == "meta"


def test_labels_that_wrap_around_are_not_taken_for_others():
    """uint8 has no -1: compared with it, PyTorch takes 255 for -1, and 44 for 300."""
    wrong = T.to(torch.uint8).masked_fill(T == 1, 255)
    with pytest.raises(ValueError, match="from 0 to 1, or ignore_index; got 255"):
        LovaszHingeLoss(ignore_index=-1)(B, wrong)
    many = torch.zeros(1, 300, 2)
    LovaszSoftmaxLoss()(many, torch.tensor([[44, 255]], dtype=torch.uint8))
    assert LovaszHingeLoss(ignore_index=255)(B, wrong).item() == LovaszHingeLoss()(B, T, T == 0).item()


def test_probabilities_are_probabilities():
    with pytest.raises(ValueError, match=r"from_logits=False needs probabilities in \[0, 1\]; got "):
        LovaszSoftmaxLoss(mode="multilabel", from_logits=False)(Z * 5, ONE_HOT)
    loss = LovaszSoftmaxLoss(from_logits=False, ignore_index=1)
    given = Z.softmax(dim=1)
    expected = loss(given, Y)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        torch.testing.assert_close(loss(given.to(dtype), Y).float(), expected, rtol=1e-2, atol=1e-2)
    assert torch.equal(loss(torch.where(Y[:, None] == 1, 0.9, given), Y), expected)
    with pytest.raises(ValueError, match=r"from_logits=False needs probabilities whose sum is 1; got 2\.7"):
        loss(torch.where(Y[:, None] == 2, 0.9, given), Y)


@pytest.mark.parametrize("module", [MarginRescalingLoss, RampLoss])
def test_values_that_leave_their_type_are_refused(module):
    huge, target = torch.tensor([[3e38, -3e38, 1.0]]), torch.tensor([[0, 1, 1]])
    with pytest.raises(OverflowError, match=r"logits are too large: .* leaves torch\.float32\. Scale them down"):
        MarginRescalingLoss("f1")(huge, target)
    with pytest.raises(OverflowError, match="logits are too large"):
        module("f1", scale=1e-300)(B, T)
    assert 0 < module("f1", scale=1e300)(B, T).item() <= 1


def test_errors_and_labels_of_the_extension_are_checked():
    labels, errors = torch.tensor([[True, False]]), torch.tensor([[0.5, 0.2]])
    for loss, seen, wrong, sentence in [
        ("f1", labels, errors, "the loss is not submodular"),
        ("jaccard", labels.float(), errors, "labels must be bool or whole, of the shape of errors"),
        ("jaccard", labels.to(torch.int8) * 7, errors, "labels must be 1, 0, or -1 for decisions that do not count"),
        ("jaccard", torch.tensor([[-7, 3]], dtype=torch.int8), errors, "decisions that do not count; got -7"),
        ("jaccard", torch.tensor([[1, 3]], dtype=torch.int8), errors, "decisions that do not count; got 3"),
        ("jaccard", labels.to("meta"), errors, "labels must be a dense tensor on the device of errors, cpu; got"),
        ("jaccard", labels[0], errors[0], r"errors must have the shape \(S, p\)"),
        ("jaccard", labels, -errors, "errors must be at least 0; got -0.5"),
        ("jaccard", labels, errors * NAN, "errors must be finite"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            lovasz_extension(loss, seen, wrong)


def test_the_extension_speaks_of_errors():
    with pytest.raises(TypeError, match="errors must be a tensor of floats; got a tensor of torch.bool"):
        lovasz_extension("jaccard", torch.ones(1, 2), torch.ones(1, 2, dtype=torch.bool))


# PyTorch compiles what it has for forward mode by its old compiler.
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    "evaluate",
    [
        lambda x: LovaszHingeLoss()(x, T),
        lambda x: LovaszSoftmaxLoss(mode="binary", per_image=True)(x, T),
        lambda x: MarginRescalingLoss("f1")(x.float(), T),
        lambda x: lovasz_extension("jaccard", T.flatten(1) > 0, x.flatten(1).abs()),
        lambda x: MaxMarginMRFLoss()(x, torch.tensor(0.1), T),
        lambda x: MaxMarginMRFLoss()(B, x.mean().abs(), T),
    ],
)
def test_tangents_are_refused(evaluate):
    """They would be 0 in silence."""
    with pytest.raises(RuntimeError, match=r"must have no tangent: .* Use backward, or torch\.func\.grad"):
        torch.func.jvp(evaluate, (B,), (B,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="must have no tangent"):
        evaluate(torch.autograd.forward_ad.make_dual(B, B))


def test_losses_of_places_say_how_many_decisions_count():
    loss = CappedLoss(np.ones(40), 3.0)
    assert LovaszHingeLoss(loss)(B, T).item() > 0
    with pytest.raises(ValueError, match="has 40 weights, one for each place; got a set of 20 decisions"):
        LovaszHingeLoss(loss)(B, T, T == 0)
    with pytest.raises(ValueError, match="fits sets of 50 decisions or more; got one of 40"):
        MarginRescalingLoss(PrecisionAtK(50))(B, T)


def test_a_bound_that_is_not_closed_is_said():
    loss = SetFunctionLoss(lambda truth, predicted: float((truth != predicted).sum() ** 0.5))
    with pytest.warns(
        UserWarning, match="is known only to within inf here, and the gradient is that of its lower bound"
    ):
        MarginRescalingLoss(loss)(B, T)
