import copy
import pickle

import numpy as np
import pytest

import setwise
from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.core.pages import EMPTY_MODELS, WHICH_SURROGATE
from setwise.losses import parse_losses
from setwise.risks.distributed_risk import Extent, SetCatalog
from setwise.surrogates import LovaszHinge, SlackRescaling

TEXT = "A refuses B. Use C."


class TeaRefusal(Refusal):
    """A refusal of a user, with words of its own."""

    def __init__(self, what):
        ValueError.__init__(self, f"TeaRefusal refuses {what}.")


def test_the_message_ends_with_the_name_of_the_page():
    refusal = Refusal(TEXT, EMPTY_MODELS)
    assert str(refusal) == TEXT + ' See "Empty models" in guide/learners.'
    assert (refusal.sentence, refusal.page) == (TEXT, EMPTY_MODELS)


def test_a_page_is_not_needed():
    refusal = Refusal(TEXT)
    assert (str(refusal), refusal.sentence, refusal.page) == (TEXT, TEXT, None)
    assert (TeaRefusal("tea").sentence, TeaRefusal("tea").page) == ("TeaRefusal refuses tea.", None)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("page", [None, EMPTY_MODELS])
def test_copies_are_equal(page, again):
    refusal = Refusal(TEXT, page)
    refusal.add_note("in fold 3")
    other = again(refusal)
    assert (str(other), other.sentence, other.page) == (str(refusal), TEXT, page)
    assert other.args == refusal.args
    assert other.__notes__ == ["in fold 3"]


def test_a_note_leaves_the_message_as_it_is():
    refusal = Refusal(TEXT, EMPTY_MODELS)
    refusal.add_note("in fold 3")
    assert refusal.sentence == TEXT


def test_a_real_refusal_tells_where_to_read():
    with pytest.raises(
        Refusal, match=r"submodular. Use surrogate='margin'. See \"[\w ]+\" in guide/surrogates\.$"
    ) as caught:
        LovaszHinge("f1")
    assert caught.value.page == WHICH_SURROGATE


def a_sum_of_text():
    parse_losses("jaccard+auc")


def a_set_in_places():
    parted = Extent(np.zeros(1), np.array([1 << 25]), np.array([5]))
    SetCatalog([parted, parted], SlackRescaling("jaccard"), None)


@pytest.mark.parametrize("act", [a_sum_of_text, a_set_in_places])
def test_a_page_is_named_once_where_a_refusal_is_quoted(act):
    with pytest.raises(ValueError, match=r" in guide/\w+\.$") as caught:
        act()
    assert str(caught.value).count(" in guide/") == 1


def test_modules_of_pytorch_name_the_page_once():
    torch = pytest.importorskip("setwise.torch")
    with pytest.raises(Refusal, match="Use MarginRescalingLoss") as caught:
        torch.LovaszHingeLoss("f1")
    assert str(caught.value).count(" in guide/") == 1
    assert caught.value.page == WHICH_SURROGATE


def test_verdicts_and_tables_have_reasons_without_pages():
    assert "the loss is not submodular" in setwise.describe("f1", [1, 0, 0])
    assert "in guide/" not in setwise.describe("f1", [1, 0, 0])
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = MeasureClassifier(cv=2, strategies=["threshold", "ramp"]).fit(X, X[:, 0] > 0.5)
    (reason,) = [candidate.refusal for candidate in model.candidates_ if candidate.refusal]
    assert reason.endswith("Use more folds.")
