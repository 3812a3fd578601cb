"""What is said of the data: rows, labels and dates."""

from dataclasses import replace

import numpy as np
import pytest

from compare.answers import PROBLEM, made_up
from setwise.compare.plan import shared_words
from setwise.compare.problem import Origin, Problem
from setwise.compare.sentences import data_of, facts, headline, labels
from setwise.datasets.columns import Category, Date, Number

FILE = Origin("folder/t.csv", "ill", True, 4)


def problem(y, classes=("no", "yes"), origin=FILE, **more):
    return replace(PROBLEM, y=np.array(y), X=np.eye(len(y), 3), classes=classes, origin=origin, **more)


@pytest.mark.parametrize(
    ("y", "origin", "said"),
    [
        (
            [0, 0, 0, 1],
            FILE,
            "Positive is ill = yes: 1 of 4 rows (25.0 %). This is the default; change it with --positive no.",
        ),
        ([0, 1, 1, 1], replace(FILE, by_default=False), "Positive is ill = yes: 3 of 4 rows (75.0 %)."),
        ([0, 0, 0, 1], None, "Positive is yes: 1 of 4 rows (25.0 %)."),
        ([0] * 999 + [1], replace(FILE, by_default=False), "Positive is ill = yes: 1 of 1,000 rows (0.1 %)."),
    ],
)
def test_the_positive_label_is_named_with_its_share_and_how_to_turn_it(y, origin, said):
    assert labels(problem(y, origin=origin)) == said


def test_a_label_of_several_words_is_quoted_and_names_that_nobody_gave_are_left_out():
    assert labels(problem([0, 0, 1], ("not ill", "so ill"))).endswith(
        " This is the default; change it with --positive 'not ill'."
    )
    assert labels(problem([0, 0, 1], ("negative", "positive"), None)) == "Positive are 1 of 3 rows (33.3 %)."


def test_labels_of_a_matrix_have_their_shares():
    y = np.zeros((4, 8), dtype=int)
    y[:2, 0] = 1
    found = problem(y, tuple("abcdefgh"))
    assert labels(found) == (
        "Shares of the rows that have a label: a 50.0 %, b 0.0 %, c 0.0 %, d 0.0 %, e 0.0 %, f 0.0 % and 2 more."
    )
    assert data_of(found)["label_shares"]["a"] == 0.5


def test_rows_that_were_drawn_are_counted_once_with_all_reasons():
    found = made_up(problem=problem([0, 1, 0, 1]))
    assert facts(found) == [labels(found.problem)]
    drawn = replace(FILE, rows=4000, drawn="--quick")
    found = made_up(problem=problem([0, 1, 0, 1], origin=drawn))
    said = "Compared on 4 of 4,000 rows, drawn at random (--quick)."
    assert facts(found)[0] == said
    assert facts(replace(found, saved="m.skops"))[0] == f"{said} The saved model is fitted to these rows."


def test_dates_are_a_warning_unless_later_rows_are_a_test():
    columns = (Number("age"), Date("day admitted"), Number("size"))
    found = made_up(problem=problem([0, 0, 0, 1], columns=columns))
    assert headline(found)["DATA"] == [
        "Dates are features like others here, and folds are random: 'day admitted'. If new rows come later, let later "
        "rows judge (--time-column 'day admitted'), or leave dates out (--drop 'day admitted')."
    ]
    both = made_up(problem=problem([0, 0, 0, 1], columns=(*columns[:2], Date("born"))))
    assert "folds are random: 'day admitted' and 'born'. If" in headline(both)["DATA"][0]
    clock = made_up(problem=problem([0, 0, 0, 1], columns=(columns[0], Date("clock", "%H:%M"), columns[2])))
    assert "DATA" not in headline(clock)
    tested = replace(found, rows=tuple(replace(row, test=0.5) for row in found.rows))
    timed = replace(found, problem=replace(found.problem, times=np.arange(4.0)))
    assert not {"DATA"} & {*headline(tested), *headline(timed)}


def test_words_that_share_a_place_are_said():
    many = Problem(
        "t", "Rows.", np.zeros((2, 2)), [0, 1], columns=(Category("zip", tuple(map(str, range(600)))), Number("x"))
    )
    assert shared_words(many) == [
        "Column 'zip' has 600 words: trees tell at most 254 of them apart, logistic regression at most 500, and "
        "the rarest ones count as one."
    ]
    assert shared_words(replace(many, columns=(Category("zip", ("a", "b")), Number("x")))) == []
