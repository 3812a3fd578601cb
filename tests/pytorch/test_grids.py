"""Losses and decisions of grids equal enumeration over all labelings, and the surrogates of setwise."""

import re
import warnings

import numpy as np
import pytest

from setwise.core.enumerate import subsets, table
from setwise.core.networks import Graphs
from setwise.losses import MCC
from setwise.probabilistic import PerturbedLikelihood

torch = pytest.importorskip("torch")
setwise_torch = pytest.importorskip("setwise.torch")

from setwise.torch import (  # noqa: E402
    LogSupermodularLoss,
    MarginRescalingLoss,
    MaxMarginMRFLoss,
    log_supermodular_loss,
    marginals,
    max_margin_mrf_loss,
    max_marginals,
    most_probable,
)

# Eight neighbors and volumes have kernels of their own, which take long to compile.
EIGHT, COLUMN, VOLUME = (
    pytest.param(*kind, marks=pytest.mark.slow) for kind in (((2, 4), 4), ((4, 1), 4), ((2, 2, 2), 3))
)
KINDS = [((5,), 1), ((3, 3), 2), ((3, 4), 2), ((1, 4), 2), ((1, 1), 2), EIGHT, COLUMN, VOLUME]
WAYS = {1: [(1,)], 2: [(0, 1), (1, 0), (1, 1), (1, -1)], 3: [(0, 0, 1), (0, 1, 0), (1, 0, 0)]}


def drawn(shape, ways, n=3, seed=0, size=1.0):
    """Potentials in float64 and a target."""
    generator = torch.Generator().manual_seed(seed)
    unary = size * torch.randn(n, *shape, dtype=torch.float64, generator=generator)
    coupling = size * torch.rand(n, ways, *shape, dtype=torch.float64, generator=generator)
    target = torch.rand(n, *shape, generator=generator) < 0.4
    return unary.requires_grad_(), coupling.requires_grad_(), target


def agreements(shape, ways):
    """For each labeling as a row, and each direction and pixel, whether it agrees with its neighbor: (2^p, E, ...)."""
    rows = subsets(int(np.prod(shape))).reshape(-1, *shape)
    out = np.zeros((len(rows), ways, *shape))
    for k, way in enumerate(WAYS[len(shape)][:ways]):
        for at in np.ndindex(shape):
            to = tuple(np.add(at, way))
            if all(0 <= a < b for a, b in zip(to, shape, strict=True)):
                out[:, k, *at] = rows[:, *at] == rows[:, *to]
    return rows, out


def each_score(unary, coupling):
    """The score of every labeling of one grid, (2^p,), by loops over its edges."""
    rows, same = agreements(unary.shape, len(coupling))
    return rows.reshape(len(rows), -1) @ unary.ravel() + same.reshape(len(rows), -1) @ coupling.ravel()


def costs_of(loss, truth):
    """The loss of every labeling in the order of ``subsets``, (2^p,)."""
    return table(loss, truth)[(subsets(len(truth)) ^ truth) @ (1 << np.arange(len(truth)))]


@pytest.mark.parametrize(("shape", "ways"), KINDS)
@pytest.mark.parametrize("loss", ["hamming", "jaccard", "f1"])
def test_margin_is_the_maximum_over_all_labelings(shape, ways, loss):
    for seed in range(2):
        unary, coupling, target = drawn(shape, ways, seed=seed, size=0.5)
        module = MaxMarginMRFLoss(loss, scale=1.0, tol=0.0, reduction="none")
        with warnings.catch_warnings(record=True):
            found = module(unary, coupling, target)
        found.sum().backward()
        rows, same = agreements(shape, ways)
        flat = rows.reshape(len(rows), -1)
        for i in range(len(target)):
            truth = target[i].numpy().ravel()
            costs = costs_of(module.form.loss, truth)
            scores = each_score(unary[i].detach().numpy(), coupling[i].detach().numpy())
            at = int(np.flatnonzero((flat == truth).all(axis=1))[0])
            worst = int(np.argmax(costs + scores))
            assert found[i].item() == pytest.approx((costs + scores)[worst] - scores[at], abs=1e-9)
            np.testing.assert_array_equal(unary.grad[i], rows[worst].astype(float) - target[i].numpy())
            np.testing.assert_array_equal(coupling.grad[i], same[worst] - same[at])


@pytest.mark.parametrize(("shape", "ways"), KINDS)
def test_most_probable_is_the_labeling_of_largest_score(shape, ways):
    for seed in range(5):
        unary, coupling, _ = drawn(shape, ways, seed=seed)
        found = most_probable(unary, coupling)
        assert found.dtype == torch.bool
        for i, labels in enumerate(found.numpy()):
            scores = each_score(unary[i].detach().numpy(), coupling[i].detach().numpy())
            best = subsets(labels.size)[int(np.argmax(scores))]
            np.testing.assert_array_equal(labels.ravel(), best)
            rows = subsets(labels.size)
            margins = [scores[rows[:, k]].max() - scores[~rows[:, k]].max() for k in range(labels.size)]
            np.testing.assert_allclose(max_marginals(unary, coupling)[i].ravel(), margins, atol=1e-9)


@pytest.mark.parametrize(("shape", "ways"), [((3, 3), 2), EIGHT])
def test_likelihood_is_that_of_the_surrogate_on_the_same_noise(shape, ways):
    unary, coupling, target = drawn(shape, ways)
    found = LogSupermodularLoss(6, per_pixel=False, random_state=3, reduction="none")(unary, coupling, target)
    graphs = Graphs.images(target.numpy(), 2 * ways)
    for i in range(3):
        fields, couplings = unary[i].detach().numpy(), coupling[i].detach().numpy()
        scores = [fields.ravel()]
        for k, (down, right) in enumerate(WAYS[2][:ways]):
            inner = couplings[k, : shape[0] - down, (0 if right >= 0 else 1) : shape[1] - max(right, 0)]
            scores.append(inner.ravel())
        one = graphs.take(np.arange(3))
        flat = np.zeros(one.n_scores)
        own = slice(one.score_offsets[i], one.score_offsets[i + 1])
        flat[own] = np.concatenate(scores)
        expected = PerturbedLikelihood(6, random_state=3).on(one)(flat)
        assert found[i].item() == pytest.approx(expected.values[i], abs=1e-12)


def test_likelihood_is_not_below_the_truth_in_the_mean():
    unary, coupling, target = drawn((3, 3), 2)
    found = log_supermodular_loss(unary, coupling, target, 4000, per_pixel=False, random_state=0, reduction="none")
    for i in range(3):
        scores = each_score(unary[i].detach().numpy(), coupling[i].detach().numpy())
        rows = subsets(9)
        own = scores[int(np.flatnonzero((rows == target[i].numpy().ravel()).all(axis=1))[0])]
        exact = np.logaddexp.reduce(scores) - own
        # The mean of 4,000 samples is known to about .05.
        assert exact < found[i].item() < exact + 2.0


def test_likelihood_without_couplings_is_a_sum_of_logistic_losses():
    unary, _, target = drawn((3, 4), 2)
    found = log_supermodular_loss(unary, torch.zeros(()), target, 5000, random_state=0)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(unary, target.double())
    assert found.item() == pytest.approx(expected.item(), abs=0.02)
    shares = marginals(unary, torch.zeros(()), 5000, random_state=0)
    np.testing.assert_allclose(shares, torch.sigmoid(unary).detach(), atol=0.03)


@pytest.mark.parametrize("loss", ["error_rate", "jaccard", "f1"])
def test_margin_without_couplings_is_that_of_independent_pixels(loss):
    unary, coupling, target = drawn((3, 4), 2)
    options = {"scale": "size", "reduction": "none"}
    found = MaxMarginMRFLoss(loss, tol=0.0, **options)(unary, 0 * coupling, target)
    expected = MarginRescalingLoss(loss, per_image=True, **options)(unary, target)
    np.testing.assert_allclose(found.detach(), expected.detach()[:, 0], atol=1e-12)


@pytest.mark.draw(4)
@pytest.mark.parametrize(("shape", "ways"), [((5,), 1), ((3, 4), 2), EIGHT, VOLUME])
def test_gradients_equal_finite_differences(shape, ways):
    unary, coupling, target = drawn(shape, ways, n=1)
    for module in (
        MaxMarginMRFLoss(),
        MaxMarginMRFLoss("jaccard", tol=0.0),
        LogSupermodularLoss(4, random_state=0),
        LogSupermodularLoss(4, random_state=torch.Generator().manual_seed(0)),
    ):
        frozen = module._seeds is None or module._seeds._generator is None
        check = torch.autograd.gradcheck(
            lambda u, c, m=module: m(u, c, target), (unary, coupling), raise_exception=False
        )
        # Fresh noise at each call is no function of the potentials.
        assert check == frozen


@pytest.mark.parametrize(
    "loss", [MaxMarginMRFLoss(), MaxMarginMRFLoss("jaccard", tol=0.0), LogSupermodularLoss(4, random_state=0)]
)
def test_ignored_pixels_leave_the_grid_with_their_edges(loss):
    unary, coupling, target = drawn((3, 5), 2)
    labels = target.long()
    labels[:, :, 2], labels[:, 2] = 255, 255
    keep = labels != 255
    poisoned = unary.detach().clone().masked_fill(~keep, torch.nan).requires_grad_()
    loss.arguments, before = type(loss.arguments)("binary", 255, per_image=True), loss.arguments
    found = loss(poisoned, coupling, labels)
    found.backward()
    loss.arguments = before
    assert not poisoned.grad[~keep].any()
    assert not coupling.grad[:, :, 2].any()
    assert not coupling.grad[:, 0, :, 1:3].any()
    assert not coupling.grad[:, 1, 1].any()
    assert torch.equal(loss(unary, coupling, target, keep), found)
    if isinstance(loss, MaxMarginMRFLoss):
        # What is left are two pieces of two columns, which may as well be next to each other with no edge between.
        left = torch.tensor([0, 1, 3, 4])
        pairs = coupling.detach()[:, :, :2, left].clone()
        pairs[:, 0, :, 1] = 0.0
        assert loss(unary.detach()[:, :2, left], pairs, target[:, :2, left]).item() == pytest.approx(found.item())


@pytest.mark.parametrize("module", [MaxMarginMRFLoss("jaccard", ignore_index=7), LogSupermodularLoss(ignore_index=7)])
def test_images_in_which_nothing_counts_have_no_part(module):
    unary, coupling, target = drawn((3, 4), 2)
    labels = target.long()
    labels[1] = 7
    module.reduction = "none"
    assert module(unary, coupling, labels)[1].item() == 0.0
    module.reduction = "mean"
    for some in (torch.full_like(labels, 7), labels[:0]):
        n = len(some)
        value = module(unary[:n], coupling[:n], some)
        value.backward()
        assert value.item() == 0.0
        assert not unary.grad.any()
        assert not coupling.grad.any()
    torch.manual_seed(0)
    both = MaxMarginMRFLoss(reduction="none")(unary, coupling, target)
    labels = target.long()
    labels[1] = 7
    assert MaxMarginMRFLoss(ignore_index=7)(unary, coupling, labels).item() == pytest.approx(both[[0, 2]].mean().item())


def test_shapes_that_mean_the_same_give_the_same():
    unary, coupling, target = drawn((3, 4), 2)
    plain = MaxMarginMRFLoss()(unary, coupling, target)
    assert torch.equal(MaxMarginMRFLoss()(unary[:, None], coupling, target), plain)
    assert torch.equal(MaxMarginMRFLoss()(unary[:, None], coupling, target[:, None].float()), plain)
    assert most_probable(unary[:, None], coupling).shape == (3, 1, 3, 4)
    turned = unary.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(max_margin_mrf_loss(turned, coupling, target), plain)
    for shape in ((), (1,), (1, 2, 1, 1), (1, 1, 1, 1), (3, 2, 1, 1)):
        weight = torch.full(shape, 0.3, dtype=torch.float64, requires_grad=True)
        found = MaxMarginMRFLoss()(unary, weight, target)
        found.backward()
        assert torch.equal(found, MaxMarginMRFLoss()(unary, torch.full((3, 2, 3, 4), 0.3, dtype=torch.float64), target))
        assert weight.grad.shape == shape
    ones = torch.ones(3, 2, 3, 4, dtype=torch.float64)
    for number in (0.3, 1):
        assert torch.equal(MaxMarginMRFLoss()(unary, number, target), MaxMarginMRFLoss()(unary, number * ones, target))


@pytest.mark.parametrize("unary", [torch.zeros(2, 1, 4, 4), torch.zeros(2, 4, 4)])
@pytest.mark.parametrize("shape", [(2, 4, 4), (4, 4), (2, 1, 1)])
def test_couplings_with_fewer_axes_are_refused_for_images(unary, shape):
    """The first axis of (2, 4, 4) may be that of images or that of directions."""
    wanted = "coupling must be a number, or (2, 2, 4, 4) or (2, 4, 4, 4) here, where any axis may have length 1"
    with pytest.raises(ValueError, match=re.escape(f"{wanted}; got {shape}.")):
        most_probable(unary, torch.ones(shape))


def test_half_precision_is_computed_in_float32():
    unary, coupling, target = drawn((3, 4), 2)
    for kind in (torch.float16, torch.bfloat16):
        low = unary.detach().to(kind).requires_grad_()
        found = MaxMarginMRFLoss()(low, coupling.detach().to(kind), target)
        found.backward()
        assert found.dtype == torch.float32
        assert low.grad.dtype == kind
        assert found.item() == pytest.approx(MaxMarginMRFLoss()(unary, coupling, target).item(), abs=0.02)
        assert (
            max_marginals(low, coupling.to(kind)).dtype == marginals(low, coupling.to(kind), 2).dtype == torch.float32
        )


@pytest.mark.parametrize(
    ("unary", "coupling", "target", "sentence"),
    [
        (torch.zeros(2, 3, 4), torch.zeros(2, 3, 3, 4), torch.zeros(2, 3, 4), r"a number, or \(2, 2, 3, 4\) or"),
        (torch.zeros(2, 3, 4), torch.zeros(2, 2, 3, 3), torch.zeros(2, 3, 4), r"got \(2, 2, 3, 3\)"),
        (torch.zeros(2, 3, 4), torch.full((2, 2, 3, 4), -1.0), torch.zeros(2, 3, 4), "coupling must be 0 or above"),
        (torch.full((2, 3, 4), torch.nan), torch.zeros(()), torch.zeros(2, 3, 4), "must be finite"),
        (torch.zeros(2), torch.zeros(()), torch.zeros(2), r"unary must be \(N, 1, ...\)"),
        (torch.zeros(2, 3, 4), torch.zeros(()), torch.zeros(2, 4), "target must have the shape"),
        (torch.zeros(2, 3, 4), torch.zeros(()), torch.full((2, 3, 4), 2), "target must hold whole numbers"),
    ],
)
def test_refusals_name_the_argument(unary, coupling, target, sentence):
    for module in (MaxMarginMRFLoss(), LogSupermodularLoss()):
        with pytest.raises(ValueError, match=sentence):
            module(unary, coupling, target)


def test_more_refusals():
    with pytest.raises(TypeError, match="coupling must be a number or a tensor of floats; got True"):
        most_probable(torch.zeros(1, 2, 2), True)
    with pytest.raises(TypeError, match="unary must be a tensor of floats; got a tensor of torch.int64"):
        marginals(torch.zeros(1, 2, 2, dtype=torch.int64), torch.zeros(()))
    with pytest.raises(ValueError, match="samples must be"):
        LogSupermodularLoss(1)
    for wrong in (0.5, np.random.default_rng(0), True):
        with pytest.raises(TypeError, match=r"random_state must be None, a whole number or a torch.Generator; got "):
            LogSupermodularLoss(random_state=wrong)
    with pytest.raises(ValueError, match="random_state must not be negative; got -1"):
        LogSupermodularLoss(random_state=-1)
    with pytest.raises(ValueError, match="tol must be"):
        MaxMarginMRFLoss(tol=-1.0)


def test_weights_beyond_the_border_are_not_read():
    unary, coupling, target = drawn((3, 4), 4)
    beyond = coupling.detach().clone()
    beyond[:, [0, 2], :, -1], beyond[:, 1:, -1], beyond[:, 3, :, 0] = -5.0, torch.nan, torch.inf
    for module in (MaxMarginMRFLoss(), LogSupermodularLoss(random_state=0)):
        assert torch.equal(module(unary, beyond, target), module(unary, coupling, target))


def test_noise_is_fresh_unless_it_is_frozen():
    unary, coupling, target = drawn((3, 4), 2)
    fresh, frozen = LogSupermodularLoss(4), LogSupermodularLoss(4, random_state=0)
    torch.manual_seed(0)
    first, second = fresh(unary, coupling, target), fresh(unary, coupling, target)
    torch.manual_seed(0)
    assert first != second
    assert torch.equal(fresh(unary, coupling, target), first)
    assert torch.equal(frozen(unary, coupling, target), frozen(unary, coupling, target))
    one, two = (
        LogSupermodularLoss(4, random_state=torch.Generator().manual_seed(1)).forward(unary, coupling, target)
        for _ in range(2)
    )
    assert torch.equal(one, two)


def test_a_gap_above_the_tolerance_is_told():
    unary, coupling, target = drawn((4, 4), 2, n=4, seed=3, size=0.5)
    with pytest.warns(UserWarning, match=r"MCC\(\) on grids .* to within 0\.1 here, .* above tol=0\. See \"Networks"):
        found = max_margin_mrf_loss(unary, coupling, target, "mcc", scale=1.0, tol=0.0, reduction="none")
    short = []
    for i in range(4):
        truth = target[i].numpy().ravel()
        scores = each_score(unary[i].detach().numpy(), coupling[i].detach().numpy())
        at = int(np.flatnonzero((subsets(16) == truth).all(axis=1))[0])
        short.append((costs_of(MCC(), truth) + scores).max() - scores[at] - found[i].item())
    assert min(short) > -1e-9
    assert max(short) < 0.1
    # Nothing is told of a gap that was allowed.
    max_margin_mrf_loss(unary, coupling, target, "mcc", scale=1.0, tol=0.1)


def test_a_second_derivative_is_refused():
    unary, coupling, target = drawn((3, 4), 2)
    for module in (MaxMarginMRFLoss(), LogSupermodularLoss(2)):
        (gradient,) = torch.autograd.grad(module(unary, coupling, target), coupling, create_graph=True)
        with pytest.raises(RuntimeError, match="has corners"):
            gradient.sum().backward()


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize(
    "module", [MaxMarginMRFLoss("f1"), LogSupermodularLoss(4, random_state=0), LogSupermodularLoss(4)]
)
def test_compiled_whole_it_is_the_same(module):
    unary, coupling, target = drawn((3, 4), 2)

    def value(u, c, y):
        return module(u, torch.nn.functional.softplus(c), y)

    torch.manual_seed(0)
    expected = torch.autograd.grad(value(unary, coupling, target), (unary, coupling))
    compiled = torch.compile(value, fullgraph=True, backend="aot_eager")
    torch.manual_seed(0)
    found = torch.autograd.grad(compiled(unary, coupling, target), (unary, coupling))
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


@pytest.mark.slow
def test_decisions_are_compiled_whole():
    unary, coupling, _ = drawn((3, 4), 2)
    for seed in (0, 5, 2**63 - 1):
        for decide in (most_probable, max_marginals, lambda u, c, seed=seed: marginals(u, c, 4, random_state=seed)):
            torch._dynamo.reset()
            compiled = torch.compile(decide, fullgraph=True, backend="aot_eager")
            assert torch.equal(compiled(unary, coupling), decide(unary, coupling))


# A graph that begins in the middle of a function looks at gradients of what is no leaf.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_functional_twins_end_a_graph_and_are_the_same():
    unary, coupling, target = drawn((3, 4), 2)
    # A number of samples that no other test has, so that the compiled call is the first one.
    for twin in (
        lambda u: log_supermodular_loss(u, coupling, target, 14),
        lambda u: max_margin_mrf_loss(u, coupling, target),
    ):
        torch._dynamo.reset()
        torch.manual_seed(0)
        found = torch.compile(lambda u, twin=twin: twin(2 * u), backend="aot_eager")(unary)
        torch.manual_seed(0)
        assert torch.equal(found, twin(2 * unary))


def test_threads_change_nothing():
    unary, coupling, target = drawn((8, 8), 2, n=4)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            value = LogSupermodularLoss(8, random_state=0)(unary, coupling, target)
            found.append((value, *torch.autograd.grad(value, (unary, coupling))))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.slow
def test_operators_keep_their_promises():
    unary, coupling, target = drawn((3, 4), 2)
    codes = target.reshape(3, -1).to(torch.int8)
    seed = torch.zeros((), dtype=torch.int64)
    ops = torch.ops.setwise
    for module in (MaxMarginMRFLoss(), LogSupermodularLoss(4)):
        torch.library.opcheck(ops.evaluate_grids.default, (unary, coupling, codes, seed, module._number))
    for op in (ops.cut_grids, ops.max_marginals_of_grids):
        torch.library.opcheck(op.default, (unary.detach(), coupling.detach()))
    torch.library.opcheck(ops.perturb_grids.default, (unary.detach(), coupling.detach(), seed, 4))


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", ["margin", "likelihood"])
def test_a_learned_coupling_helps_to_denoise(kind):
    """A scale, a bias and one coupling are learned from noisy disks."""
    generator = torch.Generator().manual_seed(0)
    row, column = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    middle, radius = 4 + 4 * torch.rand(24, 2, generator=generator), 2 + 2 * torch.rand(24, generator=generator)
    truth = (row - middle[:, 0, None, None]) ** 2 + (column - middle[:, 1, None, None]) ** 2 < radius[
        :, None, None
    ] ** 2
    images = truth + 0.8 * torch.randn(truth.shape, generator=generator)
    loss = MaxMarginMRFLoss() if kind == "margin" else LogSupermodularLoss(8, random_state=generator)
    weights = torch.tensor([1.0, -0.5, -3.0], requires_grad=True)

    def potentials(part):
        return weights[0] * images[part] + weights[1], torch.nn.functional.softplus(weights[2])

    learner = torch.optim.Adam([weights], lr=0.1)
    for _ in range(60):
        learner.zero_grad()
        loss(*potentials(slice(16)), truth[:16]).backward()
        learner.step()
    unary, coupling = potentials(slice(16, 24))
    together = (most_probable(unary, coupling) != truth[16:]).float().mean()
    alone = (most_probable(unary, torch.zeros(())) != truth[16:]).float().mean()
    assert coupling.item() > 0.3
    assert together < 0.5 * alone


def test_decomposition_ends_at_the_maximum_unless_it_says_otherwise():
    """Grids of 16 pixels are not enumerated by the library, so that this compares its dual decomposition."""
    unary, coupling, target = drawn((4, 4), 2, n=6, size=0.3)
    module, rows = MaxMarginMRFLoss("jaccard", scale=1.0, tol=0.0, reduction="none"), subsets(16)
    met = 0
    for i in range(6):
        part = slice(i, i + 1)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = module(unary[part], coupling[part], target[part]).item()
        truth = target[i].numpy().ravel()
        costs = costs_of(module.form.loss, truth)
        scores = each_score(unary[i].detach().numpy(), coupling[i].detach().numpy())
        expected = (costs + scores).max() - scores[int(np.flatnonzero((rows == truth).all(axis=1))[0])]
        assert found <= expected + 1e-9
        if not told:
            met += 1
            assert found == pytest.approx(expected, abs=1e-9)
    assert met >= 3
