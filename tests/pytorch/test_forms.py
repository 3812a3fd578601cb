"""A form lives as long as someone holds it: equal ones are one, and no number stands for two."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from setwise.core.terms import Trait  # noqa: E402
from setwise.losses import CappedLoss, CountFunctionLoss  # noqa: E402
from setwise.torch import LovaszHingeLoss, MarginRescalingLoss, lovasz_extension, lovasz_hinge_loss, operators  # noqa: E402
from setwise.torch.operators import form_of  # noqa: E402

Z, Y = torch.randn(2, 6), torch.arange(12).reshape(2, 6) % 2


def root():
    return CountFunctionLoss(lambda fn, fp: np.sqrt(fn + fp), promises=[Trait.INCREASING, Trait.SUBMODULAR])


@pytest.mark.slow
def test_twins_leave_nothing_behind():
    """A loss of its own at each call, by a function or by an array."""
    held = []
    for _ in range(3 * operators.KEPT):
        for loss in (root(), CappedLoss(np.ones(12), 3.0)):
            held.append(weakref.ref(loss))
            lovasz_hinge_loss(Z, Y, loss)
            lovasz_extension(loss, Y.bool(), Z.abs()) if isinstance(loss, CountFunctionLoss) else None
    del loss
    gc.collect()
    assert sum(one() is not None for one in held) <= operators.KEPT


def test_equal_forms_are_one_while_someone_holds_them():
    modules = [LovaszHingeLoss()]
    for loss in [root() for _ in range(2 * operators.KEPT)]:
        modules.append(LovaszHingeLoss(loss))
    modules.append(LovaszHingeLoss())
    assert modules[0].form is modules[-1].form
    assert len({module._number for module in modules}) == len(modules) - 1
    for copied in (copy.deepcopy(modules[0]), pickle.loads(pickle.dumps(modules[0]))):
        assert copied.form is modules[0].form
        assert copied._number == modules[0]._number


@pytest.mark.slow
def test_numbers_are_not_given_twice():
    seen = set()
    for _ in range(3 * operators.KEPT):
        number = LovaszHingeLoss(root())._number
        assert number not in seen
        seen.add(number)
    gc.collect()
    with pytest.raises(RuntimeError, match="a graph evaluates a loss of setwise that no longer exists: keep its"):
        form_of(min(seen))


@pytest.mark.slow
def test_a_graph_outlives_its_module():
    logits = Z.clone().requires_grad_()
    values = [LovaszHingeLoss(root())(logits, Y) for _ in range(2 * operators.KEPT)]
    values += [MarginRescalingLoss(root())(logits, Y)]
    gc.collect()
    sum(values).backward()
    assert logits.grad.isfinite().all()


@pytest.mark.slow
def test_a_compiled_extension_keeps_its_form():
    torch._dynamo.reset()
    compiled = torch.compile(lambda errors: lovasz_extension("jaccard", Y.bool(), errors), backend="aot_eager")
    expected = compiled(Z.abs())
    for _ in range(2 * operators.KEPT):
        lovasz_hinge_loss(Z, Y, root())
    gc.collect()
    assert torch.equal(compiled(Z.abs()), expected)
