"""What is known of rows and bags, in all the ways in which it may be written, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from setwise.estimators.weak.bags import Bagging, Ranges, by_bag
from setwise.estimators.weak.knowledge import Knowledge, PartLabels

GROUPS = np.array(["b", "a", "b", "c", "a", "b"])
BAGS = Bagging.of(GROUPS, 6)
NAN = np.nan


def ranges(counts=None, proportions=None, at_least=None, between=None, bags=BAGS):
    """The least and largest numbers of positives of the bags a, b and c, of 2, 3 and 1 rows."""
    low, high = Ranges.of(bags, counts, proportions, at_least, between).of_class(1, 2)
    return low.tolist(), high.tolist()


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1, "b": 2, "c": 0},
        {"c": 0, "b": 2.0, "a": np.int8(1), "elsewhere": 9},
        [1, 2, 0],
        np.array([2, 1, 2, 0, 1, 2]),
        pd.Series([2, 1, 0], index=["b", "a", "c"]),
        pd.Series([2, 1, 2, 0, 1, 2]),
        pd.Series([2, 1, 2, 0, 1, 2], dtype="Int64"),
    ],
)
def test_values_of_bags_may_be_written_in_many_ways(values):
    assert ranges(counts=values) == ([1, 2, 0], [1, 2, 0])


def test_what_is_not_known_is_free():
    free = [0, 0, 0], [2, 3, 1]
    assert ranges() == free
    for nothing in ({"a": None, "b": NAN}, [None, NAN, None], pd.array([None] * 3, dtype="Int64"), {}):
        assert ranges(counts=nothing) == free
        assert ranges(proportions=nothing) == free
        assert ranges(at_least=nothing) == free
    assert ranges(counts={"b": 1}) == ([0, 1, 0], [2, 1, 1])
    assert ranges(between={"b": (None, 1), "c": None}) == ([0, 0, 0], [2, 1, 1])


def test_one_value_for_all():
    assert ranges(at_least=1) == ([1, 1, 1], [2, 3, 1])
    assert ranges(between=(0, 1)) == ([0, 0, 0], [1, 1, 1])
    assert ranges(proportions=0.0) == ([0, 0, 0], [0, 0, 0])
    assert ranges(proportions=1) == ([2, 3, 1], [2, 3, 1])


def test_a_share_that_is_no_whole_number_allows_its_neighbors():
    assert ranges(proportions=[0.5, 1 / 3, 0.5]) == ([1, 1, 0], [1, 1, 1])
    assert ranges(proportions=[0.3, 0.333, 0.0]) == ([0, 0, 0], [1, 1, 0])
    sizes = np.arange(1, 200)
    bags = Bagging.of(np.repeat(sizes, sizes), sizes.sum())
    for count in (np.zeros_like(sizes), sizes, sizes // 3, sizes // 2):
        low, high = ranges(proportions=count / sizes, bags=bags)
        assert low == count.tolist()
        assert high == count.tolist()


def test_several_kinds_of_knowledge_of_one_bag_are_joined():
    assert ranges({"a": 1}, {"b": 1 / 3}, {"c": 1}) == ([1, 1, 1], [1, 1, 1])
    assert ranges(at_least=[0, 1, 0], between={"b": (0, 2)}) == ([0, 1, 0], [2, 2, 1])
    with pytest.raises(ValueError, match="at_least must agree with what else is known of bag 'b': it says 2 to 3"):
        ranges(counts={"b": 1}, at_least={"b": 2})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"counts": [1, 4, 0]}, "counts must hold whole numbers from 0 to .*; bag 'b' of 3 rows has 4"),
        ({"counts": [1, -1, 0]}, "counts must hold whole numbers"),
        ({"counts": 0.5}, "bag 'a' of 2 rows has 0.5"),
        ({"at_least": {"c": 2}}, "bag 'c' of 1 rows has 2"),
        ({"between": {"b": (2, 1)}}, r"with low <= high; bag 'b' has 2 and 1"),
        ({"between": (0, 4)}, "between must hold whole numbers"),
        ({"between": [1, 2, 3]}, "between must be"),
        ({"between": 1}, "between must be"),
        ({"between": {"a": (1, 2, 3)}}, r"between must be pairs \(low, high\)"),
        ({"between": {"a": (1, 2), "b": (1, 2, 3)}}, "equally many numbers for each bag"),
        ({"proportions": [0.5, 1.5, 0.5]}, r"shares in \[0, 1\]; bag 'b' has 1.5"),
        ({"proportions": -0.1}, r"shares in \[0, 1\]"),
        ({"proportions": np.inf}, "proportions must be finite"),
        ({"proportions": 50 + 1j}, "proportions must hold numbers"),
        ({"counts": "2"}, "counts must hold numbers"),
        ({"counts": True}, "counts must hold numbers"),
        ({"counts": {"a": "x"}}, "counts must hold numbers"),
        ({"counts": [1, 2]}, "one value for each of 3 bags or 6 rows"),
        ({"counts": np.zeros((3, 1, 1))}, "counts must be one value for all bags"),
        ({"counts": [2, 1, 2, 0, 1, 1]}, "counts must be equal for all rows of a bag; bag 'b' has two values"),
        ({"counts": {"x": 1}}, "none of them is in groups"),
        ({"counts": np.ma.masked_array([1, 2, 0], [0, 1, 0])}, "no masked entries"),
    ],
)
def test_refusals_of_values(given, words):
    with pytest.raises(ValueError, match=words):
        ranges(**given)


def test_ids_that_may_be_misspelled_are_told():
    words = (
        "counts has no value for 1 of 3 bags, such as 'b', which count as unknown, and 1 of its "
        "3 ids have no bag, such as 'B'"
    )
    with pytest.warns(UserWarning, match=words):
        by_bag({"a": 1, "B": 2, "c": 0}, "counts", BAGS)
    # In cross-validation a mapping is about more bags, and None says that nothing is known.
    for values in ({"a": 1, "b": 2, "c": 0, "d": 1}, {"a": 1}, {"a": 1, "b": None, "c": 0, "d": 1}):
        assert by_bag(values, "counts", BAGS)[0] == 1


def test_bags_of_one_row_need_a_mapping():
    bags = Bagging.of([3, 1, 2], 3)
    np.testing.assert_array_equal(by_bag({1: 0, 2: 1, 3: 1}, "counts", bags), [0, 1, 1])
    np.testing.assert_array_equal(by_bag([1, 1, 1], "counts", bags), [1, 1, 1])
    with pytest.raises(ValueError, match="counts may be values by row or by sorted id here"):
        by_bag([1, 0, 1], "counts", bags)


def test_classes_have_columns():
    shares = {"a": [0.5, 0.5, 0], "b": [1 / 3, 0, 2 / 3], "c": None}
    found = Ranges.of(BAGS, None, shares, None, None)
    assert found.width == 3
    low, high = found.of_class(2, 3)
    assert low.tolist() == [0, 2, 0]
    assert high.tolist() == [0, 2, 1]
    two = Ranges.of(BAGS, [[1, 1], [3, 0], [1, 0]], None, None, None)
    assert two.of_class(1, 2)[0].tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="proportions of all classes must add up to 1 in bag 'a'; got 0.9"):
        Ranges.of(BAGS, None, [[0.5, 0.4, 0]] * 3, None, None)
    with pytest.raises(ValueError, match="counts of all classes must add up to 2 in bag 'a'"):
        Ranges.of(BAGS, [[1, 0, 0]] * 3, None, None, None)
    with pytest.raises(ValueError, match="at_least must say of which of 3 classes"):
        Ranges.of(BAGS, None, None, 1, None).of_class(0, 3)


def known(labels, low, high, groups=GROUPS):
    return Knowledge.of(Bagging.of(groups, len(labels)), np.array(labels, np.int8), np.array(low), np.array(high))


def test_rows_of_which_nothing_is_known_are_left_out():
    found = known([-1, -1, 1, -1, -1, 0], [0, 0, 1], [1, 3, 1])
    # All of bag a (1, 4), the known rows of b, and all of c.
    assert found.order.tolist() == [1, 4, 2, 5, 3]
    assert found.sets.offsets.tolist() == [0, 2, 4, 5]
    np.testing.assert_allclose(found.shares, [0.25, 0.25, 1, 0, 1])
    rows = np.flatnonzero(np.asarray(GROUPS) == "b")
    assert sorted(known([-1] * 6, [0, 1, 0], [2, 3, 1]).order) == rows.tolist()


def test_a_bag_that_allows_one_labeling_is_known():
    found = known([-1, -1, 1, -1, -1, -1], [2, 1, 0], [2, 1, 1])
    assert found.order.tolist() == [1, 4, 0, 2, 5]
    assert found.sets.labels.tolist() == [1, 1, 0, 1, 0]


def test_knowledge_that_cannot_be_met_is_refused():
    words = "what is known of bag 'b' must agree with y: its number of positives is 1, and y allows 2 to 3 in its 3"
    with pytest.raises(ValueError, match=words):
        known([1, -1, 1, -1, -1, -1], [0, 1, 0], [2, 1, 1])
    # Also where all labels of a bag are known.
    with pytest.raises(ValueError, match="its number of positives is 2, and y allows 3 in"):
        known([1, -1, 1, -1, -1, 1], [0, 2, 0], [2, 2, 1])
    with pytest.raises(ValueError, match="nothing is known of any bag: give counts"):
        known([-1] * 6, [0, 0, 0], [2, 3, 1])


def codes(y, classes=None, n=4, width=None):
    found, names = PartLabels.of(y, n, classes).coded(width)
    return found.tolist(), names.tolist()


def test_labels_with_unknown_ones():
    assert codes(None) == ([-1] * 4, [0, 1])
    assert codes([0, 1, -1, 1]) == ([0, 1, -1, 1], [0, 1])
    assert codes([0.0, 1.0, -1.0, 1.0]) == ([0, 1, -1, 1], [0, 1])
    assert codes([1, -1, -1, 1]) == ([1, -1, -1, 1], [0, 1])
    assert codes([True, False, True, True]) == ([1, 0, 1, 1], [False, True])
    assert codes(["no", None, "yes", "no"]) == ([0, -1, 1, 0], ["no", "yes"])
    assert codes(pd.Series(["no", None, "yes", "no"])) == ([0, -1, 1, 0], ["no", "yes"])
    assert codes(pd.array([0, None, 1, 1], dtype="Int64")) == ([0, -1, 1, 1], [0, 1])
    assert codes([None] * 4) == ([-1] * 4, [0, 1])
    assert codes([2, -1, 3, 3]) == ([0, -1, 1, 1], [2, 3])
    assert codes([2, -1, 0, 1]) == ([2, -1, 0, 1], [0, 1, 2])
    assert codes([2, -1, 0, 0], width=3) == ([2, -1, 0, 0], [0, 1, 2])
    assert codes(["spam", None, None, "spam"], ["ham", "spam"]) == ([1, -1, -1, 1], ["ham", "spam"])
    assert codes(["spam", None, "ham", "spam"], ["spam", "ham"]) == ([0, -1, 1, 0], ["spam", "ham"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["spam", None, None, "spam"],), "y must show every class, or classes=... name them"),
        (([2, -1, -1, 2],), "y must show every class"),
        (([0, 1, 2, 2], [0, 1]), r"y must hold the classes \[0, 1\], and -1 for unknown; got 2"),
        (([0, 1, 1],), r"y must have shape \(4,\), one label for each row; got shape \(3,\)"),
        ((np.zeros((4, 2)),), r"y must have shape \(4,\)"),
        (([0.5, 1.5, 2.5, 3.5],), "Unknown label type: continuous"),
        (([0, 1, np.inf, 1],), "got inf"),
        (([0, 1, -1, 1], [0, 0]), "classes must be two different labels or more"),
        (([0, 1, -1, 1], [0]), "classes must be two different labels or more"),
        (([0, 1, -1, 1], [-1, 1]), "and not -1, which marks unknown"),
        (([0, 1, -1, 1], None, 4, 3), None),
        (([0, 1, -1, 1], [0, 1], 4, 3), "a column for each of 2 classes; they have 3"),
        (([0, "a", 1, 1],), "one type"),
        (("text",), "y must have shape"),
    ],
)
def test_refusals_of_labels(arguments, words):
    if words is None:
        assert codes(*arguments)[1] == [0, 1, 2]
        return
    with pytest.raises(ValueError, match=words):
        codes(*arguments)
