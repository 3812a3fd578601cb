"""Losses on tensors of a device equal the same losses on the host; here the device is the CPU, or a GPU at hand."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from rounds import rounds
from setwise.core.loss import CountLoss
from setwise.losses import (
    MCC,
    BalancedError,
    CappedLoss,
    Cardinality,
    ClassWeightedLoss,
    CountFunctionLoss,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    MeanOverClasses,
    PrecisionAtK,
    SaturatingLoss,
    SetFunctionLoss,
    Trait,
    Tversky,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp, SlackRescaling

torch = pytest.importorskip("torch")

from pytorch.device_cases import assert_same, cases, on_host, surrogates  # noqa: E402
from setwise.torch import device_forms, operators  # noqa: E402
from setwise.torch.device_forms import DeviceCounts  # noqa: E402
from setwise.torch.lovasz import (  # noqa: E402
    Errors,
    LovaszForm,
    folded_sigmoid,
)
from setwise.torch.operators import registered  # noqa: E402
from setwise.torch.rescaling import SurrogateForm  # noqa: E402


def rooted(fn, fp, P, N):
    return np.sqrt(fn + fp) + 0.5 * np.minimum(fp, 3.0)


def share(fn, fp, P, N):
    return (fn + 2.0 * fp) / (P + N)


def waves(fn, fp):
    return np.abs(np.sin(3.1 * fn + fp**2))


@dataclass(frozen=True)
class Arch(CountLoss):
    """``k (p - k) / p`` of k mistakes: submodular, and not increasing."""

    name = "arch"

    @classmethod
    def examples(cls, p):
        return [cls()]

    @property
    def traits(self):
        return frozenset({Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})

    def of_counts(self, fn, fp, P, N):
        return (fn + fp) * (P + N - fn - fp) / np.maximum(P + N, 1.0)


SUBMODULAR = [
    Jaccard(),
    Jaccard("fraction"),
    Jaccard("ignore"),
    Tversky(1.0, 1.0),
    Tversky(0.3, 1.5, 0.2),
    Hamming(),
    BalancedError(),
    ErrorRate(),
    ZeroOne(),
    SaturatingLoss(0.4),
    Arch(),
    CountFunctionLoss(rooted, (Trait.INCREASING, Trait.SUBMODULAR)),
    CountFunctionLoss(share, (Trait.INCREASING, Trait.SUBMODULAR)),
    ClassWeightedLoss(Jaccard("fraction"), 0.5, 2.0),
    0.5 * Jaccard() + Hamming(),
    Jaccard() + 2.0 * SaturatingLoss() + Tversky(1.0, 1.0),
]
ANY = [
    *SUBMODULAR,
    FBeta(),
    FBeta(2.0, 0.0),
    FBeta(0.5, 0.25),
    MCC(),
    GMean(),
    HMean(),
    CountFunctionLoss(waves),
    FBeta() + 0.1 * Hamming(),
]


def as_read(scores, errors):
    """The scores as the errors read them."""
    if errors is Errors.MARGIN:
        return scores
    # Probabilities and errors are at least 0; tiny ones are left out, which the host rounds to 0 in float32.
    return (folded_sigmoid if errors is Errors.FOLDED else torch.sigmoid)(scores.clamp(-30, 30))


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", SUBMODULAR, ids=repr)
@pytest.mark.parametrize("errors", Errors)
def test_lovasz_extension(loss, errors):
    form = LovaszForm(loss, errors)
    for scores, codes in cases(3, rounds(10, 5)):
        assert_same(form, as_read(scores, errors), codes)


@pytest.mark.draw(24)
@pytest.mark.parametrize("loss", ANY, ids=repr)
def test_rescaled_losses(loss):
    for surrogate in surrogates(loss):
        for scores, codes in cases(4, rounds(4, 2)):
            assert_same(SurrogateForm(surrogate, None), scores, codes)


@pytest.mark.draw(2)
@pytest.mark.parametrize("errors", Errors)
def test_extensions_in_pieces(errors, monkeypatch):
    monkeypatch.setattr(device_forms, "CELLS", 7)
    for scores, codes in cases(11, rounds(20, 6)):
        for loss in (Jaccard("fraction"), SaturatingLoss(0.4)):
            assert_same(LovaszForm(loss, errors), as_read(scores, errors), codes)


def test_tables_in_pieces(monkeypatch):
    monkeypatch.setattr(device_forms, "CELLS", 7)
    for scores, codes in cases(5, rounds(20, 8)):
        assert_same(SurrogateForm(MarginRescaling(MCC()), None), scores, codes)


ON_LINES = [Jaccard(), Jaccard("fraction"), Tversky(2.0, 1.0), FBeta(), FBeta(0.5), MCC(), BalancedError()]


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", [*ON_LINES, Jaccard() + Hamming(), 2.0 * FBeta() + Hamming()], ids=repr)
def test_large_sets_by_lines_of_their_tables(loss, monkeypatch):
    monkeypatch.setattr(device_forms, "LARGEST_TABLE", -1)
    for surrogate in (MarginRescaling(loss), MarginRescaling(loss, scale="size"), Ramp(loss)):
        for scores, codes in cases(6, rounds(8, 4)):
            assert_same(SurrogateForm(surrogate, None), scores, codes)


@pytest.mark.parametrize("loss", ON_LINES, ids=repr)
def test_sets_of_more_than_a_thousand_decisions(loss):
    rng = np.random.default_rng(7)
    codes = torch.tensor((rng.random((2, 1500)) < 0.3).astype(np.int8))
    codes[:, ::7] = -1
    scores = torch.tensor(rng.standard_normal((2, 1500)))
    for surrogate, size in ((MarginRescaling(loss, scale="size"), 2.0), (Ramp(loss), 1e-3)):
        assert_same(SurrogateForm(surrogate, None), size * scores, codes)


@pytest.mark.parametrize("loss", [SaturatingLoss(), ZeroOne(), HMean(), CountFunctionLoss(waves), Jaccard() + FBeta()])
def test_larger_tables_of_other_losses_go_through_the_host(loss):
    scores, codes = torch.zeros(1, 1025), torch.ones(1, 1025, dtype=torch.int8)
    assert SurrogateForm(MarginRescaling(loss), None).on_device(scores, codes) is None
    assert SurrogateForm(MarginRescaling(loss), None).on_device(scores[:, 1:], codes[:, 1:]) is not None


def test_slack_rescaling_of_larger_tables_goes_through_the_host():
    scores, codes = torch.zeros(1, 1025), torch.ones(1, 1025, dtype=torch.int8)
    assert SurrogateForm(SlackRescaling(Jaccard()), None).on_device(scores, codes) is None


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), SaturatingLoss(0.4)], ids=repr)
def test_huge_scores_do_not_bury_the_loss(loss):
    """Decisions that are wrong or right by far do not change which labels are worst among the others."""
    rng = np.random.default_rng(8)
    for _ in range(rounds(20, 8)):
        scores, codes = torch.tensor(rng.standard_normal((3, 8))), torch.tensor(rng.integers(0, 2, (3, 8)).astype("i1"))
        for surrogate in (MarginRescaling(loss), Ramp(loss)):
            form = SurrogateForm(surrogate, None)
            scores[:, 0], scores[:, 3] = 1e2, -1e2
            expected = on_host(form, scores, codes)
            scores[:, 0], scores[:, 3] = 1e30, -1e30
            assert torch.equal(form.on_device(scores, codes).gradient, expected.gradient)


@pytest.mark.parametrize("loss", [Jaccard(), FBeta()], ids=repr)
def test_ties_do_not_change_values(loss):
    rng = np.random.default_rng(9)
    forms = [SurrogateForm(surrogate, None) for surrogate in surrogates(loss)]
    forms += [LovaszForm(loss, errors) for errors in Errors] if loss == Jaccard() else []
    for _ in range(rounds(20, 8)):
        scores = torch.tensor(rng.integers(0, 3, (3, 9)) / 2.0)
        for form in forms:
            assert_same(form, scores, torch.tensor(rng.integers(-1, 2, (3, 9)).astype("i1")), gradient=False)


def test_gains_of_quotients_keep_their_digits():
    """One false alarm among many adds 1e-12 to the loss, of which a difference would keep four digits."""
    p, P = 1_000_000, 3
    counts = DeviceCounts.of(Jaccard())
    misses = torch.arange(p + 1).clamp(max=1)[None]
    gains = counts.gains(misses, 0, torch.tensor([P * 1.0]), torch.tensor([p - P * 1.0]))[0]
    for fp in (1, 10, p - 4):
        exact = Fraction(fp + 1, P + fp) - Fraction(fp, P + fp - 1)
        assert gains[fp].item() == pytest.approx(float(exact), rel=1e-14)


def branches(fn, fp):
    return fn + fp if np.all(fn < 100) else 2.0 * fn


def looks_at_its_kind(fn, fp):
    return (fn + fp) * (1.0 if isinstance(fn, np.ndarray) else 1.0001)


def from_a_table(fn, fp):
    return np.sqrt(np.arange(2000.0))[np.asarray(fn + fp, dtype=int)]


def not_without_positives(fn, fp, P, N):
    return (fn + fp) / P


ON_HOST = [
    Cardinality(np.sqrt(np.arange(10.0))),
    CappedLoss(np.ones(9), 3.0),
    Hamming(np.arange(9.0)),
    SetFunctionLoss(lambda y, mistakes: float(mistakes.sum()), (Trait.SUBMODULAR, Trait.INCREASING)),
    PrecisionAtK(3),
    MeanOverClasses(Jaccard()),
    Jaccard() + Hamming(np.arange(9.0)),
    *(CountFunctionLoss(f) for f in (branches, looks_at_its_kind, from_a_table, not_without_positives)),
]


@pytest.mark.parametrize("loss", ON_HOST, ids=repr)
def test_losses_without_a_formula_that_tensors_run_go_through_the_host(loss):
    assert DeviceCounts.of(loss) is None


def test_a_broken_promise_goes_through_the_host_which_refuses_it():
    assert DeviceCounts.of(CountFunctionLoss(waves, (Trait.INCREASING,))) is None


def test_traits_that_are_read_off_tables_go_through_the_host():
    """Whether such a loss increases depends on the sizes of the sets, and with it the definition of the hinge."""
    form = LovaszForm(CountFunctionLoss(rooted, (Trait.SUBMODULAR,)), Errors.MARGIN)
    assert form.on_device(torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.int8)) is None


def test_a_method_of_inference_goes_through_the_host():
    from setwise.inference import GreedySearch

    form = SurrogateForm(MarginRescaling(Jaccard(), inference=GreedySearch()), None)
    assert form.on_device(torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.int8)) is None
    assert SurrogateForm(LovaszHinge(Jaccard()), None).on_device(torch.zeros(1, 3), torch.zeros(1, 3)) is None


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_scores_that_are_not_finite_give_values_and_gradients_that_are_not(bad):
    scores, codes = torch.tensor([[0.5, bad, 0.3], [0.5, 0.2, bad]]), torch.tensor([[0, 1, 0], [0, 1, -1]])
    forms = [LovaszForm(Jaccard(), Errors.MARGIN), SurrogateForm(MarginRescaling(FBeta()), None)]
    for form in forms:
        found = form.on_device(scores, codes.to(torch.int8))
        assert found.values.isfinite().tolist() == [False, True]
        assert found.gradient.isfinite().all(dim=1).tolist() == [False, True]


def test_tensors_of_the_cpu_are_evaluated_on_the_host(monkeypatch):
    monkeypatch.setattr(LovaszForm, "on_device", lambda self, scores, codes: pytest.fail("the device was asked"))
    form = LovaszForm(Jaccard(), Errors.MARGIN)
    operators.evaluate(torch.randn(1, 3), torch.ones(1, 3, dtype=torch.int8), registered(form)[1])
