"""Tables as people have them: words, dates, truth values, gaps, and columns that say nothing."""

import numpy as np
import pytest

from setwise.datasets import load, load_numbered, load_rows, load_table
from setwise.datasets.columns import Category, Date, Number, Truth


@pytest.fixture
def write(tmp_path):
    def make(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


RAW = """id,age,city,when,ok,const,empty,y
a1,30,Rome,2024-01-01,true,1,,yes
a2,,Paris,2024-01-05,false,1,NA,no
a3,22.5,Rome,,TRUE,1,?,yes
a4,19,NA,2023-05-01,,1,,no
"""


def test_each_column_has_a_kind_and_gaps_are_nan(write):
    data = load_table(write(RAW), "y")
    assert data.columns == (Number("age"), Category("city", ("Paris", "Rome")), Date("when"), Truth("ok"))
    assert data.features == ("age", "city", "when", "ok")
    days = (np.array(["2024-01-01", "2024-01-05", "2023-05-01"], "M8[D]")).astype(float)
    expected = [
        [30, 1, days[0], 1],
        [np.nan, 0, days[1], 0],
        [22.5, 1, np.nan, 1],
        [19, np.nan, days[2], np.nan],
    ]
    np.testing.assert_array_equal(data.X, expected)
    assert data.y.tolist() == [1, 0, 1, 0]


def test_what_says_nothing_is_left_out_with_a_sentence(write):
    assert load_table(write(RAW), "y").notes == (
        "Column 'id' is left out: it is text of which no value occurs twice, as an id is; "
        "its words count as kind text.",
        "Column 'const' is left out: it holds the same value in every row.",
        "Column 'empty' is left out: it holds nothing.",
    )
    with pytest.raises(ValueError, match=r"no column left for features\. Column 'a' is left out: it holds the same"):
        load_table(write("a,y\n1,0\n1,1\n"), "y")
    # a gap beside one value is a difference
    assert load_table(write("a,y\n1,0\n,1\n"), "y").columns == (Number("a"),)


def test_columns_are_dropped_by_name_before_they_are_read(write):
    path = write("x,z,y\n1,inf,0\n2,5,1\n")
    assert load_table(path, "y", drop="z").features == ("x",)
    assert load(path, "y", drop=["z"]).features == ("x",)
    with pytest.raises(
        ValueError, match="column 'z' of t.csv holds 'inf' in row 1 .line 2., and it must hold finite numbers"
    ):
        load_table(path, "y")
    for wrong, says in {"w": "has no column 'w'", "z,z": "drop must name"}.items():
        with pytest.raises(ValueError, match=says):
            load_table(path, "y", drop=wrong)
    with pytest.raises(ValueError, match="no column left"):
        load(path, "y", drop="x,z")


def test_gaps_in_the_target_and_in_ids_are_refused_with_the_row(write):
    with pytest.raises(ValueError, match="column 'y' of t.csv holds nothing in row 2"):
        load_table(write("x,y\n1,0\n2,\n3,1\n"), "y")
    with pytest.raises(ValueError, match=r"column 'g' of t.csv holds '\?' in row 1"):
        load_table(write("x,g,y\n1,?,0\n2,1,1\n"), "y", "g")


@pytest.mark.parametrize(
    ("cells", "form", "days"),
    [
        (("1970-01-01", "1970-01-03"), "", (0, 2)),
        (("1970-01-01T12:00", "1970-01-02 06:00:00"), "", (0.5, 1.25)),
        (("1970-01-01T00:00:00Z", "1970-01-01T06:00:00+06:00"), "", (0, 0)),
        (("1970-1-5", "1970-2-1"), "", (4, 31)),
        (("1970/01/02", "1970/01/03"), "", (1, 2)),
        (("31.01.1970", "01.02.1970"), "%d.%m.%Y", (30, 31)),
        (("01/31/1970", "02/01/1970"), "%m/%d/%Y", (30, 31)),
        (("31/01/1970 12:00", "01/02/1970 00:00"), "%d/%m/%Y %H:%M", (30.5, 31)),
        (("02-Jan-1970", "03-Jan-1970"), "%d-%b-%Y", (1, 2)),
        (("0001-01-01", "9999-12-31"), "", (-719162, 2932896)),
    ],
)
def test_dates_are_days_since_1970(write, cells, form, days):
    data = load_table(write("d,k,y\n{},1,0\n{},2,1\n".format(*cells)), "y")
    found = [column for column in data.columns if column.name == "d"]
    # two equal moments are one value, and are left out
    if days[0] != days[1]:
        assert found == [Date("d", form)]
        np.testing.assert_allclose(data.X[:, 0], days)
        assert not data.notes
    else:
        assert "same value" in data.notes[0]


HOURS = np.arange("2024-02-01T22:00:30", "2024-02-04", dtype="datetime64[h]").astype("datetime64[s]") + np.timedelta64(
    30, "s"
)
SECONDS = HOURS.astype(int)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (SECONDS, "Unix time"),
        (SECONDS * 10**3, "Unix time"),
        (SECONDS * 10**6, "Unix time"),
        (SECONDS * 10**9, "Unix time"),
        (SECONDS + 0.25, "Unix time"),
        ([f"{time:%Y%m%d%H%M%S}" for time in HOURS.tolist()], "%Y%m%d%H%M%S"),
        ([f"{time:%Y%m%d%H%M}" for time in HOURS.tolist()], "%Y%m%d%H%M"),
        ([f"{time:%Y%m%d}.0" for time in (HOURS + 86_400 * np.arange(len(HOURS))).tolist()], "%Y%m%d"),
    ],
)
def test_numbers_that_may_be_times_are_said_and_read_where_they_are_asked_for(write, cells, form):
    rows = "".join(f"{cell},{i % 7},{i % 2}\n" for i, cell in enumerate(cells))
    path = write(f"seen at,k,y\n{rows}0,1,1\n,1,0\n")
    (note,) = load_table(path, "y").notes
    first, adds = ("2024-02-01", "weekday") if form == "%Y%m%d" else ("2024-02-01 22:00", "weekday and hour")
    assert f" is {first}, write --kind 'seen at=date', which adds its {adds}." in note
    data = load_table(path, "y", kinds={"seen at": "date"}, missing="0")
    assert data.columns[0] == Date("seen at", form, missing=("0",))
    days = SECONDS / 86_400 if form != "%Y%m%d" else SECONDS // 86_400 + np.arange(len(HOURS))
    np.testing.assert_allclose(data.X[:-2, 0], days, rtol=0, atol=31 / 86_400 if form == "%Y%m%d%H%M" else 1e-5)
    assert np.isnan(data.X[-2:, 0]).all()
    np.testing.assert_array_equal(load_rows(path, data.columns).X, data.X)
    with pytest.raises(
        ValueError, match=f"column 'seen at' of t.csv holds '0' in row .*, and it must .* form, {form};"
    ):
        load_table(path, "y", kinds={"seen at": "date"})


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("phone", 1_510_000_000 + 77_777 * np.arange(300)),
        ("customer_id", SECONDS),
        ("customerId", SECONDS),
        ("account", 1_000_000_000 + 3_333_333 * np.arange(300)),
        ("x", 1_000_000_000 + 3_333_333 * np.arange(300)),
        ("call", 2_120_000_000 + 33_333 * np.arange(300)),
        ("one day", 1_700_000_000 + np.arange(300)),
        ("population", 10_000_000 + 3_333_333 * np.arange(300)),
        ("barcode", 1_700_000_000_000 + 77_777_777 * np.arange(300)),
        ("tweet", 10**18 + 10**15 * np.arange(800)),
        ("invoice", 20_240_001 + np.arange(300)),
        ("receipt", 202_401_000_000 + np.arange(300)),
    ],
)
def test_other_large_numbers_are_not_taken_for_times(write, name, cells):
    rows = "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    assert load_table(write(f"{name},y\n{rows}"), "y").notes == ()


def test_an_order_of_day_and_month_that_is_not_told_is_said(write):
    data = load_table(write("d,y\n01/02/2020,0\n03/04/2020,1\n"), "y")
    says = "no date in it tells the order. If days come first, write them as 2024-12-31."
    assert data.notes == (f"Column 'd' is read as month before day: {says}",)
    assert data.columns == (Date("d", "%m/%d/%Y"),)


def test_numbers_with_a_stray_word_are_said(write):
    rows = "".join(f"{i % 40},{i % 2}\n" for i in range(80))
    data = load_table(write(f"x,y\n{rows}soon,1\n"), "y")
    assert data.notes == ("Column 'x' is read as numbers, and 'soon' in it as a gap.",)
    assert data.columns == (Number("x", missing=("soon",)),)
    assert np.isnan(data.X[:, 0]).tolist() == [False] * 80 + [True]
    # new rows have the same gaps, and no others
    np.testing.assert_array_equal(load_rows(write("x\nsoon\n3\n", "new.csv"), data.columns).X[:, 0], [np.nan, 3])
    with pytest.raises(ValueError, match="'later' in row 1 .line 2., and it must hold finite numbers"):
        load_rows(write("x\nlater\n3\n", "new.csv"), data.columns)
    # two words are no gaps
    data = load_table(write(f"x,y\n{rows}soon,1\nlater,0\n"), "y")
    assert (
        "read as text: it holds 'later', 'soon' among its numbers. If these are gaps, write --missing later"
        in data.notes[0]
    )
    assert isinstance(data.columns[0], Category)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_decimal_commas_are_numbers_where_the_comma_parts_no_cells(write, name):
    part = "\t" if name == "t.tsv" else ";"
    text = "price;n;code;y\n12,50;1;a,1;0\n-3;2;b,2;1\n;3;a,1;1\n1,5e3;4;b,2;0\n".replace(";", part)
    data = load_table(write(text, name), "y")
    assert data.columns == (Number("price", decimal=","), Number("n"), Category("code", ("a,1", "b,2")))
    np.testing.assert_array_equal(data.X[:, 0], [12.5, -3, np.nan, 1500])
    assert data.notes == ()
    # the same for new rows, which may hold whole numbers, or numbers without text
    new = write("n;code;price\n1;a,1;0,25\n1;a,1;7\n1;a,1;NA\n", "new.csv")
    np.testing.assert_array_equal(load_rows(new, data.columns).X[:, 0], [0.25, 7, np.nan])
    for cell in ("1.5", "1.234,50", "inf", "1,2,3", "1_0", "soon"):
        with pytest.raises(ValueError, match="in row 2 .line 3., and it must hold finite numbers"):
            load_rows(write(f"n;code;price\n1;a;0,25\n1;a;{cell}\n", "new.csv"), data.columns)
    with pytest.raises(
        ValueError, match="column 'price' of points.csv holds '2,5' in row 1 .line 2., and it must hold finite"
    ):
        load_rows(write("price;n\n2,5;1\n", "points.csv"), (Number("price"), Number("n")))


def test_decimal_commas_of_a_table_of_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table({"price": [1.5, None]}), tmp_path / "t.parquet")
    np.testing.assert_array_equal(
        load_rows(tmp_path / "t.parquet", [Number("price", decimal=",")]).X, [[1.5], [np.nan]]
    )


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (("1,234", "2,500"), "decimal comma. If the comma of '1,234' parts thousands, take it out."),
        (("0,234", "2,500"), None),
        (("1.234,50", "12,50"), None),
        (("1.234.567", "2.500.000"), None),
        (("12,50", "2.5"), "read as text: it holds '12,50'. If that is a number"),
    ],
)
def test_what_a_comma_may_mean_is_said(write, cells, note):
    text = "".join(f"{cells[i % 2]};{i % 3 % 2}\n" for i in range(9))
    found = load_table(write(f"x;y\n{text}"), "y").notes
    assert note in found[0] if note else found == ()


def test_a_comma_in_a_quoted_cell_of_a_comma_file_is_a_decimal_one(write):
    data = load_table(write('x,y\n"12,50",0\n"3,5",1\n"12,50",1\n'), "y")
    assert data.columns == (Number("x", decimal=","),)
    assert data.notes == ()
    data = load_table(write("x;n;y\n" + "".join(f"{i},5;{i};{i % 2}\n" for i in range(80)) + "soon;0;0\n"), "y")
    assert data.notes == ("Column 'x' is read as numbers, and 'soon' in it as a gap.",)


@pytest.mark.parametrize("first", ["0,1", "1,2", ","])
def test_a_nameless_column_that_numbers_rows_is_left_out(write, first):
    a, b = first.split(",")
    path = write(f",x,y\n{a},5,0\n{b},6,1\n")
    assert load_table(path, "y").features == ("x",)
    data = load(path, "y")
    assert data.features == ("x",)
    # a column of nothing is what a comma too many makes
    assert data.notes == (() if first == "," else ("Column 1 has no name and numbers the rows: it is left out.",))


def test_nameless_columns_of_data_are_called_as_pandas_calls_them(write):
    data = load_table(write(",x,y\n7,5,0\n3,6,1\n"), "y")
    assert data.features == ("Unnamed: 0", "x")
    assert data.notes == ("Column 1 has no name and is called 'Unnamed: 0' here.",)
    assert load_table(write(",,y\n7,5,0\n3,6,1\n"), "y", drop="Unnamed: 1").features == ("Unnamed: 0",)


def test_words_with_quotes_separators_and_letters_of_any_script(write):
    data = load_table(write('c,y\n"Genève, CH",0\n"Genève, CH",1\n"say ""ja""",1\n日本,0\n'), "y")
    assert data.columns[0].words == ("Genève, CH", 'say "ja"', "日本")
    assert data.X[:, 0].tolist() == [0, 0, 1, 2]


def test_plain_numbers_are_read_as_by_load(write):
    path = write("a,b,y\n1,2.5,0\n3,4,1\n5,-6e3,1\n")
    np.testing.assert_array_equal(load_table(path, "y").X, load(path, "y").X)


def test_parquet_and_csv_agree(tmp_path, write):
    pa = pytest.importorskip("pyarrow")
    from datetime import datetime

    from pyarrow.parquet import write_table

    columns = {
        "age": [30, None, 22, 19],
        "city": ["Rome", "Paris", "Rome", None],
        "when": [datetime(2024, 1, 1), datetime(2024, 1, 5), None, datetime(2023, 5, 1)],
        "ok": [True, False, True, False],
        "odd": [[1], [2], [3], [4]],
        "y": ["yes", "no", "yes", "no"],
    }
    write_table(pa.table(columns), tmp_path / "t.parquet")
    one = load_table(tmp_path / "t.parquet", "y", drop="odd")
    text = "age,city,when,ok,y\n30,Rome,2024-01-01,true,yes\n,Paris,2024-01-05,false,no\n22,Rome,,true,yes\n"
    other = load_table(write(text + "19,,2023-05-01,false,no\n"), "y")
    np.testing.assert_array_equal(one.X, other.X)
    assert one.columns == other.columns
    with pytest.raises(ValueError, match="column 'odd' of t.parquet has the type list"):
        load_table(tmp_path / "t.parquet", "y")
    # what was trained on one is applied to the other
    np.testing.assert_array_equal(load_rows(tmp_path / "t.parquet", other.columns).X, other.X)


def test_new_rows_are_read_by_name_with_unseen_words_and_gaps(write):
    columns = load_table(write(RAW), "y").columns
    path = write("extra,ok,when,city,age\n?,false,,Oslo,1\nb,,2024-01-01,Rome,\n", "new.csv")
    found = load_rows(path, columns, keep="extra,city")
    np.testing.assert_array_equal(found.X, [[1, 2, np.nan, 0], [np.nan, 1, 19723, np.nan]])
    assert found.kept == {"extra": ["?", "b"], "city": ["Oslo", "Rome"]}
    assert found.groups is None
    assert load_rows(path, columns, group="city").groups.tolist() == ["Oslo", "Rome"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ok,when,city\ntrue,,Rome\n", "new.csv has no column 'age', which the model reads; it has 'ok', 'when', 'ci"),
        (
            "age,ok,when,city\n1,,,\nold,,,\n",
            "column 'age' of new.csv holds 'old' in row 2 .line 3., and it must hold finite",
        ),
        ("age,ok,when,city\n1_0,,,\n", "holds '1_0' in row 1 .line 2., and it must hold finite numbers"),
        (
            "age,ok,when,city\n1,maybe,,\n",
            "column 'ok' of new.csv holds 'maybe' in row 1 .line 2., and it must hold true and",
        ),
        (
            "age,ok,when,city\n1,,01.02.2020,\n",
            "column 'when' of new.csv holds '01.02.2020' in row 1 .line 2., and it must",
        ),
        ("age,ok,when,city\n1,,20200101,\n", "holds '20200101' in row 1 .line 2., and it must hold dates"),
    ],
)
def test_what_does_not_fit_the_training_is_one_sentence(write, text, says):
    columns = load_table(write(RAW), "y").columns
    with pytest.raises(ValueError, match=says):
        load_rows(write(text, "new.csv"), columns)


def test_new_rows_without_names(tmp_path, write):
    path = write("0 1:2 3:4\n0 2:1 9:9\n", "t.svm")
    np.testing.assert_array_equal(load_numbered(path, 4).X.toarray(), [[2, 0, 4, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(load_numbered(path, 2).X.toarray(), [[2, 0], [0, 1]])
    np.testing.assert_array_equal(load_numbered(path, 3, first=0).X.toarray(), [[0, 2, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"z.svm has a feature of index 0, and its indices must count from 1\."):
        load_numbered(write("0 0:2\n", "z.svm"), 4)
    np.savez(tmp_path / "t.npz", X=np.eye(3), groups=[1, 1, 2])
    found = load_numbered(tmp_path / "t.npz", 3)
    np.testing.assert_array_equal(found.X, np.eye(3))
    assert found.groups.tolist() == [1, 1, 2]
    with pytest.raises(ValueError, match="X of t.npz must have 4 features, as the model has; got 3"):
        load_numbered(tmp_path / "t.npz", 4)
    with pytest.raises(ValueError, match="path must end in .npz or .svm"):
        load_numbered(write("x,y\n", "t.csv"), 4)
    with pytest.raises(ValueError, match="path must end in one of .csv"):
        load_rows(tmp_path / "t.npz", (Number("a"),))
    with pytest.raises(ValueError, match="has no group 'qid'"):
        load_numbered(path, 4, "qid")


def test_whole_numbers_of_a_parquet_table_are_words_where_words_were(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table({"code": [250, 7, None]}), tmp_path / "t.parquet")
    found = load_rows(tmp_path / "t.parquet", (Category("code", ("250", "V27")),))
    np.testing.assert_array_equal(found.X, [[0], [2], [np.nan]])


def test_a_whole_number_with_a_point_is_the_same_word(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("code,y\n1,0\nA,1\n-20,0\n1,1\nA,0\n1.0,1\n01,0\n1.50,1\n1.5,0\n")
    data = load_table(old, "y")
    assert data.columns == (Category("code", ("-20", "01", "1", "1.5", "1.50", "A")),)
    new.write_text("code\n1.0\nA\n-20.00\n1.\n01\n1.5\n1.50\n1.05\n")
    found = load_rows(new, data.columns).X.ravel().tolist()
    assert [data.columns[0].words[int(i)] if i < 6 else None for i in found] == [
        "1", "A", "-20", "1", "01", "1.5", "1.50", None,
    ]  # fmt: skip
    # words that no file gave stay what they are
    assert Category("code", ("1.0", "A")).of_texts(np.array(["1.0"], dtype=object)) == 0.0
