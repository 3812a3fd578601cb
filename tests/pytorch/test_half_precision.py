"""Logits of half precision are computed with in float32; only the gradient goes back through their few digits."""

import pytest

torch = pytest.importorskip("torch")

from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss  # noqa: E402


def batch(classes, size):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, classes, size, size, generator=generator).half()
    return logits, torch.randint(0, classes, (2, size, size), generator=generator)


def gradient(logits, labels, scaler):
    given = logits.clone().requires_grad_()
    scaler.scale(LovaszSoftmaxLoss()(given, labels)).backward()
    return given.grad.double() / scaler.get_scale()


def test_a_scaler_keeps_small_gradients_of_float16():
    logits, labels = batch(8, 256)
    none, scaler = torch.amp.GradScaler("cpu", enabled=False), torch.amp.GradScaler("cpu", init_scale=2.0**16)
    exact = gradient(logits.float(), labels, none)
    assert exact.abs().median() < 1e-6
    lost, kept = gradient(logits, labels, none), gradient(logits, labels, scaler)
    assert ((lost == 0) & (exact != 0)).sum() > 0.1 * (exact != 0).sum()
    assert (lost - exact).norm() > 0.03 * exact.norm()
    assert (kept - exact).norm() < 1e-3 * exact.norm()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_sums_over_many_pixels_are_not_those_of_half_precision(kind):
    logits, labels = batch(2, 128)
    rounded = logits[:, 1].to(kind)
    value = LovaszHingeLoss()(rounded, labels)
    assert value.dtype == torch.float32
    assert value.item() == LovaszHingeLoss()(rounded.float(), labels).item()


def test_under_autocast_the_loss_is_float32():
    layer, images = torch.nn.Conv2d(3, 2, 1), torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(128).reshape(2, 8, 8) % 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = layer(images)
        value = LovaszSoftmaxLoss()(logits, labels)
    value.backward()
    assert (logits.dtype, value.dtype) == (torch.bfloat16, torch.float32)
    assert layer.weight.grad.abs().sum() > 0
