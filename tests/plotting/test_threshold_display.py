import io
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from setwise.core.batch import Sets
from setwise.decisions import best_threshold, bootstrap_threshold
from setwise.losses import FBeta
from setwise.plotting import ThresholdDisplay

X, Y = make_classification(400, 6, weights=[0.8], flip_y=0.1, random_state=0)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_curve_and_the_best_threshold_are_those_of_the_loss():
    model = LogisticRegression().fit(X[:200], Y[:200])
    display = ThresholdDisplay.from_estimator(model, X[200:], Y[200:], n_resamples=20, title="a title")
    scores = model.predict_proba(X[200:])[:, 1]
    best = best_threshold(Y[200:], scores, "f1")
    x, losses = display.line_.get_data()
    for i in (0, 150, 300, 599):
        assert losses[i] == pytest.approx(FBeta()(Y[200:], scores >= x[i]))
    assert display.best_.get_xdata() == [best.threshold, best.threshold]
    assert display.bootstrap.interval == bootstrap_threshold(Y[200:], scores, "f1", 20, random_state=0).interval
    assert (display.low <= display.high).all()
    assert np.mean((display.low <= losses) & (losses <= display.high)) > 0.8
    assert display.ax_.get_ylabel() == "loss: f1"
    assert f"best threshold {best.threshold:.4g}, loss {best.loss:.4g}" in texts(display)
    assert isinstance(display.figure_, Figure)
    assert png(display.figure_)


def test_it_draws_on_axes_that_are_given():
    axes = Figure().add_subplot()
    display = ThresholdDisplay.from_predictions(Y, X[:, 0], loss=FBeta(2.0), n_resamples=5, ax=axes)
    assert display.ax_ is axes
    again = display.plot(Figure().add_subplot(), title="again")
    assert again is display
    assert display.ax_ is not axes


def test_words_and_the_first_class_may_be_positive():
    words = np.array(["yes", "no"])[Y]
    for model in (LogisticRegression(), RidgeClassifier()):
        model.fit(X, words)
        first = ThresholdDisplay.from_estimator(model, X, words, pos_label="no", n_resamples=3)
        last = ThresholdDisplay.from_estimator(model, X, words, n_resamples=3)
        by_hand = {"no": np.asarray(words == "no"), "yes": np.asarray(words == "yes")}
        scores = model.decision_function(X) if isinstance(model, RidgeClassifier) else model.predict_proba(X)[:, 1]
        assert last.bootstrap.best == best_threshold(by_hand["yes"], scores, "f1")
        reverse = -scores if isinstance(model, RidgeClassifier) else model.predict_proba(X)[:, 0]
        assert first.bootstrap.best == best_threshold(by_hand["no"], reverse, "f1")


def test_words_may_be_given_with_their_scores():
    words, scores = np.array(["yes", "no"])[Y], X[:, 0]
    for positive in ("yes", "no"):
        for y in (words, words.tolist(), words.astype(object)):
            display = ThresholdDisplay.from_predictions(y, scores, pos_label=positive, n_resamples=3)
            assert display.bootstrap.best == best_threshold(words == positive, scores, "f1")
    for y, positive, says in (
        (words, "maybe", "pos_label must be one of"),
        (np.arange(len(words)), 1, "y must hold the labels (p,) of two classes"),
        (words[:, None], "yes", "y must hold the labels"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            ThresholdDisplay.from_predictions(y, scores, pos_label=positive)
    with pytest.raises(TypeError, match="a batch of sets knows its positives"):
        ThresholdDisplay.from_predictions(Sets.rows(np.eye(4, dtype=int)), np.arange(16.0), pos_label=1)


@pytest.mark.parametrize(
    ("y", "words"), [([0, 0, 0], "predicting none is best"), ([1, 1, 1], "predicting all is best")]
)
def test_an_infinite_threshold_is_said_in_words(y, words):
    display = ThresholdDisplay.from_predictions(y, [0.0, 0.5, 1.0], n_resamples=3)
    assert any(text.startswith(words) for text in texts(display))
    assert png(display.figure_)


def test_sets_have_one_common_threshold():
    sets = Sets.rows(np.tile([0, 1, 1, 0], (5, 1)))
    display = ThresholdDisplay.from_predictions(sets, np.arange(20.0), loss="early_detection", n_resamples=5)
    assert png(display.figure_)


def test_all_scores_equal_are_drawn():
    display = ThresholdDisplay.from_predictions([0, 1, 1], [2.0, 2.0, 2.0], n_resamples=3)
    assert display.bootstrap.best.threshold == -np.inf
    assert png(display.figure_)


def test_more_classes_have_no_threshold():
    y = np.arange(400) % 3
    with pytest.raises(ValueError, match="estimator must have two classes_, for one threshold"):
        ThresholdDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
