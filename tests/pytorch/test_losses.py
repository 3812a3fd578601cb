"""The losses for logits equal the surrogates of setwise, set by set, and the definitions by enumeration."""

import subprocess
import sys

import numpy as np
import pytest

from setwise.core import enumerate as brute
from setwise.losses import FBeta, Hamming, Jaccard, SaturatingLoss
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling

torch = pytest.importorskip("torch")
setwise_torch = pytest.importorskip("setwise.torch")

from setwise.torch import (  # noqa: E402
    AveragePrecisionLoss,
    LovaszHingeLoss,
    LovaszSoftmaxLoss,
    MarginRescalingLoss,
    RampLoss,
    RocAreaLoss,
    SlackRescalingLoss,
    lovasz_extension,
)


@pytest.mark.slow
def test_importing_setwise_does_not_import_torch():
    code = "import setwise, sys; import setwise.estimators, setwise.compare, setwise.cli; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_without_torch_a_sentence_says_how_to_install_it():
    code = "import sys; sys.modules['torch'] = None; import setwise; setwise.torch"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "setwise.torch needs PyTorch 2.4 or later: pip install torch." in found.stderr


@pytest.mark.parametrize("error", ["ImportError('libtorch.so is cut short')", "ModuleNotFoundError('x', name='numpy')"])
def test_of_a_broken_torch_its_own_error_is_shown(error):
    code = (
        "import sys\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        f"            raise {error}\n"
        "sys.meta_path.insert(0, Broken())\n"
        "import setwise.torch"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "setwise.torch needs PyTorch" not in found.stderr
    assert found.stderr.splitlines()[-1].split(": ")[1] in error


@pytest.mark.parametrize(
    ("module", "surrogate"),
    [
        (LovaszHingeLoss(Jaccard()), LovaszHinge(Jaccard())),
        (LovaszHingeLoss(SaturatingLoss(0.7)), LovaszHinge(SaturatingLoss(0.7))),
        (MarginRescalingLoss(FBeta(2.0)), MarginRescaling(FBeta(2.0))),
        (MarginRescalingLoss("f1", scale="size"), MarginRescaling("f1", scale="size")),
        (SlackRescalingLoss(Jaccard()), SlackRescaling(Jaccard())),
        (RampLoss("f1"), Ramp("f1")),
        (RocAreaLoss(), MarginRescaling("auc")),
        (AveragePrecisionLoss(), MarginRescaling("average_precision")),
    ],
    ids=repr,
)
def test_value_and_gradient_are_those_of_the_surrogate(module, surrogate):
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = int(rng.integers(1, 9))
        truth, scores = rng.random(p) < 0.4, rng.standard_normal(p)
        logits = torch.tensor(scores, requires_grad=True)
        value = module(logits, torch.tensor(truth))
        value.backward()
        expected = surrogate(truth, scores)
        assert value.item() == pytest.approx(expected.value, abs=1e-12)
        np.testing.assert_allclose(logits.grad.numpy(), expected.gradient, atol=1e-12)


def test_softmax_is_the_extension_at_the_errors_of_probabilities():
    """``max over orders of sum_j e_j gain_j`` is the extension of a submodular loss."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        logits, labels = rng.standard_normal((3, 5)), rng.integers(0, 3, 5)
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=0)
        each = []
        for c in range(3):
            truth = labels == c
            errors = np.where(truth, 1 - probabilities[c], probabilities[c])
            # The hinge of enumeration reads scores: those with the margin errors ``errors``.
            each.append(brute.lovasz_hinge(Jaccard(), truth, np.where(truth, 1 - errors, errors - 1), True))
        all_classes = LovaszSoftmaxLoss(classes="all", reduction="none")
        found = all_classes(torch.tensor(logits)[None], torch.tensor(labels)[None])
        np.testing.assert_allclose(found.numpy(), each, atol=1e-12)
        present = [each[c] for c in range(3) if (labels == c).any()]
        found = LovaszSoftmaxLoss()(torch.tensor(logits)[None], torch.tensor(labels)[None])
        assert found.item() == pytest.approx(np.mean(present))


def test_the_extension_at_vertices_is_the_loss():
    labels = torch.tensor([[True, True, False, False]])
    for mistakes in brute.subsets(4):
        found = lovasz_extension("jaccard", labels, torch.tensor(mistakes[None], dtype=torch.float64))
        assert found.item() == pytest.approx(Jaccard()(labels[0].numpy(), labels[0].numpy() ^ mistakes))


@pytest.mark.parametrize("module", [LovaszHingeLoss, LovaszSoftmaxLoss])
def test_gradients_equal_finite_differences(module):
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(2, 3, 6, dtype=torch.float64, generator=generator).requires_grad_()
    labels = torch.randint(0, 3, (2, 6), generator=generator)
    for per_image in (False, True):
        loss = module(mode="multiclass", per_image=per_image, class_weight=[1.0, 2.0, 0.5])
        assert torch.autograd.gradcheck(lambda z, loss=loss: loss(z, labels), logits)


def test_hamming_is_the_hinge_of_a_support_vector_machine():
    logits, labels = torch.tensor([0.5, -2.0, 3.0, 0.1]), torch.tensor([1, 1, 0, 0])
    found = LovaszHingeLoss(Hamming())(logits, labels)
    assert found.item() == pytest.approx(torch.relu(1 - logits * (2 * labels - 1)).sum().item())


def test_ignored_pixels_have_no_part():
    logits, labels = torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5))
    labels[0, :2] = 255
    keep = labels != 255
    loss = LovaszSoftmaxLoss(ignore_index=255)
    rows = logits.movedim(1, -1)[keep].T[None]
    assert torch.equal(loss(logits, labels), LovaszSoftmaxLoss()(rows, labels[keep][None]))
    assert torch.equal(loss(logits, labels), LovaszSoftmaxLoss()(logits, labels.clamp(max=2), mask=keep))


@pytest.mark.parametrize("ignored", [0, 2])
def test_a_class_may_be_ignored(ignored):
    logits, labels = torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5))
    for module in (LovaszSoftmaxLoss, LovaszHingeLoss):
        loss, expected = module(mode="multiclass", ignore_index=ignored), module(mode="multiclass")
        for target in (labels, torch.nn.functional.one_hot(labels, 3).movedim(-1, 1)):
            assert torch.equal(loss(logits, target), expected(logits, labels, mask=labels != ignored))


@pytest.mark.parametrize("images", [0, 2])
def test_batches_in_which_nothing_counts_give_zero_with_a_graph(images):
    logits = torch.randn(images, 3, 4, requires_grad=True)
    for module in (LovaszSoftmaxLoss, LovaszHingeLoss):
        value = module(mode="multiclass", ignore_index=7)(logits, torch.full((images, 4), 7))
        value.backward()
        assert value.item() == 0.0
        assert not logits.grad.any()


@pytest.mark.parametrize(
    "module",
    [LovaszHingeLoss(), LovaszSoftmaxLoss(mode="binary"), MarginRescalingLoss("f1"), RampLoss("f1"), RocAreaLoss()],
    ids=lambda module: type(module).__name__,
)
def test_second_derivatives_are_refused_on_all_ways(module):
    torch.manual_seed(0)
    x, y, W = torch.randn(4, 5), torch.tensor([[1], [0], [0], [1]]), torch.randn(5, 1, requires_grad=True)

    def loss(w):
        return module((x @ w).tanh(), y)

    def penalty():
        return torch.autograd.grad(loss(W), W, create_graph=True)[0].pow(2).sum()

    ways = [
        lambda: penalty().backward(),
        lambda: penalty().backward(inputs=[W]),
        lambda: torch.autograd.grad(penalty(), W),
        lambda: torch.autograd.functional.hessian(loss, W),
        lambda: torch.func.grad(lambda w: torch.func.grad(loss)(w).pow(2).sum())(W.detach()),
    ]
    for way in ways:
        with pytest.raises(RuntimeError, match="a loss of setwise has no second derivative"):
            way()
    # Scores may change in place before the way back.
    scores = torch.zeros(4, 1, requires_grad=True)
    changed = 1 * scores
    value = module(changed, y)
    changed.add_(1)
    value.backward()
    assert torch.isfinite(scores.grad).all()
