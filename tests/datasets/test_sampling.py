"""Random parts of Parquet tables: uniform, whole sets, the same for a seed, and read as the whole table is."""

import numpy as np
import pandas as pd
import pytest

from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.datasets import load_sample, load_table
from setwise.datasets.columns import Category, Number
from setwise.datasets.files import rare_rows, uniform_rows, whole_sets
from setwise.datasets.tables import ParquetTable

pytest.importorskip("pyarrow")

N = 500
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": np.where(RNG.random(N) < 0.1, np.nan, np.arange(N)).astype(np.float32),
        "city": RNG.choice(["Rome", "Oslo", None], N),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D"),
        "note": [f"n{i}" for i in range(N)],
        "bag": RNG.permutation(np.arange(N) // 7),
        "sick": np.where(RNG.random(N) < 0.3, "yes", "no"),
    }
)
FRAME["name"] = [f"bag {i}" for i in FRAME["bag"]]
FRAME["kind"] = pd.Categorical(FRAME["name"])


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "t.parquet"
    FRAME.to_parquet(found, row_group_size=90, index=False)
    return found


def test_every_row_is_drawn_equally_often():
    counts = np.zeros(40)
    for seed in range(2000):
        rows = uniform_rows(40, 10, seed)
        assert len(rows) == 10
        assert (np.diff(rows) > 0).all()
        counts[rows] += 1
    # Of 2000 draws each row is in 500 on average, with a standard deviation of 19.4.
    assert np.abs(counts - 500).max() < 5 * 19.4
    np.testing.assert_array_equal(uniform_rows(5, 9, 0), np.arange(5))
    np.testing.assert_array_equal(uniform_rows(5, 5, 0), np.arange(5))


def test_the_rarer_label_keeps_its_rows_and_weights_make_up_for_it():
    labels = np.repeat(["no", "yes", "no"], [20, 5, 15])
    drawn = np.zeros(40)
    for seed in range(2000):
        rows, weights = rare_rows(labels, 12, seed)
        assert (np.diff(rows) > 0).all()
        assert rows[labels[rows] == "yes"].tolist() == [20, 21, 22, 23, 24]
        np.testing.assert_array_equal(weights, np.where(labels[rows] == "yes", 1.0, 5.0))
        drawn[rows] += 1
    # Each other row is in 400 of the draws on average, with a standard deviation of 17.9.
    assert np.abs(drawn[labels == "no"] - 400).max() < 5 * 17.9


@pytest.mark.parametrize(("rows", "rare"), [(2, 1), (3, 1), (8, 4), (9, 4), (10, 5), (39, 5)])
def test_the_rarer_label_has_half_of_a_small_part(rows, rare):
    labels = np.repeat([3, 7], [35, 5])
    found, weights = rare_rows(labels, rows, 0)
    assert len(np.unique(found)) == rows
    assert (found >= 35).sum() == rare
    # The shares of the labels are those of the table.
    assert weights[found >= 35].sum() / weights.sum() == pytest.approx(5 / 40)
    np.testing.assert_array_equal(weights[found >= 35], 1.0)


def test_without_two_labels_and_with_all_rows_the_draw_is_even():
    for labels, rows in (
        (np.zeros(9), 4),
        (np.arange(9) % 3, 4),
        (np.arange(9) % 3 == 0, 4),
        (np.arange(9) % 5 == 0, 9),
        (np.arange(9) % 5 == 0, 1),
    ):
        found, weights = rare_rows(labels, rows, 3)
        np.testing.assert_array_equal(found, uniform_rows(9, rows, 3))
        assert weights is None


def test_a_sample_with_the_rarer_label(tmp_path):
    table = FRAME[["a", "b", "city"]].assign(ill=np.where(FRAME["a"] > 0.8, "yes", "no"), bag=FRAME["bag"])
    table.to_parquet(tmp_path / "t.parquet", row_group_size=90, index=False)
    whole = load_table(tmp_path / "t.parquet", "ill", drop="bag")
    part = load_sample(tmp_path / "t.parquet", 120, "ill", drop="bag", keep_rare=True)
    rows, weights = rare_rows(pd.factorize(table["ill"])[0], 120, 0)
    np.testing.assert_array_equal(part.X, whole.X[rows])
    np.testing.assert_array_equal(part.weights, weights)
    assert part.y.sum() == 60
    with pytest.raises(ValueError, match="keep_rare must be False with a group"):
        load_sample(tmp_path / "t.parquet", 120, "ill", "bag", keep_rare=True)
    with pytest.raises(TypeError, match="keep_rare must be True or False; got 1"):
        load_sample(tmp_path / "t.parquet", 120, "ill", keep_rare=1)


def test_rows_of_a_long_table_are_drawn_from_all_of_it():
    n = 262_161
    rows = uniform_rows(n, 20_000, 3)
    assert len(rows) == len(np.unique(rows)) == 20_000
    parts = np.histogram(rows, 4, (0, n))[0]
    assert np.abs(parts - 5000).max() < 5 * np.sqrt(20_000 * 0.25 * 0.75)
    assert uniform_rows(n, 1, 3).shape == (1,)


def test_whole_sets_are_drawn_until_one_is_too_much():
    sizes, chosen = np.array([3, 1, 5, 2, 4]), np.zeros(5)
    for seed in range(500):
        found = whole_sets(sizes, 7, seed)
        assert sizes[found].sum() <= 7
        order = np.random.default_rng([seed, 1]).permutation(5)
        assert sizes[order[: len(found) + 1]].sum() > 7
        chosen[found] += 1
    assert (chosen > 100).all()
    assert len(whole_sets(sizes, 0, 0)) == 0
    np.testing.assert_array_equal(whole_sets(sizes, 15, 0), np.arange(5))


def test_a_sample_is_what_the_whole_table_has_in_its_rows(path):
    whole = load_table(path, "sick", drop="bag,name,kind")
    part = load_sample(path, 200, "sick", drop="bag,name,kind", seed=1)
    rows = uniform_rows(N, 200, 1)
    assert part.X.shape == (200, 4)
    np.testing.assert_array_equal(part.X, whole.X[rows])
    np.testing.assert_array_equal(part.y, whole.y[rows])
    assert (part.features, part.columns, part.classes) == (whole.features, whole.columns, whole.classes)
    assert "Column 'note' is left out" in part.notes[0]
    assert [type(column) for column in part.columns[1:3]] == [Number, Category]
    again = load_sample(path, 200, "sick", drop="bag,name,kind", seed=1)
    np.testing.assert_array_equal(part.X, again.X)
    other = load_sample(path, 200, "sick", drop="bag,name,kind", seed=2)
    assert (part.X[:, 0] != other.X[:, 0]).any()


def test_a_sample_does_not_depend_on_the_row_groups(path, tmp_path):
    FRAME.to_parquet(tmp_path / "one.parquet", index=False)
    first, second = (load_sample(p, 120, "sick", "name", drop="note") for p in (path, tmp_path / "one.parquet"))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.groups, second.groups)


@pytest.mark.parametrize("name", ["bag", "name", "kind"])
def test_groups_are_drawn_whole(path, name):
    part = load_sample(path, 120, "sick", name, drop=["note", *({"bag", "name", "kind"} - {name})])
    sizes = FRAME[name].astype(str).value_counts()
    found, counts = np.unique(np.asarray(part.groups).astype(str), return_counts=True)
    assert 100 < counts.sum() <= 120
    assert [sizes[one] for one in found] == counts.tolist()


def test_a_sample_of_all_rows_is_the_table(path):
    whole, part = load_table(path, "sick", "name", drop="note"), load_sample(path, N, "sick", "name", drop="note")
    np.testing.assert_array_equal(part.X, whole.X)
    np.testing.assert_array_equal(part.groups, whole.groups)


def test_what_cannot_be_drawn_is_refused(path, tmp_path):
    with pytest.raises(Refusal, match=r"3 rows are too few for a set of t\.parquet, which may have 7"):
        load_sample(path, 3, "sick", "bag")
    with pytest.raises(ValueError, match="rows must be"):
        load_sample(path, 0, "sick")
    with pytest.raises(ValueError, match="t.parquet has no column 'z'"):
        load_sample(path, 10, "z")
    with pytest.raises(ValueError, match="name the target column"):
        load_sample(path, 10)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_sample(tmp_path / "none.parquet", 10)
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(ValueError, match="odd.parquet is not a Parquet table"):
        load_sample(tmp_path / "odd.parquet", 10, "sick")
    FRAME.assign(name=[None, *FRAME["name"][1:]]).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match="column 'name' of gap.parquet holds .*, which is no id; leave such rows out"):
        load_sample(tmp_path / "gap.parquet", 100, "sick", "name")


def test_a_file_that_changes_is_noticed(path):
    table = ParquetTable(path)
    FRAME[:100].to_parquet(path)
    with pytest.raises(BrokenPromise, match="changed while it was read: t.parquet"):
        table.columns(table.arrow([0], ["a"]))
