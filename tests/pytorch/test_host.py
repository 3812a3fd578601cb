"""One node on the host is what the operators are, whatever the layout, and its bits do not depend on threads."""

import itertools

import pytest

from setwise.losses import Jaccard

torch = pytest.importorskip("torch")

from pytorch.device_cases import on_host  # noqa: E402
from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss, MarginRescalingLoss, criterion, lovasz  # noqa: E402
from setwise.torch.lovasz import Errors, LovaszForm  # noqa: E402


def evaluated(loss, logits, *rest):
    """The value and the gradient."""
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, *rest)
    (value * torch.arange(1, value.numel() + 1).reshape(value.shape)).sum().backward()
    return value.detach(), leaf.grad


@pytest.mark.draw(6)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("module", [LovaszHingeLoss, LovaszSoftmaxLoss, lambda **k: MarginRescalingLoss("f1", **k)])
def test_equals_the_operators(monkeypatch, module, reduction):
    generator = torch.Generator().manual_seed(0)
    choices = itertools.product((False, True), ("present", "all", [2, 0]), (None, [1.0, 2.0, 0.5]), ("f4", "f8", "f2"))
    for per_image, classes, weights, kind in choices:
        dtype = {"f2": torch.float16, "f4": torch.float32, "f8": torch.float64}[kind]
        loss = module(
            mode="multiclass", per_image=per_image, classes=classes, class_weight=weights, reduction=reduction,
            ignore_index=1,
        )  # fmt: skip
        logits = torch.randn(2, 3, 4, 5, generator=generator).to(dtype).transpose(2, 3)
        target = torch.randint(0, 3, (2, 5, 4), generator=generator)
        target[1] = target[1].clamp(min=1)
        value, gradient = evaluated(loss, logits, target)
        assert type(loss(logits.clone().requires_grad_(), target).grad_fn).__name__ == "_TotalLossBackward"
        with monkeypatch.context() as patch:
            patch.setattr(criterion, "is_eager", lambda scores: False)
            expected, slope = evaluated(loss, logits, target)
        assert value.dtype == expected.dtype
        assert gradient.dtype == dtype
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("module", [LovaszHingeLoss, LovaszSoftmaxLoss])
def test_a_second_derivative_is_refused(monkeypatch, module, eager):
    for each in (criterion, lovasz):
        monkeypatch.setattr(each, "is_eager", lambda scores: eager)
    logits = torch.randn(5, 2, requires_grad=True)
    value = module(mode="multiclass")(logits, torch.arange(5) % 2)
    (gradient,) = torch.autograd.grad(value, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="has corners"):
        gradient.sum().backward()


def test_a_graph_can_be_run_twice_and_transformed():
    logits, target = torch.randn(7, requires_grad=True), torch.ones(7)
    value = LovaszHingeLoss()(logits, target)
    (first,) = torch.autograd.grad(value, logits, retain_graph=True)
    assert torch.equal(first, torch.autograd.grad(value, logits)[0])
    assert torch.equal(first, torch.func.grad(LovaszHingeLoss())(logits.detach(), target))


@pytest.mark.parametrize(("module", "mode"), [(LovaszHingeLoss, "binary"), (LovaszSoftmaxLoss, "multiclass")])
def test_the_same_bits_for_one_thread_and_two(module, mode):
    generator = torch.Generator().manual_seed(1)
    shape = (1, 1, 700, 800) if mode == "binary" else (1, 4, 300, 500)
    logits = torch.randn(shape, generator=generator)
    target = torch.randint(0, 2 if mode == "binary" else 4, (1, *shape[2:]), generator=generator)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(evaluated(module(mode=mode), logits, target))
    torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


@pytest.mark.parametrize("loss", [Jaccard(), 2.0 * Jaccard()], ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_the_order_of_small_scores_is_that_of_float64(loss, scale):
    """Near 0, ``1 - s`` would round many scores of float32 to the same error."""
    generator = torch.Generator().manual_seed(0)
    scores = scale * torch.randn(1, 100_000, generator=generator)
    labels = torch.rand(1, 100_000, generator=generator) < 1e-3
    codes = labels.to(torch.int8)
    form = LovaszForm(loss, Errors.MARGIN)
    exact = on_host(form, scores.double(), codes).gradient
    for found in (on_host(form, scores, codes), form.on_device(scores, codes)):
        assert torch.linalg.norm(found.gradient.double() - exact) <= 1e-7 * torch.linalg.norm(exact)


@pytest.mark.parametrize("mode", ["multiclass", "multilabel"])
def test_a_second_derivative_by_a_weight_of_the_loss_is_refused(mode):
    logits, weight = torch.randn(2, 3, 40, requires_grad=True), torch.ones((), requires_grad=True)
    target = torch.randint(0, 2, (2, 3, 40) if mode == "multilabel" else (2, 40))
    value = weight * (logits.square().sum() + LovaszSoftmaxLoss(mode=mode)(logits, target))
    (gradient,) = torch.autograd.grad(value, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="has corners"):
        torch.autograd.grad(gradient.square().sum(), weight)
