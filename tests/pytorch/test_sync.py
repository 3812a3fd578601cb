"""Losses of sets that lie on 1, 2 and 3 processes of gloo are those of one process; ranks.py holds the cases."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("setwise.torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

from setwise.torch import LovaszHingeLoss, lovasz_softmax_loss  # noqa: E402

SCRIPT = Path(__file__).with_name("ranks.py")
CASES = [line[4 : line.index("(")] for line in SCRIPT.read_text("utf-8").splitlines() if line.startswith("def case_")]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What failed in each case, by world and rank; the processes make all checks once."""
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    return found, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the worlds are forked")
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_ranks(outcomes, case, ranks):
    found, errors = outcomes
    for rank in range(ranks):
        assert f"{ranks}-{rank}" in found, f"rank {rank} of {ranks} hangs or broke off: {errors}"
        assert found[f"{ranks}-{rank}"][case] is None, f"rank {rank}: {found[f'{ranks}-{rank}'][case]}"


@pytest.fixture
def alike():
    """What makes this process a rank of a group of PyTorch whose other ranks have the same rows, without processes."""
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    group = torch.distributed
    yield lambda rank, ranks: group.init_process_group("fake", rank=rank, world_size=ranks, store=fake.FakeStore())
    if group.is_initialized():
        group.destroy_process_group()


@pytest.mark.parametrize(("rank", "ranks"), [(0, 2), (1, 2), (2, 3)])
def test_the_mean_of_the_gradients_of_all_ranks_is_the_gradient_of_one_process(alike, rank, ranks):
    generator = torch.Generator().manual_seed(0)
    part = torch.randn(2, 1, 3, 2, dtype=torch.float64, generator=generator)
    target = torch.randint(0, 2, part.shape, generator=generator)
    whole, own = part.repeat(ranks, 1, 1, 1).requires_grad_(), part.clone().requires_grad_()
    expected = LovaszHingeLoss(mode="binary")(whole, target.repeat(ranks, 1, 1, 1))
    expected.backward()
    alike(rank, ranks)
    value = LovaszHingeLoss(mode="binary", sync="set")(own, target)
    value.backward()
    torch.testing.assert_close(value, expected)
    # DistributedDataParallel divides the sum of the gradients of all ranks by their number.
    torch.testing.assert_close(own.grad / ranks, whole.grad[2 * rank : 2 * rank + 2])


def test_without_processes_nothing_changes():
    logits, labels = torch.randn(2, 3, 4), torch.randint(0, 3, (2, 4))
    assert torch.equal(lovasz_softmax_loss(logits, labels, sync="set"), lovasz_softmax_loss(logits, labels))


@pytest.mark.parametrize("sync", ["sets", True, 3])
def test_other_values_are_refused(sync):
    with pytest.raises(TypeError, match="sync must be None, 'set' or a process group that this process is in; got "):
        LovaszHingeLoss(sync=sync)
