"""The way on a device neither waits for it nor differs from run to run; a GPU is asked where one is at hand."""

import pytest

from setwise.losses import MCC, FBeta, GMean, HMean, Jaccard, SaturatingLoss, Tversky
from setwise.surrogates import MarginRescaling, Ramp

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import setwise.torch as st  # noqa: E402
from pytorch.device_cases import cases, surrogates  # noqa: E402
from setwise.torch import device_forms  # noqa: E402
from setwise.torch.layout import encoded  # noqa: E402
from setwise.torch.lovasz import Errors, LovaszForm  # noqa: E402
from setwise.torch.rescaling import SurrogateForm  # noqa: E402

FORMS = [
    *(
        LovaszForm(loss, errors)
        for loss in (Jaccard(), Jaccard("fraction"), SaturatingLoss(0.4), Tversky(0.3, 1.5))
        for errors in Errors
    ),
    *(
        SurrogateForm(surrogate, None)
        for loss in (Jaccard(), GMean(), MCC(), HMean())
        for surrogate in surrogates(loss)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("deterministic", [False, True])
def test_nothing_depends_on_values_on_the_host(deterministic, monkeypatch):
    """Tensors without values go all the way, and all that is made on the way is there too."""
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: deterministic)
    forms = [form for form in FORMS if form.on_device(torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.int8))]
    assert forms == FORMS
    large = SurrogateForm(MarginRescaling(FBeta()), None), SurrogateForm(Ramp(Jaccard()), None)
    for form in large:
        form.on_device(torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.int8))
    with FakeTensorMode():
        for p, some in ((9, FORMS), (1500, large)):
            scores = torch.empty(3, p, device="meta")
            codes = torch.empty(3, p, device="meta", dtype=torch.int8)
            for form in some:
                found = form.on_device(scores, codes)
                assert found.values.shape == (3,)
                assert found.gradient.shape == (3, p)
                assert {each.device.type for each in found[:2]} == {"meta"}


def test_targets_are_encoded_without_values_on_the_host():
    labels, one_hot = torch.empty(2, 1, 5, dtype=torch.int64), torch.empty(2, 3, 5)
    for target in (labels, one_hot):
        codes = encoded(target.to("meta"), None, [2, 0], 3, True, 255, True)
        assert codes.shape == (2, 10)


# None of these operations waits for an accelerator, and under ``torch.use_deterministic_algorithms`` all of them have
# the same result in each run: sums of floats in order of a running sum (cumsum) and products of matrices are not here.
HARMLESS = {
    "_to_copy", "abs", "add", "alias", "arange", "bitwise_and", "bitwise_not", "bitwise_or", "cat", "clamp", "clone",
    "constant_pad_nd", "cumsum", "div", "empty_like", "eq", "expand", "expm1", "full", "full_like", "gather", "ge",
    "gt", "le", "logical_and", "lt", "max", "maximum", "minimum", "mul", "ne", "neg", "reciprocal", "rsub",
    "scalar_tensor", "scatter", "searchsorted", "select", "signbit", "slice", "sort", "sqrt", "stack", "sub", "sum",
    "unsqueeze", "view", "where", "zeros_like",
}  # fmt: skip


class DispatchGuard(TorchDispatchMode):
    """Raises for an operation that might wait for an accelerator or differ from run to run there."""

    def __init__(self, harmless):
        super().__init__()
        self.harmless = harmless

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        assert name in self.harmless, name
        assert name != "cumsum" or not torch.empty(0, dtype=(kwargs or {}).get("dtype")).is_floating_point()
        return func(*args, **(kwargs or {}))


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("deterministic", [False, True])
def test_operations_neither_wait_nor_differ_from_run_to_run(deterministic, monkeypatch):
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: deterministic)
    scores, codes = torch.randn(3, 9), torch.randint(-1, 2, (3, 9), dtype=torch.int8)
    # Where algorithms have to be deterministic, to scatter is to wait.
    harmless = HARMLESS - ({"scatter"} if deterministic else set())
    for largest in (1024, -1):
        monkeypatch.setattr(device_forms, "LARGEST_TABLE", largest)
        for form in FORMS:
            form.on_device(scores, codes)
            with DispatchGuard(harmless):
                form.on_device(scores, codes)
    with pytest.raises(AssertionError, match="_local_scalar_dense"), DispatchGuard(harmless):
        scores[0, 0].item()


def modules():
    """All losses for logits of two images and three classes."""
    for options in ({}, {"per_image": True, "class_weight": [1.0, 2.0, 0.5]}, {"classes": [0, 2], "ignore_index": 2}):
        yield st.LovaszHingeLoss(mode="multiclass", **options)
        yield st.LovaszSoftmaxLoss(**options)
        yield st.MarginRescalingLoss("f1", "multiclass", scale="size", **options)
        yield st.RampLoss("jaccard", "multiclass", **options)
        yield st.SlackRescalingLoss("mcc", "multiclass", **options)


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
def test_deterministic_algorithms():
    torch.manual_seed(0)
    logits, target = torch.randn(2, 3, 50), torch.randint(0, 3, (2, 50))
    rows, codes = logits[:, 0], (target == 0).to(torch.int8)
    for module in modules():
        runs = [torch.autograd.grad(module(x, target), x)[0] for x in [logits.clone().requires_grad_()] * 2]
        assert torch.equal(*runs)
        first, second = (module.form.on_device(rows, codes) for _ in range(2))
        assert torch.equal(first.gradient, second.gradient)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("largest", [1024, -1])
def test_equal_on_a_gpu_without_waiting(largest, monkeypatch):
    monkeypatch.setattr(device_forms, "LARGEST_TABLE", largest)
    for form in FORMS:
        for scores, codes in cases(10, 5):
            expected = form.on_device(scores, codes)
            given = scores.cuda(), codes.cuda()
            torch.cuda.set_sync_debug_mode("error")
            try:
                found = form.on_device(*given)
            finally:
                torch.cuda.set_sync_debug_mode("default")
            assert (found is None) == (expected is None)
            if found is not None:
                torch.testing.assert_close(found.values.cpu(), expected.values, rtol=1e-6, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.usefixtures("deterministic")
def test_modules_on_a_gpu_do_not_wait():
    torch.manual_seed(0)
    logits, target = torch.randn(2, 3, 6, 7), torch.randint(0, 3, (2, 6, 7))
    for module in modules():
        here = logits.clone().requires_grad_()
        expected = module(here, target)
        expected.backward()
        there, labels = logits.cuda().requires_grad_(), target.cuda()
        module.cuda()
        torch.cuda.set_sync_debug_mode("error")
        try:
            found = module(there, labels)
            found.backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        torch.testing.assert_close(found.cpu(), expected)
        torch.testing.assert_close(there.grad.cpu(), here.grad)
