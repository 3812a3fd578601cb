"""Float32 gradients of Lovász-softmax have the digits and the order of float64, also where a network is nearly sure."""

import pytest

from setwise.losses import Jaccard

torch = pytest.importorskip("torch")

from setwise.torch import LovaszSoftmaxLoss, lovasz  # noqa: E402
from setwise.torch.lovasz import Errors, LovaszForm, folded_sigmoid, folded_softmax  # noqa: E402  # noqa: E402

MARGINS = [0.0, 4.0, 8.0, 12.0, 20.0, 40.0]


def drawn(classes, margin, wrong=0.02, side=128):
    """Logits of blocks of labels: one class stands out by the margin, and at some pixels it is a wrong one."""
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(0, classes, (1, side // 8, side // 8), generator=generator)
    target = blocks.repeat_interleave(8, 1).repeat_interleave(8, 2)
    others = torch.randint(0, classes, target.shape, generator=generator)
    seen = torch.where(torch.rand(target.shape, generator=generator) < wrong, others, target)
    logits = torch.randn(1, classes, side, side, generator=generator)
    return logits.scatter_add_(1, seen[:, None], torch.full_like(logits, margin)), target


def evaluated(loss, logits, target):
    """The value and the gradient in float64."""
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, target)
    value.backward()
    return value.item(), leaf.grad.double()


def distance(loss, logits, target):
    """How far float32 is from float64, on the same float32 logits: the relative errors of value and gradient."""
    value, gradient = evaluated(loss, logits, target)
    right, exact = evaluated(loss, logits.double(), target)
    return abs(value - right) / right, ((gradient - exact).norm() / exact.norm()).item()


@pytest.mark.draw(2)
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("classes", [3, 5, 19])
@pytest.mark.parametrize("wrong", [0.0, 0.02])
def test_multiclass(classes, margin, wrong):
    of_value, of_gradient = distance(LovaszSoftmaxLoss(), *drawn(classes, margin, wrong))
    assert of_value <= 1e-6
    assert of_gradient <= 1e-5


@pytest.mark.parametrize("margin", MARGINS)
def test_multilabel(margin):
    logits, target = drawn(4, 0.0)
    labels = torch.nn.functional.one_hot(target, 4).movedim(-1, 1)
    wrong = torch.rand(logits.shape, generator=torch.Generator().manual_seed(1)) < 0.02
    logits += margin * torch.where(wrong, 1 - 2 * labels, 2 * labels - 1)
    of_value, of_gradient = distance(LovaszSoftmaxLoss(mode="multilabel"), logits, labels)
    assert of_value <= 1e-6
    assert of_gradient <= 1e-5


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("classes", [3, 19])
def test_any_submodular_loss(classes, margin):
    logits, target = drawn(classes, margin)
    value, right = evaluated(LovaszSoftmaxLoss(), logits.double(), target)
    twice, found = evaluated(LovaszSoftmaxLoss(2.0 * Jaccard()), logits, target)
    assert twice == pytest.approx(2.0 * value, rel=1e-6)
    assert (found - 2.0 * right).norm() <= 1e-5 * 2.0 * right.norm()


@pytest.mark.draw(2)
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("wrong", [0.02, 0.5])
def test_a_device_has_the_order_of_errors_near_one(margin, wrong):
    logits, target = drawn(5, margin, wrong)
    folded = folded_softmax(logits.double())[0].flatten(1)
    codes = (target.flatten() == torch.arange(5)[:, None]).to(torch.int8)
    form = LovaszForm(Jaccard(), Errors.FOLDED)
    host, device = form.on_host(folded.numpy(), codes.numpy()), form.on_device(folded, codes)
    torch.testing.assert_close(device.values, torch.from_numpy(host.values), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(device.gradient, torch.from_numpy(host.gradient), rtol=1e-9, atol=1e-18)


def test_small_images_are_as_large_ones():
    logits = torch.randn(300, 7, 1, dtype=torch.float64)
    one = folded_softmax(logits.movedim(0, 2).reshape(1, 7, 300))
    torch.testing.assert_close(folded_softmax(logits), one[0].T[:, :, None], rtol=0.0, atol=0.0)
    leaf, whole = logits.clone().requires_grad_(), logits[:, :, 0].T[None].clone().requires_grad_()
    change = torch.randn(300, 7, 1, dtype=torch.float64)
    folded_softmax(leaf).backward(change)
    folded_softmax(whole).backward(change[:, :, 0].T[None])
    torch.testing.assert_close(leaf.grad[:, :, 0].T, whole.grad[0], rtol=0.0, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("margin", MARGINS)
def test_what_pytorch_traces_is_what_the_kernel_finds(monkeypatch, margin, dtype):
    logits, _ = drawn(5, margin, side=16)
    logits = logits.to(dtype).transpose(2, 3)
    change = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)

    def both():
        leaf = logits.clone().requires_grad_()
        folded = folded_softmax(leaf)
        folded.backward(change)
        return folded.detach(), leaf.grad

    found = both()
    monkeypatch.setattr(lovasz, "is_eager", lambda logits: False)
    # PyTorch subtracts the largest logit in float32.
    near = {"rtol": 2e-5 if dtype == torch.float32 else 1e-12, "atol": 0.0}
    for mine, its in zip(found, both(), strict=True):
        assert (mine - its).norm() <= near["rtol"] * its.norm()
    torch.testing.assert_close(found[0], folded_softmax(logits), **near)


@pytest.mark.parametrize("margin", MARGINS)
def test_where_pytorch_traces(monkeypatch, margin):
    monkeypatch.setattr(lovasz, "is_eager", lambda logits: False)
    of_value, of_gradient = distance(LovaszSoftmaxLoss(), *drawn(5, margin))
    assert of_value <= 1e-6
    assert of_gradient <= 1e-5


def test_a_sigmoid_of_one_half_has_its_slope():
    logits = torch.tensor([-200.0, -1.0, -0.0, 0.0, 1.0, 200.0], dtype=torch.float64, requires_grad=True)
    folded = folded_sigmoid(logits)
    folded.sum().backward()
    q = torch.sigmoid(logits)
    torch.testing.assert_close(torch.where(folded.signbit(), 1 + folded, folded), q)
    assert folded.signbit().tolist() == [False, False, False, False, True, True]
    torch.testing.assert_close(logits.grad, torch.sigmoid(logits) * torch.sigmoid(-logits))


def test_extreme_logits_are_as_in_a_softmax():
    logits = torch.tensor([[1e4, -1e4, 0.0], [-torch.inf, 0.0, 0.0]], requires_grad=True)
    loss = LovaszSoftmaxLoss(classes="all")
    assert loss(logits, torch.tensor([0, 1])).item() == pytest.approx(1 / 6 + 1 / 6)
    assert loss(logits, torch.tensor([1, 1])).item() == pytest.approx((1 + 0.75 + 0.5) / 3)
    with pytest.raises(ValueError, match=r"logits must be finite; got NaN or inf\."):
        loss(torch.tensor([[torch.inf, 0.0]]), torch.tensor([0]))
