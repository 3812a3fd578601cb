"""Every loss has a page with all its sections, a new loss has one without further work, and its facts are true."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import loss_facts
import loss_pages
from loss_facts import class_rows, monge
from loss_pages import SIZE, LossPage, make, page
from setwise.core.batch import Classes
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.inference import Auto
from setwise.losses import LOSSES, MCC, FBeta, Jaccard, MeanOverClasses, OneClass, Tversky
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

SECTIONS = ("Pictures", "Properties", "Surrogates and inference", "If a class is absent")


class OwnLoss(CountLoss):
    """``min(fn + fp, 2) / 2``: a loss that no package defines.

    Examples
    --------
    >>> OwnLoss()([1, 0], [0, 0])
    0.5
    """

    name = "own"

    @classmethod
    def examples(cls, p):
        return [cls()]

    @property
    def traits(self):
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS})

    def of_counts(self, fn, fp, P, N):
        return np.minimum(fn + fp, 2.0) / 2.0 + 0.0 * (P + N)

    def __repr__(self):
        return "OwnLoss()"


def shown(kind):
    """The loss as its page shows it."""
    return LossPage(kind, kind.examples(SIZE)[0])


def rows(text):
    """The rows of the tables of a text, as lists of cells."""
    found = []
    for line in text.splitlines():
        if line.startswith("   * - "):
            found.append([line[7:]])
        elif line.startswith("     - "):
            found[-1].append(line[7:])
    return found


def row(text, first):
    """The one row whose first cell holds a word."""
    (found,) = [cells for cells in rows(text) if first in cells[0]]
    return found[1:]


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", LOSSES.values(), ids=lambda kind: kind.__name__)
def test_every_loss_has_a_page_with_all_sections(kind):
    text = page(shown(kind), "A picture.\n\n")
    places = [text.index(f"{title}\n{'-' * len(title)}\n") for title in SECTIONS]
    assert places == sorted(places)
    for start, end in zip(places, [*places[1:], None], strict=True):
        assert len(text[start:end].splitlines()) > 3
    assert f".. autoclass:: setwise.losses.{kind.__name__}" in text[: places[0]]
    assert "The cost of the maximum" in text
    assert "Monge" in text
    doc = inspect.getdoc(kind)
    # The formula and the example stand in the docstring, which the page shows.
    assert doc.startswith(("``", "$")) or "``" in doc.split("\n\n")[0]
    assert "Examples\n--------\n>>> " in doc


@pytest.mark.slow
def test_every_loss_has_a_picture_that_is_described():
    for kind in LOSSES.values():
        figure = loss_pages.picture(shown(kind).loss)
        assert figure.axes
        assert figure.get_label().endswith(".")


@pytest.mark.slow
def test_a_new_loss_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(loss_pages, "LOSSES", {"own": OwnLoss})
    make(SimpleNamespace(srcdir=tmp_path))
    text = (tmp_path / "losses/own.rst").read_text("utf-8")
    assert all(f"\n{title}\n" in text for title in SECTIONS)
    assert ":doc:`OwnLoss <own>`" in (tmp_path / "losses/index.rst").read_text("utf-8")
    assert list((tmp_path / "losses/pictures").glob("own_cost*"))


def test_the_page_of_jaccard_says_what_the_objects_say():
    text = page(shown(Jaccard), "")
    assert row(text, "submodular") == ["yes", "yes"]
    assert Trait.SUBMODULAR in Jaccard().traits
    assert row(text, "Monge") == ["yes", "yes"]
    assert Jaccard().monge is True
    assert row(text, "LovaszHinge")[0].startswith("convex; tight")
    margin, slack = row(text, "margin rescaling")[0], row(text, "slack rescaling")[0]
    assert "(exact): " in margin
    assert "CountSearch" in margin
    assert "O(p) after the sort" in margin
    assert "bound and prune" in slack
    assert "O(P N)" in slack
    values = [Jaccard()(np.zeros(SIZE, int), guess) for guess in ([0] * 6, [1] + [0] * 5, [1] * 6)]
    assert [float(cell) for cell in row(text, "no positives")] == pytest.approx(values)


def test_the_page_of_f1_says_what_the_objects_say():
    text = page(shown(FBeta), "")
    assert row(text, "submodular") == ["no", "no"]
    assert Trait.SUBMODULAR in FBeta().denied
    assert row(text, "Monge") == ["yes", "yes"]
    assert row(text, "LovaszHinge") == ["refused: the loss is not submodular."]
    with pytest.raises(Refusal, match="not submodular"):
        LovaszHinge(FBeta())


@pytest.mark.parametrize("loss", [MeanOverClasses("jaccard"), OneClass("jaccard", 1)], ids=repr)
def test_pages_of_losses_of_classes_tell_which_surrogates_refuse(loss):
    batch, found = Classes.single(loss_facts.CLASSES, 3), dict(class_rows(loss))
    for kind in (LovaszHinge, SlackRescaling):
        assert found[kind.__name__].startswith("refused: ")
        with pytest.raises(Refusal):
            kind(loss).on(batch)
    MarginRescaling(loss).on(batch)
    assert found["MarginRescaling"].startswith("convex; ByClass")
    text = page(LossPage(type(loss), loss), "")
    assert type(Auto().choice(loss.bind(batch))).__name__ == "ByClass"
    assert "by :doc:`CountSearch" in text
    assert "class by class" not in text
    # A class that is absent, and predicted once in six decisions.
    one = loss.values(Classes.single([0, 2] * 3, 3), np.array([1, 2, 0, 2, 0, 2]))[0]
    assert row(text, "class 1")[1] == f"{one:.3g}"


def test_the_monge_property_is_read_from_the_promise_or_from_tables():
    assert monge(MCC(), 2, 4)[1].startswith("no: ")
    assert MCC().monge is None
    assert monge(Tversky(0.5, 0.5), 2, 4) == monge(FBeta(), 2, 4) == ("yes", "yes")
    assert monge(LOSSES["capped"].examples(6)[0], 2, 4)[0] == "not a loss of counts"


def test_tversky_promises_monge_from_one_half_on():
    for alpha in (0.1, 0.5, 1.0, 2.5):
        for beta in (0.5, 0.6, 0.9, 1.0, 2.0):
            loss = Tversky(alpha, beta)
            assert loss.monge
            assert all(loss_facts.is_monge(loss, p, n) for p in (1, 2, 9, 30) for n in (1, 2, 9, 30))
        assert Tversky(alpha, 0.4).monge is None
        assert not loss_facts.is_monge(Tversky(alpha, 0.4), 9, 9)
