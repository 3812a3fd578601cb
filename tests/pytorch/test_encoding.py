"""The kernel that codes labels gives what the operations of PyTorch give, for all kinds of targets and masks."""

import itertools

import pytest

torch = pytest.importorskip("torch")

from setwise.torch import layout  # noqa: E402
from setwise.torch.layout import encoded  # noqa: E402
from setwise.torch.operators import totals_of  # noqa: E402

KINDS = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32, torch.float64]


def both(monkeypatch, *arguments):
    """The codes of the kernel, and those without it."""
    found = encoded(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(layout, "_of_labels", lambda *unused: None)
        return found, encoded(*arguments)


@pytest.mark.draw(4)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_kernel_and_operations_agree(monkeypatch, kind, count):
    generator = torch.Generator().manual_seed(0)
    top = max(count, 2)
    for pixels, masked, by_class, ignore in itertools.product((0, 7, 9000), (False, True), (False, True), (None, 1)):
        target = torch.randint(0, top, (3, 1, pixels), generator=generator).to(kind)
        mask = torch.rand(3, 1, pixels, generator=generator) < 0.7 if masked else None
        channels = [0] if count == 1 else [count - 1, 0]
        found, expected = both(monkeypatch, target, mask, channels, count, count > 1, ignore, by_class)
        assert found.dtype == torch.int8
        assert torch.equal(found, expected)
        assert totals_of(found).tolist() == [[int((row == code).sum()) for code in (0, 1)] for row in expected]


@pytest.mark.parametrize("kind", [torch.uint8, torch.int64, torch.float32], ids=str)
def test_labels_out_of_range_are_refused_unless_they_do_not_count(kind):
    target = torch.tensor([[[0, 1, 3]]]).to(kind)
    with pytest.raises(ValueError, match="target must hold whole numbers from 0 to 1, or ignore_index; got 3"):
        encoded(target, None, [0], 1, False, None, True)
    assert encoded(target, None, [0], 1, False, 3, True).tolist() == [[0, 1, -1]]
    mask = torch.tensor([[[True, True, False]]])
    assert encoded(target, mask, [0], 1, False, None, True).tolist() == [[0, 1, -1]]


def test_the_kernel_is_used_for_class_numbers(monkeypatch):
    def fail(*unused):
        raise AssertionError

    monkeypatch.setattr(torch, "zeros_like", fail)
    assert encoded(torch.tensor([[[2, 0, 255]]]), None, [0, 2], 3, True, 255, True).tolist() == [[0, 1, -1], [1, 0, -1]]
