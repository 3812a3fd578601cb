import re
from dataclasses import replace

import numpy as np
import pytest

from compare.made_up import made_up
from setwise.compare.words import verdict


@pytest.mark.parametrize(
    ("usual", "ours", "says"),
    [
        ([0.3, 0.31, 0.32], [0.1, 0.11, 0.12], "training for it wins: Lovász hinge beats"),
        ([0.1, 0.11, 0.12], [0.3, 0.31, 0.32], "setwise loses: logistic regression at 0.5 beats Lovász hinge"),
        ([0.1, 0.3, 0.2], [0.2, 0.1, 0.25], "no clear winner"),
    ],
)
def test_the_verdict_is_honest(usual, ours, says):
    assert says in verdict(made_up(usual, ours))[0]


def test_a_gap_that_was_not_closed_is_said():
    assert any("Not solved to the gap of 0.001" in w for w in verdict(made_up([0.1, 0.2], [0.1, 0.2], 0.3)))


def test_who_is_named_first_has_the_first_figure_and_the_difference_is_between_them():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        usual, ours = (0.3 + 0.1 * rng.random() + 0.02 * rng.random(3) for _ in range(2))
        sentence = verdict(made_up(usual, ours))[0]
        first, second, difference = (
            float(x) for x in re.search(r"(0\.\d+) against (0\.\d+) \(difference ([+-]0\.\d+)", sentence).groups()
        )
        assert difference == pytest.approx(first - second, abs=2e-3)
        named = re.search(r"(?:wins: |loses: |winner: )(Lovász|logistic)", sentence).group(1)
        assert first == pytest.approx((ours if named == "Lovász" else usual).mean(), abs=1e-3)
        if " beats " in sentence:
            assert difference < 0
            assert (named == "Lovász") == ("training for it wins" in sentence)
        seen.add(sentence[: sentence.index(":")])
    assert len(seen) == 3


def test_equal_up_to_rounding_is_no_victory():
    assert "no clear winner" in verdict(made_up([0.1 + 0.2, 0.1 + 0.2], [0.3, 0.3]))[0]


def test_without_a_method_of_each_kind_there_is_no_verdict():
    found = made_up([0.1, 0.2], [0.1, 0.2], notes=("a note",))
    for row, missing in zip(found.rows, ("set surrogate", "usual way"), strict=True):
        said = verdict(replace(found, rows=(row,)))
        assert said == [f"In jaccard there is nothing to compare: no {missing} is left.", "a note"]
