"""docs/moving/torch.md: trainings with the losses of other packages and with ours, and the arguments that it names.

Values and gradients of all arguments are compared in tests/pytorch/test_peers.py.
"""

import inspect
import warnings

import pytest

torch = pytest.importorskip("torch")

from pytorch import peers  # noqa: E402
from setwise.torch import LovaszHingeLoss, LovaszSoftmaxLoss  # noqa: E402

SMP = peers.each("segmentation_models_pytorch", "losses.lovasz")
SMP_JACCARD = peers.each("segmentation_models_pytorch", "losses.jaccard")
SMP_DICE = peers.each("segmentation_models_pytorch", "losses.dice")
KORNIA_SOFTMAX = peers.each("kornia", "losses.lovasz_softmax")
KORNIA_HINGE = peers.each("kornia", "losses.lovasz_hinge")


def trained(criterion, classes, ignored):
    """The weights of a small network after some steps."""
    generator = torch.Generator().manual_seed(0)
    network = torch.nn.Conv2d(3, classes, 3, padding=1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) / 5)
    images = torch.randn(2, 3, 6, 7, generator=generator)
    target = torch.randint(0, max(classes, 2), (2, 6, 7), generator=generator)
    if ignored:
        target[:, 0] = 255
    step = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(5):
        step.zero_grad()
        logits = network(images)
        criterion(logits[:, 0] if classes == 1 else logits, target).backward()
        step.step()
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


def same(theirs, ours, classes, ignored=False):
    torch.testing.assert_close(trained(ours, classes, ignored), trained(theirs, classes, ignored), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_smp_trains_to_the_same_weights(peer):
    lovasz = peer[1].LovaszLoss
    same(lovasz("multiclass", ignore_index=255), LovaszSoftmaxLoss(ignore_index=255), 4, ignored=True)
    same(lovasz("binary", per_image=True), LovaszHingeLoss(per_image=True), 1)


@pytest.mark.parametrize("peer", KORNIA_SOFTMAX, ids=lambda peer: str(peer[0]))
def test_the_softmax_of_kornia_trains_to_the_same_weights(peer):
    if peer[0] < (0, 9):
        pytest.skip("it is wrong before 0.9.0")
    same(peer[1].LovaszSoftmaxLoss(), LovaszSoftmaxLoss(per_image=True, classes="all"), 4)


@pytest.mark.parametrize("peer", KORNIA_HINGE, ids=lambda peer: str(peer[0]))
def test_the_hinge_of_kornia_trains_to_the_same_weights(peer):
    def theirs(logits, target):
        return peer[1].LovaszHingeLoss()(logits[:, None], target)

    same(theirs, LovaszHingeLoss(per_image=True), 1)


def arguments(kind):
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}


@pytest.mark.parametrize("peer", SMP, ids=lambda peer: str(peer[0]))
def test_the_arguments_of_the_lovasz_loss_of_smp(peer):
    assert set(arguments(peer[1].LovaszLoss)) == {"mode", "per_image", "ignore_index", "from_logits"}


SOFT = {"mode", "classes", "log_loss", "from_logits", "smooth", "ignore_index", "eps", "class_weights"}


@pytest.mark.parametrize("peer", SMP_JACCARD, ids=lambda peer: str(peer[0]))
def test_the_arguments_of_the_jaccard_loss_of_smp(peer):
    assert set(arguments(peer[1].JaccardLoss)) == SOFT


@pytest.mark.parametrize("peer", SMP_DICE, ids=lambda peer: str(peer[0]))
def test_the_arguments_of_the_dice_loss_of_smp(peer):
    assert set(arguments(peer[1].DiceLoss)) == SOFT


@pytest.fixture(scope="module")
def dice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("monai.losses", reason="needs monai: pip install monai").DiceLoss


def test_the_arguments_of_monai(dice):
    found = arguments(dice)
    said = {"include_background", "to_onehot_y", "sigmoid", "softmax", "other_act", "squared_pred", "jaccard"}
    said |= {"reduction", "smooth_nr", "smooth_dr", "batch", "weight", "soft_label", "ignore_index"}
    assert set(found) == said
    assert found["include_background"] is True
    assert found["batch"] is found["softmax"] is found["sigmoid"] is False


@pytest.mark.filterwarnings("ignore")
def test_what_is_said_of_monai(dice):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 4, 5, generator=generator)
    target = torch.randint(0, 2, (2, 1, 4, 5), generator=generator)
    # Logits pass for probabilities: the loss may fall below 0, and ours refuses.
    one_hot = torch.nn.functional.one_hot(target[:, 0], 3).movedim(-1, 1).float()
    assert dice()(3 * one_hot - 0.5, one_hot) < 0
    with pytest.raises(ValueError, match="probabilities"):
        LovaszSoftmaxLoss(from_logits=False)(3 * one_hot - 0.5, target)
    # Sums above 65,504 are infinite in float16, and the loss of labels at random is near 1.
    large, labels = torch.zeros(1, 1, 512, 512), torch.randint(0, 2, (1, 1, 512, 512), generator=generator)
    wide, narrow = (dice(sigmoid=True)(large.to(dtype), labels) for dtype in (torch.float32, torch.float16))
    assert wide == pytest.approx(0.5, abs=0.01)
    assert not abs(narrow - wide) < 0.1
    assert LovaszHingeLoss()(large.half(), labels) == LovaszHingeLoss()(large, labels)
    # A class that is absent costs almost 1 though its probability is small.
    sure = (8 * one_hot).softmax(dim=1)
    each = dice(reduction="none")(sure, one_hot).flatten(1)
    assert each[:, :2].max() < 0.01
    assert sure[:, 2].max() < 0.001
    assert each[:, 2].min() > 0.99
    # A weight of 2 for all classes doubles its loss, and changes nothing in ours.
    twice = dice(softmax=True, to_onehot_y=True, weight=[2.0, 2.0, 2.0])(logits, target)
    assert twice == pytest.approx(2 * dice(softmax=True, to_onehot_y=True)(logits, target).item())
    ours = LovaszSoftmaxLoss(class_weight=[2.0, 2.0, 2.0])(logits, target)
    assert ours.item() == pytest.approx(LovaszSoftmaxLoss()(logits, target).item())


OURS = {
    "LovaszSoftmaxLoss": {"per_image": False, "classes": "present", "ignore_index": None, "from_logits": True},
    "LovaszHingeLoss": {"per_image": False, "classes": "present", "ignore_index": None},
}


@pytest.mark.parametrize("kind", [LovaszSoftmaxLoss, LovaszHingeLoss], ids=lambda kind: kind.__name__)
def test_our_defaults_are_those_of_the_table(kind):
    found = arguments(kind)
    assert OURS[kind.__name__].items() <= found.items()
    assert {"class_weight", "include_background", "empty", "reduction", "mode"} <= set(found)
