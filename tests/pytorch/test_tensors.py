"""Kinds and layouts of tensors, copies of modules, and modules in other processes."""

import copy
import pickle
import subprocess
import sys

import pytest

import setwise.losses
from setwise.losses import Hamming, Jaccard

torch = pytest.importorskip("torch")

import setwise.torch as st  # noqa: E402

MODULES = [
    st.LovaszHingeLoss(mode="multiclass"),
    st.LovaszHingeLoss("saturating", "multiclass", per_image=True, class_weight=[1.0, 2.0, 0.5]),
    st.LovaszSoftmaxLoss(),
    st.LovaszSoftmaxLoss(classes=[2, 0]),
    st.MarginRescalingLoss("f1", "multiclass", scale="size"),
    st.SlackRescalingLoss("jaccard", "multiclass"),
    st.RampLoss("f1", "multiclass", scale="size"),
    st.RocAreaLoss("multiclass"),
    st.AveragePrecisionLoss("multiclass"),
]


def drawn(images=2, classes=3, size=(4, 5)):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(images, classes, *size, generator=generator)
    return logits, torch.randint(0, classes, (images, *size), generator=generator)


def with_gradient(module, logits, target):
    given = logits.detach().requires_grad_()
    value = module(given, target)
    return value.detach(), torch.autograd.grad(value, given)[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_half_precision_is_computed_in_float32(module, dtype):
    logits, target = drawn()
    rounded = logits.to(dtype)
    value, gradient = with_gradient(module, rounded, target)
    expected, full = with_gradient(module, rounded.float(), target)
    assert value.dtype == torch.float32
    assert torch.equal(value, expected)
    assert gradient.dtype == dtype
    assert torch.equal(gradient, full.to(dtype))


@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_float64_stays(module):
    logits, target = drawn()
    value, gradient = with_gradient(module, logits.double(), target)
    assert value.dtype == gradient.dtype == torch.float64


LAYOUTS = {
    "channels last": lambda x: x.to(memory_format=torch.channels_last),
    "transposed": lambda x: x.mT.contiguous().mT,
    "strided": lambda x: torch.stack([x, x + 1.0], dim=-1)[..., 0],
    "flipped storage": lambda x: x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_layouts_of_memory_change_nothing(module, layout):
    for images in (1, 2):
        logits, target = drawn(images)
        other = LAYOUTS[layout](logits)
        assert torch.equal(other, logits)
        mirrored = target.mT.contiguous().mT
        for found, expected in zip(
            with_gradient(module, other, mirrored), with_gradient(module, logits, target), strict=True
        ):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_expanded_logits(module):
    """One map for all images: its gradient is the sum of theirs."""
    logits, target = drawn()
    one = logits[:1].clone().requires_grad_()
    module(one.expand(2, -1, -1, -1), target).backward()
    _, expected = with_gradient(module, logits[:1].repeat(2, 1, 1, 1), target)
    torch.testing.assert_close(one.grad, expected.sum(dim=0, keepdim=True))


@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_modules_have_no_state_and_move(module):
    logits, target = drawn()
    expected = module(logits, target)
    assert not module.state_dict()
    assert not list(module.parameters())
    moved = copy.deepcopy(module).to(torch.float16).to("cpu")
    moved.load_state_dict({})
    assert torch.equal(moved(logits, target), expected)
    meta = copy.deepcopy(module).to("meta")
    assert meta.class_weight is None or meta.class_weight.device.type == "meta"


OTHERS = [
    st.LovaszSoftmaxLoss(from_logits=False, ignore_index=255),
    st.LovaszHingeLoss(mode="multilabel", include_background=False, empty="fraction", reduction="none", sync="set"),
    st.MaxMarginMRFLoss("jaccard", tol=1e-2, scale=2.0),
    st.LogSupermodularLoss(30, per_pixel=False, random_state=3, ignore_index=255),
    st.SetMetric("f1", "multiclass", num_classes=3),
    st.SetMetric(threshold=0.5, class_weight=[2.0]),
]


@pytest.mark.parametrize("module", [*MODULES, *OTHERS], ids=repr)
def test_the_text_of_a_module_makes_it_once_more(module):
    other = eval(repr(module), vars(setwise.losses) | vars(st) | {type(module).__name__: type(module)})
    assert type(other) is type(module)
    assert repr(other) == repr(module)
    assert other.arguments == module.arguments
    if not isinstance(module, st.SetMetric):
        assert repr(other.form) == repr(module.form)


@pytest.mark.parametrize("module", [*MODULES, st.SetMetric(mode="multiclass")], ids=repr)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_traces_of_other_numbers_are_refused(module):
    with pytest.raises(RuntimeError, match=f"torch.jit.trace refuses {type(module).__name__}"):
        torch.jit.trace(module, drawn())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_traces_of_grids_are_refused():
    unary, coupling, target = torch.zeros(1, 2, 2), torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="torch.jit.trace refuses MaxMarginMRFLoss"):
        torch.jit.trace(st.MaxMarginMRFLoss(), (unary, coupling, target))
    with pytest.raises(RuntimeError, match="torch.jit.trace refuses a grid"):
        torch.jit.trace(st.most_probable, (unary, coupling))
    labels = torch.tensor([[1, 0]])
    with pytest.raises(RuntimeError, match="torch.jit.trace refuses lovasz_extension"):
        torch.jit.trace(lambda errors: st.lovasz_extension("jaccard", labels, errors), (torch.rand(1, 2),))


def test_labels_of_the_extension_of_any_whole_type():
    labels, errors = torch.tensor([[1, 0, -1]]), torch.rand(1, 3)
    wanted = st.lovasz_extension("jaccard", labels.to(torch.int8), errors)
    assert torch.equal(st.lovasz_extension("jaccard", labels, errors), wanted)
    with pytest.raises(ValueError, match="labels must be 1, 0, or -1"):
        st.lovasz_extension("jaccard", labels * 255, errors)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32])
def test_labels_of_unsigned_types(dtype):
    labels, errors = torch.tensor([[0, 1, 1, 0]]), torch.rand(1, 4)
    few, logits = labels.to(dtype), torch.randn(1, 4)
    assert torch.equal(st.lovasz_extension("jaccard", few, errors), st.lovasz_extension("jaccard", labels, errors))
    with pytest.raises(ValueError, match="labels must be 1, 0, or -1 .* got 255"):
        st.lovasz_extension("jaccard", (labels * 255).to(dtype), errors)
    for ignore_index in (None, -1, 255):
        loss = st.LovaszHingeLoss(ignore_index=ignore_index)
        assert torch.equal(loss(logits, few), loss(logits, labels))
        loss = st.RampLoss("jaccard", "multiclass", ignore_index=ignore_index)
        many = torch.randn(1, 3, 4)
        assert torch.equal(loss(many, few), loss(many, labels))
    grid = st.MaxMarginMRFLoss("error_rate")
    assert torch.equal(grid(logits, 0.4, few), grid(logits, 0.4, labels))
    metric, preds = st.SetMetric("jaccard", "multiclass", num_classes=300), torch.tensor([[0, 1, 200, 50]])
    assert torch.equal(metric(preds.to(dtype), few), metric(preds, labels))


@pytest.mark.parametrize("module", [*MODULES, st.LovaszHingeLoss(Hamming([1.0] * 40), "multiclass")], ids=repr)
def test_copies(module):
    logits, target = drawn()
    # What is found on the first call does not hinder a copy.
    module.form.on_device(logits.flatten(1), torch.ones(2, 60, dtype=torch.int8))
    for other in (copy.copy(module), copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(other) == repr(module)
        assert torch.equal(other(logits, target), module(logits, target))


@pytest.mark.slow
def test_a_module_in_another_process(tmp_path):
    """The number of a form belongs to a process: there it may be that of another form."""
    st.LovaszHingeLoss(Jaccard("fraction"))
    modules = [st.LovaszHingeLoss(), st.MarginRescalingLoss("f1"), st.MaxMarginMRFLoss("f1")]
    logits, target, coupling = torch.randn(1, 1, 3, 4), torch.rand(1, 1, 3, 4) < 0.5, torch.rand(1, 2, 3, 4)
    given = [(logits, target), (logits, target), (logits, coupling, target)]
    values = [module(*each) for module, each in zip(modules, given, strict=True)]
    torch.save((modules, given, values), tmp_path / "all.pt")
    code = (
        "import torch, setwise.torch as st\n"
        "st.RampLoss('mcc')\n"
        f"modules, given, values = torch.load({str(tmp_path / 'all.pt')!r}, weights_only=False)\n"
        "for module, each, value in zip(modules, given, values):\n"
        "    assert torch.equal(module(*each), value), module\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("module", MODULES, ids=repr)
def test_threads_change_nothing(module):
    logits, target = drawn(2, 3, (32, 32))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(with_gradient(module, logits, target))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
