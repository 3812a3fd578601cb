import tracemalloc
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from setwise.datasets import load, load_table


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path, "t.csv", "age,city,sick\n30,1,yes\n41.5,2,no\n22,1,yes\n19,2,no\n")


def test_csv_gives_numbers_groups_and_the_names_of_both_labels(table):
    data = load(table, "sick", "city")
    np.testing.assert_array_equal(data.X, [[30], [41.5], [22], [19]])
    np.testing.assert_array_equal(data.y, [1, 0, 1, 0])
    np.testing.assert_array_equal(data.groups, ["1", "2", "1", "2"])
    assert data.classes == ("no", "yes")
    assert data.features == ("age",)


def test_positive_chooses_the_label(table):
    np.testing.assert_array_equal(load(table, "sick", positive="no").y, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ('"size, a, b, c, d, e, f";x;y', ("size, a, b, c, d, e, f", "x")),
        ('x;"a,b,c,d";y', ("x", "a,b,c,d")),
        ('"say ""1,2,3,4""";x;y', ('say "1,2,3,4"', "x")),
        ('"two, three,\nfour, lines";x;y', ("two, three,\nfour, lines", "x")),
        ('\n\n"a, b, c";x;y', ("a, b, c", "x")),
        ('5" wide;x;y', ('5" wide', "x")),
        ('"a;b;c",x,y', ("a;b;c", "x")),
    ],
)
def test_separators_inside_of_quoted_names_do_not_count(tmp_path, header, names):
    path, part = tmp_path / "t.csv", "," if header.endswith(",y") else ";"
    path.write_text(header + "\n1;2;0\n3;4;1\n".replace(";", part))
    assert load(path).features == names
    np.testing.assert_array_equal(load(path).X, [[1, 2], [3, 4]])


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_quotes_and_a_byte_order_mark(tmp_path, separator):
    rows = [["a", '"the label"'], ["1", "0"], ["2", "1"]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(separator.join(r) for r in rows), encoding="utf-8-sig")
    data = load(path, "the label")
    np.testing.assert_array_equal(data.X, [[1], [2]])
    assert data.features == ("a",)


def test_several_targets_make_a_label_matrix(tmp_path):
    path = write(tmp_path, "t.csv", "x,a,b,c\n1,0,1,1\n2,1,0,0\n3,1,1,0\n")
    data = load(path, "c,a")
    np.testing.assert_array_equal(data.y, [[1, 0], [0, 1], [0, 1]])
    assert data.classes == ("c", "a")
    assert data.features == ("x", "b")


def test_the_target_is_found_by_its_usual_name(tmp_path):
    path = write(tmp_path, "t.csv", "x,Label\n1,0\n2,1\n")
    np.testing.assert_array_equal(load(path).y, [0, 1])


@pytest.mark.parametrize(
    ("text", "target", "group", "says"),
    [
        ("x,y\n1,0\n2,1\n", "z", None, "has no column 'z'; it has 'x', 'y'"),
        ("x,y\n1,0\n2,1\n", "y", "z", "has no column 'z'"),
        ("x,y\n1,0\n2,1\n", "y", "y", "target and the group at once"),
        ("x,b,c\n1,0,1\n2,1,0\n", None, None, "name the target column with --target; the columns are 'x', 'b', 'c'"),
        ("x,y\nred,0\n2,1\n", "y", None, "column 'x' of t.csv holds 'red' in row 1"),
        ("x,y\n1,0\n,1\n", "y", None, "column 'x' of t.csv holds no number in row 2"),
        ("x,y\n1,0\nnan,1\n", "y", None, "holds no number in row 2"),
        ("x,y\n1,0\ninf,1\n", "y", None, "holds 'inf' in row 2 .line 3., and it must hold finite numbers"),
        ("x,y\n1,a\n2,\n3,b\n", "y", None, "column 'y' of t.csv holds nothing in row 2"),
        ("x,y\n1,a\n2,NaT\n3,a\n", "y", None, "holds 'NaT' in row 2 .line 3., which is no label and no id"),
        ("x,y\n1,1\n2,inf\n3,1\n", "y", None, "holds 'inf' in row 2 .line 3., which is no label and no id"),
        ("x,g,y\n1,NA,0\n2,u,1\n", "y", "g", "column 'g' of t.csv holds 'NA' in row 1"),
        ("x,g,y\n1,u,0\n2,,1\n", "y", "g", "column 'g' of t.csv holds nothing in row 2"),
        (",y\n0,0\n1,1\n", "y", None, "no column left for features. Column 1 has no name and numbers the rows: it is"),
        ('x,y\n1,"a\n2,b\n', "y", None, "is not a text table: a quoted cell does not end"),
        (
            "x,y\n1,0\n2,1\n3,2\n",
            "y",
            None,
            "must have each value in two rows or more; it has 3: '0', '1', '2'; '0' is in row 1 .line 2",
        ),
        ("x,y\n1,a\n2,b\n\n1,y\n2,a\n3,b\n", "y", None, "it has 3: 'a', 'b', 'y'; 'y' is in row 3 .line 5. alone"),
        ("x,y\n1,0\n2,0\n", "y", None, "must have 2 to 50 values; it has 1"),
        (
            '"x",y\n\n"1\n",0\n\n"2\n2",0\n\n\nred,1\n',
            "y",
            None,
            "column 'x' of t.csv holds '2..2' in row 2 .line 6., and it must",
        ),
        ("x,y\n\n1,a\n\n\n2,\n", "y", None, "column 'y' of t.csv holds nothing in row 2 .line 6."),
        ("x,y\n1,0\n2\n", "y", None, "row 2 .line 3. of t.csv has 1 fields and the header has 2"),
        ("x,x\n1,0\n2,1\n", "x,x", None, "must name distinct columns"),
        ("y\n0\n1\n", "y", None, "no column left for features"),
        ("x,a,b\n1,0,2\n2,1,0\n", "a,b", None, "label 'b' of t.csv must hold 0 and 1; row 1 holds 2"),
        ("x,a,b\n1,0,1\n2,1,0\n", "a,b", "x", "--group has no meaning"),
        ("x,a,b,g\n1,0,1,1\n2,1,0,1\n", "a,b", "g", "--group has no meaning"),
        ("x,a,b\n1,0,1\n2,1,0\n", "a,a", None, "must name distinct columns"),
        ("x,y\n", "y", None, "at least one row"),
        ("", "y", None, "at least one row"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_sentence(tmp_path, text, target, group, says):
    path = write(tmp_path, "t.csv", text)
    with pytest.raises(ValueError, match=says.replace("(", r"\(").replace("+", r"\+")):
        load(path, target, group)


def test_a_wrong_positive_label_and_a_wrong_path(table, tmp_path):
    with pytest.raises(ValueError, match="'maybe' cannot be the positive one"):
        load(table, "sick", "city", positive="maybe")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must end in one of"):
        load(write(tmp_path, "t.xlsx", "x"))


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\n1,0\n2,1\n".encode("utf-16-le"))
    with pytest.raises(
        ValueError, match=r"t.csv is no text, for it holds NUL; if it is UTF-16, write --encoding utf-16"
    ):
        load(path)
    path.write_bytes(b"x,y\n1,u\0\n2,u\n")
    with pytest.raises(ValueError, match=r"t.csv is no text, for it holds NUL"):
        load(path)


def test_one_long_cell_does_not_make_the_others_long(tmp_path):
    cells = "\n".join(f"{i},{'u' * 20_000 if i == 7 else i % 10},{i % 2}" for i in range(5_000))
    path = write(tmp_path, "t.csv", f"x,g,y\n{cells}\n")
    tracemalloc.start()
    groups = load(path, "y", "g").groups
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert groups[7] == "u" * 20_000
    assert peak < 60 * path.stat().st_size


def test_ids_are_never_merged(tmp_path):
    ids = ["9007199254740992", "9007199254740993", "01", "1", "1_000", "u", "U", "ü"]
    rows = "\n".join(f"{i},{i % 2},{g}" for i, g in enumerate(ids))
    data = load(write(tmp_path, "t.csv", f"x,y,g\n{rows}\n"), "y", "g")
    assert data.groups.tolist() == ids
    assert len(np.unique(data.groups)) == len(ids)


@pytest.mark.parametrize(
    "labels", [("1234567", "1234568"), ("9007199254740992", "9007199254740993"), ("U", "u"), ("9", "10")]
)
def test_labels_are_never_merged_and_keep_their_digits(tmp_path, labels):
    path = write(tmp_path, "t.csv", "x,y\n1,{}\n2,{}\n".format(*labels))
    assert load(path, "y").classes == labels
    assert load(path, "y", positive=labels[0]).y.tolist() == [1, 0]


def test_a_tsv_is_separated_by_tabs_whatever_its_header_holds(tmp_path):
    assert load(write(tmp_path, "t.tsv", "a,b,c\ty\n1\t0\n2\t1\n")).features == ("a,b,c",)


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    def write(**columns):
        write_table(pa.table(columns), tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    return write


def test_parquet(parquet):
    data = load(
        parquet(x=[1, 2, 3], z=[1.5, 2.0, 0.0], b=[True, False, True], y=["a", "b", "a"], g=[1, 1, 2]), "y", "g"
    )
    np.testing.assert_array_equal(data.X, [[1, 1.5, 1], [2, 2, 0], [3, 0, 1]])
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    np.testing.assert_array_equal(data.groups, [1, 1, 2])
    assert load(parquet(x=[1, 2], y=[2**53, 2**53 + 1])).classes == (str(2**53), str(2**53 + 1))
    assert load(parquet(x=[1, 2], y=[True, False])).classes == ("False", "True")


DAY = datetime(2024, 2, 29)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"x": [1, None, 3], "y": ["a", "b", "a"]}, "'x' of t.parquet holds no number in row 2"),
        ({"x": [True, None], "y": ["a", "b"]}, "'x' of t.parquet holds no number in row 2"),
        ({"x": ["1", None], "y": ["a", "b"]}, "'x' of t.parquet holds no number in row 2"),
        ({"x": [None, None], "y": ["a", "b"]}, "'x' of t.parquet holds no number in row 1"),
        ({"x": [[1], [2]], "y": ["a", "b"]}, "'x' of t.parquet has the type list"),
        ({"x": [1, 2, 3], "y": ["a", None, "b"]}, "'y' of t.parquet holds nothing in row 2"),
        ({"x": [1, 2, 3], "y": [1, None, 0]}, "'y' of t.parquet holds 'nan' in row 2"),
        ({"x": [1, 2, 3], "y": [True, None, False]}, "'y' of t.parquet holds 'nan' in row 2"),
        ({"x": [1, 2, 3], "y": [DAY, None, DAY]}, "'y' of t.parquet holds nothing in row 2"),
        ({"x": [1, 2], "y": [0, 1], "g": [None, 2**60]}, "'g' of t.parquet holds 'nan' in row 1"),
    ],
)
def test_what_is_wrong_with_a_parquet_table_is_said_in_a_sentence(parquet, columns, says):
    with pytest.raises(ValueError, match=says):
        load(parquet(**columns), "y", "g" if "g" in columns else None)


def test_two_columns_of_one_name_in_parquet_are_refused_with_what_to_do(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table([[1, 2], [3, 4], [0, 1]], names=["x", "x", "y"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"^t.parquet has two columns called 'x'; rename one\.$"):
        load(tmp_path / "t.parquet", "y")


def test_a_damaged_parquet_table(parquet):
    path = parquet(x=[1, 2], y=[0, 1])
    whole = path.read_bytes()
    for content in (b"", b"no parquet", whole[:40], whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a Parquet table"):
            load(path)


def test_a_long_cell_is_shortened_in_a_sentence(tmp_path):
    long = "x" * 20_000
    for text in (f"a,b,target\n1,2,0\n2,3,1\n3,4,{long}\n", f"a,b,target\n1,2,0\n{long},3,1\n"):
        (tmp_path / "long.csv").write_text(text)
        with pytest.raises(ValueError, match="long.csv") as refused:
            load(tmp_path / "long.csv", target="target")
        assert len(str(refused.value)) < 300


def test_inf_in_parquet_is_refused_with_its_file_and_row(tmp_path):
    pytest.importorskip("pyarrow")
    x = np.append(np.arange(50.0), np.inf)
    pd.DataFrame({"x": x, "y": np.arange(51) % 2}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        ValueError, match=r"column 'x' of t.parquet holds inf in row 51, and it must hold finite numbers"
    ):
        load_table(tmp_path / "t.parquet", target="y")
