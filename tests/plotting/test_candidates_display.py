import io

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from setwise import MeasureClassifier
from setwise.plotting import CandidatesDisplay


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    return X, (X[:, 0] + rng.logistic(size=300) > 2.0).astype(int)


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_the_candidates_of_a_model(rows):
    model = MeasureClassifier(LogisticRegression(), strategies=["as_it_is", "label_thresholds", "decision"]).fit(*rows)
    display = CandidatesDisplay.from_estimator(model)
    # What was refused is left out, and the best gain stands on top.
    assert len(labels_of(display)) == 3
    gains = [
        line.get_xdata()[0] for line in display.ax_.lines if len(line.get_xdata()) == 1 and line.get_marker() == "o"
    ]
    assert gains == sorted(gains)
    assert [name for name in labels_of(display) if "chosen" in name] == [f"{model.best_strategy_} (chosen)"]
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format="png")
    assert buffer.tell() > 10_000


def test_predictions_side_by_side(rows):
    _, y = rows
    rng = np.random.default_rng(1)
    guesses = {"first": y ^ (rng.random(300) < 0.3), "second": y ^ (rng.random(300) < 0.1), "same": None}
    guesses["same"] = guesses["first"]
    axes = Figure().add_subplot()
    display = CandidatesDisplay.from_predictions(y, guesses, "f1", ax=axes)
    assert display.ax_ is axes
    np.testing.assert_allclose(display.losses, [1 - f1_score(y, guess) for guess in guesses.values()])
    assert display.gains[0] == display.gains[2] == display.gain_errors[0] == display.gain_errors[2] == 0.0
    assert display.gains[1] > 3 * display.gain_errors[1] > 0.0
    assert display.chosen is None


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_label_matrices_and_groups(average):
    rng = np.random.default_rng(2)
    Y = (rng.random((60, 4)) < 0.4).astype(int)
    guess = Y ^ (rng.random((60, 4)) < 0.2)
    display = CandidatesDisplay.from_predictions(Y, {"a": guess, "truth": Y}, "f1", average=average)
    expected = 1 - f1_score(Y, guess, average=average, zero_division=1.0)
    np.testing.assert_allclose(display.losses, [expected, 0.0], atol=1e-12)
    grouped = CandidatesDisplay.from_predictions(Y[:, 0], {"a": guess[:, 0]}, "hamming", groups=np.arange(60) // 3)
    assert grouped.losses[0] == pytest.approx((Y[:, 0] != guess[:, 0]).sum() / 20)
