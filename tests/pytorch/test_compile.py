"""Losses are whole graphs under torch.compile, equal to the eager ones, and compiled at most twice for all shapes."""

import shutil
import subprocess
import sys

import pytest

from setwise.losses import SaturatingLoss

torch = pytest.importorskip("torch")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

import setwise.torch as st  # noqa: E402
from setwise.torch import layout, operators  # noqa: E402

SHAPES = [(2, 4, 5), (3, 6, 7), (4, 5, 9), (2, 8, 8), (5, 3, 4)]

MODULES = [
    (st.LovaszHingeLoss(), 1),
    (st.LovaszHingeLoss("saturating", "multilabel", per_image=True), 3),
    (st.LovaszSoftmaxLoss(ignore_index=255), 3),
    (st.LovaszSoftmaxLoss(class_weight=[1.0, 2.0, 3.0], per_image=True), 3),
    (st.LovaszSoftmaxLoss(classes=[2, 0], reduction="none", from_logits=True), 3),
    (st.MarginRescalingLoss("f1", scale="size"), 1),
    (st.SlackRescalingLoss("jaccard", "multilabel"), 3),
    (st.RampLoss("f1", "multiclass", include_background=False), 3),
    (st.RocAreaLoss(), 1),
    (st.AveragePrecisionLoss("multilabel", per_image=True, reduction="sum"), 3),
]


def drawn(module, channels, shape):
    """Logits (N, C, H, W) that are not compact in memory, and a target."""
    generator = torch.Generator().manual_seed(sum(shape))
    images, *pixels = shape
    logits = torch.randn(images, channels, *pixels, generator=generator).to(memory_format=torch.channels_last)
    multiclass = module.arguments.mode == "multiclass"
    size = (images, *pixels) if multiclass else (images, channels, *pixels)
    target = torch.randint(0, channels if multiclass else 2, size, generator=generator)
    return logits.requires_grad_(), target


def with_gradient(function, logits, target, *mask):
    value = function(logits, target, *mask)
    return value.detach(), torch.autograd.grad(value.sum(), logits)[0]


@pytest.mark.slow
@pytest.mark.draw(10)
@pytest.mark.parametrize(("module", "channels"), MODULES, ids=lambda x: type(x).__name__)
def test_one_graph_for_all_shapes(module, channels):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, backend=counter)
    for shape in SHAPES:
        given = drawn(module, channels, shape)
        for found, expected in zip(with_gradient(compiled, *given), with_gradient(module, *given), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    assert counter.frame_count <= 2


@pytest.mark.slow
def test_a_mask():
    torch._dynamo.reset()
    module = st.LovaszSoftmaxLoss()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, backend=counter)
    for shape in SHAPES:
        logits, target = drawn(module, 3, shape)
        given = logits, target, target != 1
        for found, expected in zip(with_gradient(compiled, *given), with_gradient(module, *given), strict=True):
            torch.testing.assert_close(found, expected)
    assert counter.frame_count <= 2


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", ["jaccard", SaturatingLoss(0.3)])
def test_the_extension(loss):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")

    def extension(errors, labels):
        return st.lovasz_extension(loss, labels, errors)

    compiled = torch.compile(extension, fullgraph=True, backend=counter)
    for sets, p in ((2, 3), (3, 4), (5, 6), (4, 9)):
        given = torch.rand(sets, p, requires_grad=True), torch.randint(-1, 2, (sets, p), dtype=torch.int8)
        for found, expected in zip(with_gradient(compiled, *given), with_gradient(extension, *given), strict=True):
            torch.testing.assert_close(found, expected)
    assert counter.frame_count <= 2


# A graph that begins in the middle of a function looks at gradients of what is no leaf.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_functional_twins_end_a_graph_and_are_the_same():
    """A twin makes a module at each call, which is no part of a graph."""
    torch._dynamo.reset()
    logits, target = drawn(st.LovaszHingeLoss(), 1, (2, 4, 5))
    compiled = torch.compile(lambda x, y: st.lovasz_hinge_loss(2 * x, y), backend="aot_eager")
    assert torch.equal(compiled(logits, target), st.lovasz_hinge_loss(2 * logits, target))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of C++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_machine_code(monkeypatch, tmp_path):
    """One image whose channels come last gives scores that are not compact, which results must not mirror."""
    # Graphs that were compiled by another version of setwise would be taken from the cache.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    for module in (st.LovaszHingeLoss(mode="multiclass"), st.RampLoss("f1", "multiclass")):
        compiled = torch.compile(module, fullgraph=True)
        given = drawn(module, 3, (1, 4, 5))
        for found, expected in zip(with_gradient(compiled, *given), with_gradient(module, *given), strict=True):
            torch.testing.assert_close(found, expected)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of C++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["multiclass", "multilabel"])
def test_machine_code_of_probabilities_near_0_and_1(mode, monkeypatch, tmp_path):
    """Of a folded probability the sign counts, also where it is 0."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    module = st.LovaszSoftmaxLoss(mode=mode)
    compiled = torch.compile(module, fullgraph=True)
    for scale in (10.0, 1000.0):
        logits, target = drawn(module, 3, (1, 4, 5))
        given = (scale * logits).detach().requires_grad_(), target
        for found, expected in zip(with_gradient(compiled, *given), with_gradient(module, *given), strict=True):
            torch.testing.assert_close(found, expected)


# The number of a form is known as long as its module lives.
HINGE, MARGIN = st.LovaszHingeLoss(), st.MarginRescalingLoss("f1")


def calls():
    """Each operator with arguments, among them tensors that are not compact in memory."""
    number, codes = HINGE._number, torch.randint(-1, 2, (3, 4), dtype=torch.int8)
    scores = torch.randn(3, 4, requires_grad=True)
    labels, one_hot = torch.randint(0, 3, (2, 1, 5)), torch.eye(3)[torch.randint(0, 3, (2, 5))].mT
    yield operators.evaluate, (scores, codes, number)
    yield operators.evaluate, (torch.randn(4, 3).T.requires_grad_(), codes, number)
    yield operators.evaluate, (torch.randn(3, 4, dtype=torch.float64), codes, MARGIN._number)
    yield operators.evaluate, (torch.randn(3, 0, requires_grad=True), codes[:, :0], number)
    yield operators.pull_back, (torch.randn(4, 3).T, torch.randn(3))
    yield layout.encode, (labels, None, [0, 1, 2], 3, True, None, True)
    yield layout.encode, (labels, torch.rand(2, 1, 5) < 0.5, [2, 0], 3, True, 1, False)
    yield layout.encode, (one_hot, torch.rand(2, 3, 5) < 0.5, [0, 2], 3, True, None, True)
    yield layout.encode, (torch.randint(0, 2, (2, 1, 5)) == 1, None, [0], 1, False, None, False)


@pytest.mark.draw(4)
@pytest.mark.parametrize(("operator", "arguments"), list(calls()))
def test_operators_are_what_they_promise(operator, arguments):
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    found = torch.library.opcheck(operator, arguments, test_utils=tests)
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.slow
def test_losses_are_imported_without_the_compiler():
    names = "LovaszHingeLoss, LovaszSoftmaxLoss, RampLoss, RocAreaLoss, SetMetric, decide, lovasz_extension"
    code = f"import sys; from setwise.torch import {names}; print([m for m in sys.modules if m == 'torch._dynamo'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
