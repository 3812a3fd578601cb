"""Worlds of 1, 2 and 3 processes of gloo, which make the checks of test_sync.py.

Usage: python ranks.py FOLDER. Rank r of n writes n-r.json into the folder: what failed in each case, or null.
"""

import json
import multiprocessing
import sys
import time
import traceback
from datetime import timedelta
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from random_cases import draw
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from setwise.torch import (
    LogSupermodularLoss,
    LovaszHingeLoss,
    LovaszSoftmaxLoss,
    MarginRescalingLoss,
    MaxMarginMRFLoss,
    RocAreaLoss,
    SetMetric,
)

SECONDS = 50  # A world that takes longer hangs, and is ended.
IGNORED = 255
MODULES = [
    (LovaszHingeLoss, {"mode": "binary"}),
    (LovaszHingeLoss, {"mode": "multilabel", "classes": "all", "empty": "fraction"}),
    (LovaszSoftmaxLoss, {"mode": "multiclass", "class_weight": [1.0, 2.0, 0.5]}),
    (MarginRescalingLoss, {"loss": "f1", "mode": "multilabel", "scale": "size"}),
    (RocAreaLoss, {"mode": "binary", "empty": "ignore"}),
]
SPLITS = {1: [[3]], 2: [[3, 1], [0, 2], [2, 0], [0, 0]], 3: [[1, 3, 2], [2, 0, 1], [0, 0, 2]]}


class Rank:
    """This process, and what the cases compare."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks

    def part(self, split):
        """The images of this rank."""
        return slice(sum(split[: self.rank]), sum(split[: self.rank + 1]))

    def check(self, module, options, split, logits, target, mask=None):
        """The value, and the gradient times the number of ranks, are those of one process with all images."""
        whole = logits.clone().requires_grad_()
        options = {"ignore_index": IGNORED, **options}
        expected = module(**options)(whole, target, mask)
        weights = torch.rand(expected.shape, generator=torch.Generator().manual_seed(7), dtype=expected.dtype)
        (expected * weights).sum().backward()
        own = logits[self.part(split)].clone().requires_grad_()
        loss = module(**options, sync="set")
        value = loss(own, target[self.part(split)], None if mask is None else mask[self.part(split)])
        (value * weights).sum().backward()
        near = {"rtol": 1e-6, "atol": 1e-6 if logits.dtype == torch.float32 else 1e-12}
        torch.testing.assert_close(value, expected, **near)
        torch.testing.assert_close(own.grad, self.ranks * whole.grad[self.part(split)], **near)


def drawn(images, mode, dtype=torch.float64, seed=0):
    """Logits and a target with ignored pixels."""
    generator = torch.Generator().manual_seed(seed)
    channels = 1 if mode == "binary" else 3
    logits = torch.randn(images, channels, 4, 3, dtype=dtype, generator=generator)
    if mode == "multiclass":
        target = torch.randint(0, 3, (images, 4, 3), generator=generator)
    else:
        target = torch.randint(0, 2, logits.shape, generator=generator)
    target[torch.rand(target.shape, generator=generator) < 0.1] = IGNORED
    return logits, target


def case_losses_equal_those_of_one_process(here):
    for split, (module, options) in product(SPLITS[here.ranks], MODULES):
        reductions = ["mean", "sum", "none"] if split is SPLITS[here.ranks][0] else ["mean"]
        for per_image, reduction in product([False, True], reductions):
            logits, target = drawn(sum(split), options["mode"])
            given = {**options, "per_image": per_image, "reduction": reduction}
            here.check(module, given, split, logits, target)


def case_random_arguments(here):
    rng = np.random.default_rng(5)
    for _ in range(40):
        case = draw(rng, str(rng.choice(["binary", "multiclass", "multilabel"])), {"empty": [None, "ignore"]})
        ends = np.sort(rng.integers(0, len(case.given) + 1, here.ranks - 1)).tolist()
        split = np.diff([0, *ends, len(case.given)]).tolist()
        module = [LovaszHingeLoss, LovaszSoftmaxLoss, RocAreaLoss][int(rng.integers(3))]
        here.check(module, case.options, split, case.given, case.target, case.mask)


def case_float32(here):
    for split, (module, options) in product(SPLITS[here.ranks], MODULES):
        here.check(module, options, split, *drawn(sum(split), options["mode"], torch.float32))


def case_all_pixels_ignored_on_one_rank_or_on_all(here):
    for (module, options), per_image, ranks in product(MODULES, [False, True], [1, here.ranks]):
        split = SPLITS[here.ranks][0]
        logits, target = drawn(sum(split), options["mode"])
        target[-sum(split[-ranks:]) :] = IGNORED
        here.check(module, {**options, "per_image": per_image}, split, logits, target)


def case_a_mask_on_one_rank_only(here):
    split = SPLITS[here.ranks][0]
    logits, target = drawn(sum(split), "multiclass")
    keep = torch.ones_like(target, dtype=torch.bool)
    keep[: split[0]] = torch.rand(keep[: split[0]].shape, generator=torch.Generator().manual_seed(3)) < 0.5
    whole = LovaszSoftmaxLoss(ignore_index=IGNORED)(logits, target, keep)
    at = here.part(split)
    loss = LovaszSoftmaxLoss(ignore_index=IGNORED, sync="set")
    found = loss(logits[at], target[at], keep[at] if here.rank == 0 else None)
    torch.testing.assert_close(found, whole, rtol=1e-12, atol=0.0)


def case_float32_beside_float64(here):
    split = SPLITS[here.ranks][0]
    logits, target = drawn(sum(split), "binary", torch.float32)
    expected = LovaszHingeLoss(ignore_index=IGNORED)(logits.double(), target)
    dtype = torch.float64 if here.rank == 0 else torch.float16 if here.rank == 2 else torch.float32
    own = logits[here.part(split)].to(dtype).requires_grad_()
    value = LovaszHingeLoss(ignore_index=IGNORED, sync="set")(own, target[here.part(split)])
    value.backward()
    assert own.grad.dtype == dtype
    torch.testing.assert_close(value.double(), expected, rtol=1e-3 if here.ranks == 3 else 1e-6, atol=0.0)


def network(dtype):
    """A network of two layers that is the same on all ranks."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 3, 1)).to(dtype)


def case_distributed_data_parallel_has_the_gradient_of_one_process(here):
    for split, per_image in product(SPLITS[here.ranks], [False, True]):
        for name, loss in {
            "softmax": LovaszSoftmaxLoss,
            "hinge": lambda **k: LovaszHingeLoss(mode="multiclass", **k),
            "f1": lambda **k: MarginRescalingLoss("f1", "multiclass", scale="size", **k),
            "auc": lambda **k: RocAreaLoss("multiclass", **k),
        }.items():
            images = torch.randn(sum(split), 2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
            _, target = drawn(sum(split), "multiclass")
            given = {"ignore_index": IGNORED, "per_image": per_image}
            alone = network(torch.float64)
            loss(**given)(alone(images), target).backward()
            together = DistributedDataParallel(network(torch.float64))
            at = here.part(split)
            loss(**given, sync="set")(together(images[at]), target[at]).backward()
            for one, other in zip(alone.parameters(), together.parameters(), strict=True):
                torch.testing.assert_close(
                    other.grad, one.grad, rtol=1e-6, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}"
                )


def case_no_sync_adds_up_micro_batches_of_all_ranks(here):
    split = SPLITS[here.ranks][0]
    alone, together = network(torch.float64), DistributedDataParallel(network(torch.float64))
    at = here.part(split)
    batches = []
    for seed in range(2):
        generator = torch.Generator().manual_seed(seed)
        images = torch.randn(sum(split), 2, 4, 3, dtype=torch.float64, generator=generator)
        batches.append((images, drawn(sum(split), "multiclass", seed=seed)[1]))
    for images, target in batches:
        LovaszSoftmaxLoss(ignore_index=IGNORED)(alone(images), target).backward()
    loss = LovaszSoftmaxLoss(ignore_index=IGNORED, sync="set")
    with together.no_sync():
        loss(together(batches[0][0][at]), batches[0][1][at]).backward()
    loss(together(batches[1][0][at]), batches[1][1][at]).backward()
    for one, other in zip(alone.parameters(), together.parameters(), strict=True):
        torch.testing.assert_close(other.grad, one.grad, rtol=1e-6, atol=1e-12)


def case_losses_of_grids_divide_by_the_images_of_all_ranks(here):
    for split, reduction in product(SPLITS[here.ranks], ["mean", "sum", "none"]):
        unary, target = drawn(sum(split), "binary")
        target[:1] = IGNORED
        expected, found = (
            MaxMarginMRFLoss(ignore_index=IGNORED, reduction=reduction, sync=sync) for sync in (None, "set")
        )
        whole, own = unary.clone().requires_grad_(), unary[here.part(split)].clone().requires_grad_()
        wanted = expected(whole, torch.tensor(0.3, dtype=torch.float64), target)
        value = found(own, torch.tensor(0.3, dtype=torch.float64), target[here.part(split)])
        torch.testing.assert_close(value, wanted, rtol=1e-12, atol=1e-12)
        wanted.sum().backward()
        value.sum().backward()
        torch.testing.assert_close(own.grad, here.ranks * whole.grad[here.part(split)], rtol=1e-12, atol=1e-12)
    # The noise of each rank is its own, but all have the same value.
    unary, target = torch.zeros(1, 1, 3, 3), torch.zeros(1, 1, 3, 3, dtype=torch.long)
    torch.manual_seed(here.rank)
    value = LogSupermodularLoss(sync="set")(unary, torch.tensor(0.1), target).item()
    values = [None] * here.ranks
    dist.all_gather_object(values, value)
    assert len(set(values)) == 1


def case_a_metric_adds_up_the_sums_of_all_ranks(here):
    for split, per_image, seen in product(SPLITS[here.ranks], [False, True], ["all", "those with images", "the first"]):
        logits, target = drawn(sum(split), "multiclass")
        given = {"mode": "multiclass", "per_image": per_image, "ignore_index": IGNORED, "class_weight": [1.0, 2.0, 3.0]}
        metric, alone, whole = SetMetric(**given), SetMetric(**given, sync=None), SetMetric(**given)
        at = here.part(split)
        if seen == "all" or (seen == "the first" and here.rank == 0) or (seen != "the first" and split[here.rank]):
            metric.update(logits[at], target[at])
            alone.update(logits[at], target[at])
        if seen != "the first":
            whole.update(logits, target)
        else:
            whole.update(logits[: split[0]], target[: split[0]])
        expected = whole.value_of(whole._sums)
        if seen == "those with images" and not sum(split):
            refused(metric.compute, RuntimeError)
            continue
        torch.testing.assert_close(metric.compute(), expected, rtol=1e-12, atol=0.0, equal_nan=True)
        # The sums of the rank are as before, and so is its figure.
        torch.testing.assert_close(metric.compute(), expected, rtol=1e-12, atol=0.0, equal_nan=True)
        if alone._sums is not None:
            torch.testing.assert_close(
                alone.compute(), metric.value_of(metric._sums), rtol=0.0, atol=0.0, equal_nan=True
            )


def refused(call, kind):
    """The sentence of the exception of this kind."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind} was raised.")


def case_a_refusal_of_one_rank_reaches_all(here):
    last = here.ranks - 1
    for per_image in (False, True):
        loss = LovaszSoftmaxLoss(sync="set", per_image=per_image)
        logits, target = torch.randn(2, 3, 4), torch.randint(0, 3, (2, 4))
        odd = target.clone()
        if here.rank == last:
            odd[0, 0] = 9
        sentence = refused(lambda odd=odd: loss(logits, odd), ValueError if here.rank == last else RuntimeError)  # noqa: B023
        assert "target must hold whole numbers from 0 to 2, or ignore_index; got 9." in sentence
        assert here.rank == last or f"sync found no loss, because rank {last} of the group refused" in sentence
        # The ranks are together again after it.
        assert loss(logits, target).isfinite()


def case_what_must_be_equal_on_all_ranks(here):
    if here.ranks == 1:
        return
    odd = here.rank == 1
    logits, target = torch.randn(2, 4 if odd else 3, 4), torch.randint(0, 3, (2, 4))
    sentence = refused(lambda: LovaszSoftmaxLoss(sync="set")(logits, target), ValueError)
    assert sentence == "sync needs the same number of sets on all ranks; got 3 on rank 0 and 4 on rank 1."
    loss = LovaszSoftmaxLoss(sync="set", per_image=odd)
    sentence = refused(lambda: loss(logits[:, :3], target), ValueError)
    assert sentence.startswith("sync needs the same settings on all ranks; got Arguments(")
    loss = LovaszSoftmaxLoss(sync="set", class_weight=[1.0, 2.0] if odd else [1.0, 2.0, 3.0])
    sentence = refused(lambda: loss(logits[:, :3], target), ValueError if odd else RuntimeError)
    assert "class_weight must have one number for each of 3 channels; got 2." in sentence


def case_a_process_group_shares_among_its_ranks(here):
    if here.ranks < 3:
        return
    group = dist.new_group([0, 2])
    logits, target = drawn(6, "binary")
    if here.rank == 1:
        sentence = refused(lambda: LovaszHingeLoss(sync=group), TypeError)
        assert sentence.startswith("sync must be None, 'set' or a process group that this process is in; got ")
        return
    split = {0: slice(0, 4), 2: slice(4, 6)}[here.rank]
    found = LovaszHingeLoss(ignore_index=IGNORED, sync=group)(logits[split], target[split])
    torch.testing.assert_close(found, LovaszHingeLoss(ignore_index=IGNORED)(logits, target), rtol=1e-12, atol=0.0)


def case_compilation_ends_a_graph(here):
    if here.ranks != 2:
        return
    loss = LovaszSoftmaxLoss(sync="set")
    logits, target = torch.randn(2, 3, 4), torch.randint(0, 3, (2, 4))
    compiled = torch.compile(loss, backend="eager")
    torch.testing.assert_close(compiled(logits, target), loss(logits, target))


def run(rank, ranks, folder):
    """Make all checks as one rank."""
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting-{ranks}",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=SECONDS / 2),
    )
    here, found = Rank(rank, ranks), {}
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            try:
                case(here)
                found[name] = None
            except Exception:
                found[name] = traceback.format_exc()
    (folder / f"{ranks}-{rank}.json").write_text(json.dumps(found), "utf-8")
    dist.barrier()
    dist.destroy_process_group()


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    # Forked processes need not import PyTorch and its compiler, nor load the kernels that these calls load.

    for module, options in MODULES:
        module(**options, ignore_index=IGNORED)(*drawn(2, options["mode"]))
    for ranks in (1, 2, 3):
        context = multiprocessing.get_context("fork")
        world = [context.Process(target=run, args=(rank, ranks, folder)) for rank in range(ranks)]
        end = time.monotonic() + SECONDS
        for each in world:
            each.start()
        for each in world:
            each.join(max(0.0, end - time.monotonic()))
            each.kill()


if __name__ == "__main__":
    main()
