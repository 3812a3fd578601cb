"""Columns and files as people have them: what a column says of the label is used, or a sentence says what to write."""

import csv
import gzip
import random
import re
import shlex
import sys
import zipfile
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from setwise.cli import options_parser
from setwise.datasets import load, load_rows, load_table
from setwise.datasets.columns import Category, Date, Number, Word, as_texts, column_of
from setwise.datasets.tables import PACKED, TEXTS, read_csv
from setwise.estimators import TableEncoder


def day(v, form):
    return (datetime(2019, 1, 1) + timedelta(days=int(900 * v))).strftime(form)


def clock(v, form):
    return datetime(2020, 1, 1, int(24 * v), int(1440 * v) % 60).strftime(form)


def parted(v, thousands, decimal=".", digits=2):
    return f"{1e6 * v:,.{digits}f}".replace(",", "_").replace(".", decimal).replace("_", thousands)


def gap(word, v):
    return word if v < 0.02 else f"{100 * v:.1f}"


CELLS = {
    "numbers": lambda v: f"{v:.4f}",
    "percent": lambda v: f"{100 * v:.2f}%",
    "percent behind a blank": lambda v: f"{100 * v:.2f} %",
    "dollars and thousands": lambda v: f"${1e4 * v:,.2f}",
    "an amount and its currency": lambda v: f"{500 * v:.2f} EUR",
    "a currency in front": lambda v: f"€ {100 * v:.0f}",
    "a unit": lambda v: f"{90 * v:.0f} kg",
    "thousands by commas": lambda v: parted(v, ",", digits=0),
    "thousands by points": lambda v: parted(v, ".", ","),
    "thousands by blanks": lambda v: parted(v, " "),
    "thousands by narrow blanks": lambda v: parted(v, "\u202f", ","),
    "thousands by apostrophes": lambda v: parted(v, "'"),
    "parentheses below 0": lambda v: f"({100 * (0.5 - v):.2f})" if v < 0.5 else f"{100 * (v - 0.5):.2f}",
    "a minus of typesetters": lambda v: f"\u2212{100 * v:.1f}",
    "decimal commas": lambda v: f"{9 * v:.3f}".replace(".", ","),
    "n/k among numbers": lambda v: gap("n/k", v),
    "a dash among numbers": lambda v: gap("-", v),
    "unknown among numbers": lambda v: gap("unknown", v),
    "any word among numbers": lambda v: gap("pending", v),
    "dates of months, days and two digits": lambda v: day(v, "%m/%d/%y"),
    "dates of days, months and two digits": lambda v: day(v, "%d.%m.%y"),
    "dates with names of months": lambda v: day(v, "%b %d, %Y"),
    "dates with names of months behind": lambda v: day(v, "%d %B %Y"),
    "moments in UTC": lambda v: day(v, "%Y-%m-%d 10:00 UTC"),
    "moments with zones": lambda v: day(v, "%Y-%m-%dT10:00:00+02:00"),
    "moments of mails": lambda v: day(v, "%a, %d %b %Y 10:00:00 GMT"),
    "moments of servers": lambda v: day(v, "%d/%b/%Y:10:00:00 +0000"),
    "months": lambda v: day(v, "%Y-%m"),
    "clocks": lambda v: clock(v, "%H:%M"),
    "clocks of twelve hours": lambda v: clock(v, "%I:%M %p"),
    "hours of moments": lambda v: day((7919 * v) % 1, "%Y-%m-%d ") + clock(v, "%H:%M:%S"),
    "weekdays of dates": lambda v: day((int(128 * (v * 97 % 1)) * 7 + int(7 * v)) / 900 + 1e-4, "%Y-%m-%d"),
    "truth values": lambda v: "TRUE" if v > 0.5 else "False",
    "words": lambda v: ["red", "green", "blue", "cyan"][int(4 * v)],
    "codes of numbers and letters": lambda v: f"V{int(9 * v)}" if v > 0.5 else f"{int(90 * v)}",
}

FILES = {
    "semicolons": {"sep": ";"},
    "tabs": {"sep": "\t"},
    "bars": {"sep": "|"},
    "a line sep=;": {"sep": ";", "above": "sep=;\n"},
    "a line sep=^": {"sep": "^", "above": "sep=^\n"},
    "a comma too many in the header": {"header": "x,y,"},
    "a comma too many in each line": {"header": "x,y,", "behind": ","},
    "a comma too many in each row": {"behind": ","},
    "comments above": {"above": "# made by hand, in May\n# n=300\n"},
    "commas too many in the header": {"header": "x,y,,,,"},
    "names in a comment": {"header": "# x,y"},
    "comments between": {"between": "# second part\n"},
    "blank lines": {"above": "\n\n", "between": "\n\n"},
    "UTF-16": {"encoding": "utf-16"},
    "a byte order mark": {"encoding": "utf-8-sig"},
    "cp1252": {"header": "größe,y", "encoding": "cp1252"},
    "no name": {"header": ",y"},
    "two columns of one name": {"header": "y,x,x,y2", "more": True},
    "names on two lines": {"header": '"x\nof rows",y'},
    "ends of lines of Windows": {"end": "\r\n"},
    "ends of lines of old": {"end": "\r"},
}


def write(
    path, cells, y, sep=",", header="x,y", above="", between="", behind="", encoding="utf-8", end="\n", more=False
):
    rows = [f'"{cell}"{sep}{label}{behind}' for cell, label in zip(cells, y, strict=True)]
    if more:
        rows = [f"{label},{row},0" for row, label in zip(rows, y, strict=True)]
    rows[20:20] = [between.strip("\n")] if between else []
    text = above + "\n".join([header.replace(",", sep) if sep != "," else header, *rows]) + "\n"
    path.write_bytes(text.replace("\n", end).encode(encoding))
    return path


def hits(tmp_path, cell, drop=None, **form):
    """The share of new rows that a tree of the training rows labels right, and what was said of the file."""
    v = np.random.default_rng(0).random(600)
    y = np.where(v > 0.5, 1, 0) if cell != CELLS["weekdays of dates"] else np.where((7 * v).astype(int) > 3, 1, 0)
    cells = [cell(one) for one in v]
    old = write(tmp_path / "old.csv", cells[:400], y[:400], **form)
    new = write(tmp_path / "new.csv", cells[400:], y[400:], **form)
    data = load_table(old, "y", drop=drop)
    encoder = TableEncoder(data.columns, "trees").fit(data.X)
    tree = DecisionTreeClassifier(random_state=0).fit(encoder.transform(data.X), data.y)
    found = tree.predict(encoder.transform(load_rows(new, data.columns).X))
    return np.mean(found == y[400:]), data


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_what_a_column_says_is_used(tmp_path, cell):
    assert hits(tmp_path, cell)[0] > 0.95


@pytest.mark.parametrize("form", FILES.values(), ids=FILES)
def test_a_file_is_read_however_it_is_written(tmp_path, form):
    share, data = hits(tmp_path, CELLS["numbers"], drop="y2" if form.get("more") else None, **form)
    assert share > 0.95
    assert len(data.columns) == 1 if not form.get("more") else data.features == ("x", "x.1")


SAID = {
    "cp1252": (
        {"header": "größe,y", "encoding": "cp1252"},
        "old.csv is not UTF-8 and is read in cp1252, a guess; --enc",
    ),
    "UTF-16": ({"encoding": "utf-16"}, "old.csv is not UTF-8 and is read in utf-16, a guess; --enc"),
    "comments": ({"above": "# by hand\n"}, "The lines before the header of old.csv that begin with # are left out."),
    "comments between": ({"between": "# 2\n"}, "1 lines of old.csv that begin with # are left out."),
    "no name": ({"header": ",y"}, "Column 1 has no name and is called 'Unnamed: 0' here."),
    "one name": (
        {"header": "y,x,x,y2", "more": True},
        "Column 'x' is there twice; the later one is called 'x.1' here.",
    ),
}


@pytest.mark.parametrize(("form", "says"), SAID.values(), ids=SAID)
def test_what_is_not_usual_is_said(tmp_path, form, says):
    _, data = hits(tmp_path, CELLS["numbers"], drop="y2" if form.get("more") else None, **form)
    assert any(note.startswith(says) for note in data.notes), data.notes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "x y\n1 0\n2 1\n",
            "t.csv has no column 'y'; it has 'x y'. If another character parts its cells, name it by --sep",
        ),
        ("x,y\n1,0\n2,1,7\n", "row 2 .line 3. of t.csv has 3 fields and the header has 2"),
        ("x,y\na,1,0\n2,1\n", "row 2 .line 3. of t.csv has 2 fields and the header has 3"),
        ("# a\n\nx,y\n1,0\n# b\n2\n", "row 2 .line 6. of t.csv has 1 fields and the header has 2"),
        ("x,y\n1,0\n# b, c, d\n2,1\n", "row 2 .line 3. of t.csv has 3 fields and the header has 2: it begins with #"),
        ("# a\n\nx,y\n1,0\n# b\n2,1\n# end, 2\n", "row 3 .line 7. of t.csv begins with '# end', as a comment does"),
        ('x,y\n1,0\n"2,1\n', "t.csv is not a text table: a quoted cell does not end"),
        ("x,y\n", "t.csv must have a line of column names and at least one row"),
        ("\n\n", "t.csv must have a line of column names and at least one row"),
        ("# a\n", "t.csv must have a line of column names and at least one row"),
        (
            "#x,y\na,no\nb,yes\n",
            "no column 'y'; it has 'a', 'no'. The lines before the header of t.csv that begin with #",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, text, says):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=says):
        load_table(tmp_path / "t.csv", "y")


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["$5", "€3"] * 20, "read as text: it holds '$5'. If that is a number, write it with a decimal"),
        (["5", "3%"] * 20, "read as text: it holds '3%'. If that is a number"),
        (["1,5", "2.5"] * 20, "read as text: it holds '1,5'. If that is a number"),
        ([*map(str, range(19)), "soon"] * 2, "read as numbers, and 'soon' in it as a gap"),
        (
            [*map(str, range(18)), "soon", "k.A."] * 2,
            "holds 'k.A.', 'soon' among its numbers. If these are gaps, write --missing 'k.A.' --missing soon.",
        ),
        (
            [*(f"{i}.5" for i in range(2000)), "<5"] * 2,
            "holds '<5' among its numbers. If that is a number, write it like the others; if a gap, --missing '<5'.",
        ),
        (
            [*(f"{i}.5" for i in range(200)), *(f"-{i}-" for i in range(14))] * 2,
            "among its numbers. If these are numbers, write them like the others; if gaps, "
            "--missing=-0- --missing=-1- --missing=-10- --missing=-11- --missing=-12- "
            "--missing=-13- --missing=-2- --missing=-3- --missing=-4- --missing=-5- --missing=-6- --missing=-7- and ",
        ),
        (
            [*(f"{i}:{j:02}" for i in range(24) for j in range(9)), "24:10", "75:30"] * 2,
            "among its times. If these are times, write them and the others as numbers; if gaps, --missing 24:10",
        ),
        ([f"0{i % 15}123" for i in range(80)], "is read as words, and 00123 in it begins with 0. If these are numbers, "
         "write --kind x=number."),
        ([f"{i:05}" for i in range(80)], "is read as numbers, and 00000 in it begins with 0. If these are words, write "
         "--kind x=category."),
        ([*(f"{i % 9:03}" for i in range(70)), *["unknown"] * 10], "is read as words, and 'unknown' in it as a gap."),
        ([f"v1.{i % 35}.10" for i in range(80)], "holds words like 'v1.0.10'. If these are dates or numbers, write"),
        (
            [f"a{i % 70};b;c{i % 7}" for i in range(80)],
            "is read as words like 'a0;b;c0', most of which are there once. If their parts matter, write --kind x=text,"
            " which counts their words, or give each part a column.",
        ),
        (
            [f'{{""amount"": {i}, ""k"": 1}}' for i in range(40)],
            "words of it are features. If their parts matter, write each in a column, not as '{\"amount\": 0, ",
        ),
        ([f"[{i % 70}, 2]" for i in range(80)], "is read as words like '[0, 2]', most of which are there once."),
        (
            [*(f"2020-01-{i:02}" for i in range(1, 20)), "0000-00-00"] * 2,
            "among its dates. If that is a date, write it like the others; if a gap, --missing 0000-00-00.",
        ),
        (["01/02/2020", "03/04/2020"] * 20, "read as month before day: no date in it tells the order"),
        (["1,234", "2,500"] * 20, "read as numbers with commas between thousands. If the comma of '1,234' is"),
        ([["1.125", "2", "3"][i % 3] for i in range(40)], "with a decimal point. If the point of '1.125' parts th"),
        (
            [f"Samedi, le {i % 30} août 2021 à 20:37" for i in range(40)],
            "words of it are features. If these are dates, write them as 2024-12-31 17:05, not as 'Samedi, le 0 août",
        ),
        (["21-06-20", "20-07-31"] * 20, "read as day before month: no date in it tells the order. If years come fi"),
        ([f"{i % 35}. März 2020" for i in range(40)], "holds words like '0. März 2020'. If these are dates or num"),
        ([f"{i % 35}h 5m" for i in range(40)], "is read as text: it holds words like '0h 5m'. If these are dates or"),
        ([f"~{i % 35}" for i in range(40)], "holds words like '~0'. If these are dates or numbers, write them"),
        ([f"ca. {i % 35}" for i in range(40)], "holds words like 'ca. 0'. If these are dates or numbers, write them"),
        ([f"{'ca. ' * (i % 35 % 2)}{i % 35}" for i in range(40)], "holds words like 'ca. 1'. If these are"),
        ([f"<b>{i % 35}</b>" for i in range(40)], "17:05; if not, --kind x=category."),
        ([f"PT{i % 35}H5M" for i in range(40)], "holds words like 'PT0H5M'. If these are dates or numbers, write"),
        ([f"P{i % 35}D" for i in range(40)], "holds words like 'P0D'. If these are dates or numbers, write them"),
        ([day(i % 35 / 9, "%b-%y") for i in range(40)], "words like 'Apr-19'. If these are dates or numbers"),
    ],
)  # fmt: skip
def test_what_may_be_meant_otherwise_is_said(tmp_path, cells, says):
    data = load_table(write(tmp_path / "t.csv", cells, [i % 2 for i in range(len(cells))]), "y")
    assert says in " ".join(data.notes), data.notes


POINTS = "is read as numbers with points between thousands. If the point of '1."


def points(i):
    return f"{i:,}".replace(",", ".")


NUMBERS = {
    "points between thousands": (points, 1, POINTS),
    "points between thousands below 0": (lambda i: f"-{points(i)}", -1, POINTS),
    "points between thousands of euros": (lambda i: f"{points(i)} €", 1, POINTS),
    "points between thousands behind EUR": (lambda i: f"EUR {points(i)}", 1, POINTS),
    "points between thousands of km": (lambda i: f"{points(i)} km", 1, POINTS),
    "points in each price": (lambda i: f"{points(i + 700)} €", 1, POINTS),
    "three decimals": (lambda i: f"{i / 1000 + 0.7:.3f}", 0.001, ""),
    "three decimals, some below 1": (lambda i: f"{i / 1000:.3f}", 0.001, ""),
    "three decimals or none, some below 1": (lambda i: f"{i / 1000:.3f}".removesuffix(".000"), 0.001, ""),
    "three decimals of prices, some below 1": (lambda i: f"{i / 1000:.3f} €", 0.001, ""),
    "no cents": (lambda i: f"{i},-", 1, ""),
    "no cents behind thousands": (lambda i: f"{points(i)},-", 1, ""),
    "no cents behind a point": (lambda i: f"{i}.-", 1, ""),
    "no cents behind commas": (lambda i: f"${i:,}.-", 1, ""),
    "no cents and a currency in front": (lambda i: f"€ {i},-", 1, ""),
    "no cents and a currency behind": (lambda i: f"{i},- Kč", 1, ""),
    "no cents by a long dash": (lambda i: f"{i},–", 1, ""),
    "no cents by two dashes": (lambda i: f"{i},--", 1, ""),
    "no cents by a colon": (lambda i: f"{i}:-", 1, ""),
    "no cents in some": (lambda i: f"{i},-" if i % 3 else f"{i},00", 1, ""),
    "a minus behind": (lambda i: f"{i}-", -1, ""),
    "parentheses": (lambda i: f"({i:,})", -1, "commas between thousands"),
    "brackets": (lambda i: f"[{i}.0]", 1, ""),
}


@pytest.mark.parametrize(("cell", "unit", "says"), NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_what_is_meant(tmp_path, cell, unit, says):
    numbers = np.arange(300, 3000, 7)
    data = load_table(write(tmp_path / "t.csv", map(cell, numbers.tolist()), numbers % 2), "y")
    more = 700 * unit if cell(300) in ("1.000 €", "1.000") else 0
    np.testing.assert_allclose(data.X[:, 0], numbers * unit + more, rtol=1e-12)
    assert says in " ".join(data.notes) if says else data.notes == (), data.notes
    np.testing.assert_array_equal(load_rows(tmp_path / "t.csv", data.columns).X, data.X)


@pytest.mark.parametrize(("kind", "most"), [("number", 999.0), ("cost", 2995.0)])
def test_a_point_is_a_decimal_one_where_numbers_are_asked_for(tmp_path, kind, most):
    rows = "".join(f"{points(i)},{i % 3},{i % 2}\n" for i in [*range(300, 3000, 7), 999])
    (tmp_path / "t.csv").write_text(f"x,z,y\n{rows}")
    data = load_table(tmp_path / "t.csv", "y", kinds={"x": kind})
    assert data.X[:, 0].max() == most
    assert any(POINTS in note for note in data.notes) == (kind == "cost")


def nth(day):
    return f"{day}{'th' if 10 < day % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


DATES = {
    form: (2019, 2023, lambda time, form=form: time.strftime(form))
    for form in (
        "%y-%m-%d", "%y/%m/%d", "%y.%m.%d", "%y-%m-%d %H:%M", "%y-%b-%d", "%d-%b-%y", "%d/%m/%y", "%m/%d/%y %H:%M",
        "%a %b %d %H:%M:%S UTC %Y", "%a %b %d %H:%M:%S %Y", "%d %b, %Y %H:%M", "%A %d %B %Y", "%d %B, %Y",
        "%a %b %d %H:%M:%S GMT+0000 %Y", "%a %b %d %Y %H:%M:%S GMT+0000 (UTC)", "%B %d, %Y at %I:%M %p", "%b. %d, %Y",
        "%a, %d %b %Y %H:%M:%S GMT", "%A, %B %d, %Y", "%d. %B %Y", "%a %d/%m/%Y %H:%M",
    )
} | {
    "20th of June 2021": (2019, 2023, lambda time: f"{nth(time.day)} of {time:%B %Y}"),
    "June 20th, 2021": (2019, 2023, lambda time: f"{time:%B} {nth(time.day)}, {time:%Y}"),
    "births": (1940, 2006, lambda time: f"{time:%d/%m/%y}"),
    "births, years first": (1940, 2006, lambda time: f"{time:%y-%m-%d}"),
    "ends of loans": (2015, 2056, lambda time: f"{time:%d.%m.%y}"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "last", "cell"), DATES.values(), ids=DATES)
def test_a_date_is_what_is_meant(tmp_path, first, last, cell):
    begin = datetime(first, 1, 1, 10, 30)
    times = [begin + timedelta(days=i * 365 * (last - first) // 800) for i in range(800)]
    data = load_table(write(tmp_path / "t.csv", map(cell, times), [i % 2 for i in range(800)]), "y")
    expected = np.array(times, "M8[D]").astype(int)
    np.testing.assert_array_equal(data.X[:, 0] // 1, expected)
    born = "is read as dates up to 20"
    assert (len(data.notes) == 1 and born in data.notes[0]) if first == 1940 else data.notes == (), data.notes
    np.testing.assert_array_equal(load_rows(tmp_path / "t.csv", data.columns).X, data.X)


def test_weekdays_without_a_date_stay_words(tmp_path):
    cells = [f"{['Mon', 'Tue', 'Wed'][i % 3]} {i % 24:02}:30" for i in range(72)]
    assert load_table(write(tmp_path / "t.csv", cells, [i % 2 for i in range(72)]), "y").columns[0].kind == "category"


def test_characters_of_text_without_blanks_are_words(tmp_path):
    cells = [f"会议{'好' if i % 2 else '坏'}安排{i}, ab" for i in range(40)]
    data = load_table(write(tmp_path / "t.csv", cells, [i % 2 for i in range(40)]), "y", kinds={"x": "text"})
    assert data.features == tuple(f"x: {word}" for word in ("ab", "会", "坏", "好", "安", "排", "议"))
    np.testing.assert_array_equal(data.X[:, 3], data.y)


@pytest.mark.parametrize(
    "gaps", [["--", "n.d."], ["-", "late"], ["--x", "--help", "it's"], ["12*", "13.5*"], ["-1-", "--"]], ids=" ".join
)
def test_the_options_that_are_told_make_gaps(tmp_path, gaps):
    path = write(tmp_path / "t.csv", [*map(str, range(100)), *gaps] * 2, [0, 1] * (100 + len(gaps)))
    told = re.search("--missing.*", " ".join(load_table(path, "y").notes))[0].removesuffix(".")
    options = options_parser().parse_args(["compare", *shlex.split(told)])
    data = load_table(path, "y", missing=options.missing)
    assert data.columns == (Number("x", missing=tuple(sorted(gaps))),)
    assert np.isnan(data.X).sum() == 2 * len(gaps)


CODES = (
    "{}12",
    "{}-12",
    "{}{n}",
    "{} {n}",
    "SKU-{n}",
    "A{n}",
    "E{n}.9",
    "fold{n}",
    "v1.{n}",
    "P{n}",
    "SW{n} 4AB",
    "k/{n}",
)


@pytest.mark.parametrize("code", CODES)
def test_codes_are_not_taken_for_numbers(tmp_path, code):
    cells = [code.format("ABCDEFGH"[i % 8] + "xyzuv"[i % 5], n=i % 35) for i in range(560)]
    assert load_table(write(tmp_path / "t.csv", cells, [0, 1, 1, 0] * 140), "y").notes == ()


@pytest.mark.parametrize(
    ("word", "option"),
    [("inf", "inf"), ("-inf", "=-inf"), ("Infinity", "Infinity"), ("1e999", "1e999"), ("-1e999", "=-1e999")],
)
def test_an_infinite_number_is_refused_with_the_option_that_makes_it_a_gap(tmp_path, word, option):
    path = write(tmp_path / "t.csv", [*map(str, range(40)), word], [0, 1] * 20 + [1])
    option = f"--missing{option}" if option[0] == "=" else f"--missing {option}"
    says = f"'{word}' in row 41 (line 42), and it must hold finite numbers; mend it, leave it out, or make it a gap by "
    with pytest.raises(ValueError, match=re.escape(f"column 'x' of t.csv holds {says}{option}.")):
        load_table(path, "y")
    data = load_table(path, "y", missing=word)
    assert np.isnan(data.X[:, 0]).tolist() == [False] * 40 + [True]
    # New rows are read as the model reads them, so that there is no such option.
    with pytest.raises(ValueError, match="finite numbers; mend it, or leave it out"):
        load_rows(path, [Number("x")])
    pd.DataFrame({"x": [*range(40), float(word)], "y": data.y}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="make it a gap by --missing(=-| )inf"):
        load_table(tmp_path / "t.parquet", "y")


def test_all_words_among_numbers_are_named_where_numbers_are_asked_for(tmp_path):
    path = write(tmp_path / "t.csv", [*map(str, range(38)), "late", "soon"], [0, 1] * 20)
    with pytest.raises(ValueError, match="holds 'late' in row 39 .* gap by --missing late --missing soon"):
        load_table(path, "y", kinds={"x": "number"})


@pytest.mark.parametrize("kind", [None, "number", "category", "date", "text", "cost"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_column_of_gaps_is_left_out_whatever_its_kind(tmp_path, kind, end):
    frame = pd.DataFrame({"a": np.full(40, np.nan), "b": range(40), "y": [0, 1] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    data = load_table(tmp_path / f"t.{end}", "y", kinds=None if kind is None else {"a": kind})
    assert (data.features, data.notes) == (("b",), ("Column 'a' is left out: it holds nothing.",))


def test_tags_are_no_comments(tmp_path):
    rows = "".join(f"{'#sale' if i % 9 else '# 9'},{i % 2}\n" for i in range(80))
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}")
    assert len(load_table(tmp_path / "t.csv", "y").y) == 80


def test_kinds_and_words_for_gaps_are_asked_for(tmp_path):
    rows = "".join(f"0{i % 5}123,2024010{i % 7 + 1},{-999 if i % 4 else i},n{i % 3},{i % 2}\n" for i in range(40))
    path = tmp_path / "t.csv"
    path.write_text("zip,day,age,who,y\n" + rows)
    assert [column.kind for column in load_table(path, "y").columns] == ["category", "number", "number", "category"]
    kinds = {"zip": "category", "day": "date", "who": "id"}
    data = load_table(path, "y", kinds=kinds, missing="-999")
    zips = tuple(f"0{i}123" for i in range(5))
    assert data.columns == (
        Category("zip", zips, missing=("-999",)), Date("day", "%Y%m%d", missing=("-999",)),
        Number("age", missing=("-999",)),
    )  # fmt: skip
    assert np.isnan(data.X[:, 2]).tolist() == [i % 4 > 0 for i in range(40)]
    assert data.X[0, 1] == 19723
    assert data.ids == ("who",)
    assert data.notes == ("Column 'who' is left out: it is an id.",)
    np.testing.assert_array_equal(load_rows(path, data.columns).X, data.X)
    # the same of numbers
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(path, dtype={"zip": str}).to_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(load_table(tmp_path / "t.parquet", "y", kinds=kinds, missing="-999").X, data.X)
    with pytest.raises(ValueError, match="column 'who' of t.csv holds 'n0' in row 1 .line 2., and it must hold finite"):
        load_table(path, "y", kinds={"who": "number"})
    with pytest.raises(ValueError, match="column 'who' of t.csv holds 'n0' in row 1 .line 2., and it must hold dates"):
        load_table(path, "y", kinds={"who": "date"})
    for given in ({"kinds": kinds}, {"missing": "-1"}, {"sep": ";"}, {"encoding": "utf-8"}):
        np.savez(tmp_path / "t.npz", X=np.eye(3), y=[0, 1, 1])
        with pytest.raises(ValueError, match=f"{next(iter(given))} is for tables with named columns"):
            load_table(tmp_path / "t.npz", "y", **given)


def test_words_of_a_text_are_features(tmp_path):
    rng = np.random.default_rng(0)
    common = ["delivery", "box", "came", "on", "the", "day", "and", "colour", "was", "size"]
    good = rng.random(300) < 0.5
    texts = [" ".join([*rng.permutation(common)[:6], "great" if yes else "broken"]) for yes in good]
    texts = ["" if i % 50 == 0 else f"{text}. Order {i}!" for i, text in enumerate(texts)]
    data = load_table(write(tmp_path / "t.csv", texts, good.astype(int)), "y")
    assert data.notes == ("Column 'x' is read as text: 13 words of it are features.",)
    assert data.features == tuple(f"x: {word}" for word in sorted([*common, "great", "broken", "order"]))
    assert data.columns[0] == Word("x: and", text="x", word="and")
    for form in ("linear", "trees"):
        encoder = TableEncoder(data.columns, form).fit(data.X)
        assert encoder.get_feature_names_out().tolist() == list(data.features)
        model = LogisticRegression(C=100.0).fit(encoder.transform(data.X), data.y)
        new = write(tmp_path / "new.csv", ["A GREAT thing", "broken, again", "nothing known", ""], [0] * 4)
        X = load_rows(new, data.columns).X
        scores = model.decision_function(encoder.transform(X))
        assert scores[0] > 1.0 > -1.0 > scores[1]
        np.testing.assert_array_equal(X[2:], 0.0)
        np.testing.assert_allclose((encoder.transform(data.X) ** 2).sum(axis=1), [i % 50 > 0 for i in range(300)])
    # as a category, and a text of few words where that is asked for
    assert load_table(tmp_path / "t.csv", "y", kinds={"x": "category"}).columns[0].kind == "category"
    few = write(
        tmp_path / "few.csv", [f"red {'car' if yes else 'bike'} {i}" for i, yes in enumerate(good)], good.astype(int)
    )
    assert load_table(few, "y", kinds={"x": "text"}).features == ("x: bike", "x: car", "x: red")


@pytest.mark.parametrize("seed", range(4))
def test_cells_are_those_that_the_module_csv_has_written(tmp_path, seed):
    draw, path = random.Random(seed), tmp_path / "t.csv"
    kinds = ["", "a", "b c", "x,y", "1;2", "p|q", 'say "hi"', "two\nlines", "1.5", "é", "  s ", "'", "\t", " "]
    for _ in range(50):
        names = [f"c{i}" for i in range(draw.randint(2, 5))]
        rows = [[draw.choice(kinds) for _ in names] for _ in range(draw.randint(1, 8))]
        style = {"delimiter": draw.choice(",;\t|"), "lineterminator": draw.choice(["\n", "\r\n"])}
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), **style)
            writer.writerows([names, *rows])
        table = read_csv(path)
        found = [as_texts(table.cells(name)).cells.tolist() for name in table.names]
        assert table.names == tuple(names)
        assert [list(row) for row in zip(*found, strict=True)] == [[cell.strip() for cell in row] for row in rows]


@pytest.mark.parametrize("end", [".txt", *(own + packed for own in TEXTS for packed in PACKED), ".CSV.GZ"])
def test_compressed_tables_are_read_as_they_are(tmp_path, end):
    if end.endswith(".zst"):
        pytest.importorskip("zstandard")
    frame = pd.DataFrame({"größe": range(50), "w": ["a b", "c"] * 25, "y": [0, 1] * 25})
    form = {"sep": "\t" if ".tsv" in end else ";", "index": False, "encoding": "cp1252"}
    frame.to_csv(tmp_path / f"t{end.lower()}", **form)
    path = (tmp_path / f"t{end.lower()}").rename(tmp_path / f"t{end}")
    data = load_table(path)
    assert data.features == ("größe", "w")
    np.testing.assert_array_equal(data.X, np.column_stack([np.arange(50), [0, 1] * 25]))
    np.testing.assert_array_equal(load_rows(path, data.columns, sep=form["sep"], encoding="cp1252").X, data.X)
    # A refusal names the line, as in a file that is not compressed.
    with pytest.raises(ValueError, match=r"row 1 \(line 2\)"):
        load_rows(path, [Number("größe"), Date("w")])


@pytest.mark.parametrize("end", [".gz", ".bz2", ".xz", ".zip"])
def test_what_cannot_be_unpacked_is_refused_in_a_sentence(tmp_path, end):
    path = tmp_path / f"t.csv{end}"
    pd.DataFrame({"x": np.random.default_rng(0).random(9000), "y": [0, 1, 1] * 3000}).to_csv(path)
    whole = path.read_bytes()
    for damaged in (b"x,y\n1,0\n2,1\n", whole[: len(whole) // 2], whole[:100] + bytes(900) + whole[1000:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"t.csv{end} cannot be unpacked: \w+"):
            load_table(path, "y")


def test_a_compressed_table_is_known_by_its_first_bytes_and_a_zip_by_its_name(tmp_path):
    text = "x,y\n1,0\n2,1\n"
    (tmp_path / "t.csv").write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as packed:
        packed.writestr("data.csv", text)
    for name in ("t.csv", "t.zip"):
        assert load_table(tmp_path / name).X.tolist() == [[1.0], [2.0]]
    (tmp_path / "t.csv").write_bytes((tmp_path / "t.csv").read_bytes()[:-9])
    with pytest.raises(ValueError, match="t.csv cannot be unpacked"):
        load_table(tmp_path / "t.csv")
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as packed:
        packed.writestr("more.csv", text)
    with pytest.raises(ValueError, match="t.zip holds several files; unpack it, and name the one to read"):
        load_table(tmp_path / "t.zip")


def test_commas_behind_the_names_may_be_in_some_rows(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,,,\n1,0\n2,1,,,\n3,1,\n")
    assert load_table(tmp_path / "t.csv").X.tolist() == [[1.0], [2.0], [3.0]]
    (tmp_path / "t.csv").write_text("x,y,,,\n1,0\n2,1,,,,\n")
    with pytest.raises(ValueError, match="row 2 .line 3. of t.csv has 6 fields and the header has 5"):
        load_table(tmp_path / "t.csv")


def test_names_in_a_comment_above_words_are_read(tmp_path):
    (tmp_path / "t.csv").write_text("#x,y\nred,0\nblue,1\nred,1\n")
    assert load_table(tmp_path / "t.csv").columns == (Category("x", ("blue", "red")),)


def test_types_of_parquet_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    begin = datetime(2024, 1, 1)
    moments = [begin + timedelta(hours=7 * i) for i in range(40)]
    columns = {
        "moment": pa.array(moments),
        "zone": pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")),
        "day": pa.array([one.date() for one in moments]),
        "clock": pa.array([one.time() for one in moments]),
        "decimal": pa.array([f"{i}.25" for i in range(40)]).cast(pa.decimal128(10, 2)),
        "words": pa.array(["a", "b", None, "c"] * 10).dictionary_encode(),
        "paid": pa.array(["$1,200.50", "$7.00"] * 20),
        "count": pa.array([None, *range(39)]),
        "truth": pa.array([True, None, False, True] * 10),
        "y": pa.array([0, 1] * 20),
    }
    write_table(pa.table(columns), tmp_path / "t.parquet")
    data = load_table(tmp_path / "t.parquet", "y")
    kinds = ["date"] * 4 + ["number", "category", "number", "number", "number"]
    assert [column.kind for column in data.columns] == kinds
    hours = np.arange(40) * 7 / 24
    np.testing.assert_allclose(data.X[:, :4].T, [19723 + hours, 19723 + hours, 19723 + hours // 1, hours % 1])
    np.testing.assert_array_equal(data.X[:2, 4:], [[0.25, 0, 1200.5, np.nan, 1], [1.25, 1, 7, 0, np.nan]])
    np.testing.assert_array_equal(load_rows(tmp_path / "t.parquet", data.columns).X, data.X)


def test_separators_and_encodings_are_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe y\n1 0\n2 1\n".encode("cp850"))
    data = load_table(path, "y", sep=" ", encoding="cp850")
    assert data.features == ("größe",)
    assert load_rows(path, data.columns, sep=" ", encoding="cp850").X.tolist() == [[1.0], [2.0]]
    path.write_text("x,a,b\ty\n1\t0\n2\t1\n")
    assert load_table(path, "y", sep="\\t").features == ("x,a,b",)
    path.write_text("größe,y\n1,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="t.csv is not text in ascii; name another encoding"):
        load_table(path, "y", encoding="ascii")


def test_without_pandas_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    write(tmp_path / "t.csv", ["1", "2"], [0, 1])
    for read in (load, load_table):
        with pytest.raises(ValueError, match=r"^to read t.csv install pandas: pip install 'setwise\[compare\]'.$"):
            read(tmp_path / "t.csv", "y")
    (tmp_path / "t.svm").write_text("0 1:2\n1 1:3\n")
    assert load(tmp_path / "t.svm").X.shape == (2, 1)


def test_a_header_without_a_name_for_the_rows_as_r_writes_it_is_read_as_by_pandas(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60).round(3), "b": rng.choice(["u", "v"], 60), "y": np.arange(60) % 2})
    for index in (np.arange(60) + 1, [f"row {i}" for i in range(60)]):
        frame.set_axis(index).to_csv(tmp_path / "r.csv", index_label=False)
        data = load_table(tmp_path / "r.csv", "y")
        assert data.features == ("a", "b")
        np.testing.assert_array_equal(data.X[:, 0], frame["a"])
        np.testing.assert_array_equal(data.y, frame["y"])
        new = load_rows(tmp_path / "r.csv", data.columns)
        np.testing.assert_array_equal(new.X, data.X)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        ([*(f"{20 + k / 1000:.3f}" for k in range(1, 90)), "-999"], 20.001),
        ([*(f"{k / 7:.3f}" for k in range(60, 690)), "100"], 8.571),
        ([f"1.{k}" for k in range(400, 600)], 1.4),
        ([f"1.{k} €" for k in range(400, 600)], 1.4),
        ([*(f"1.{k}" for k in range(401, 500)), *map(str, range(800, 990))], 1401.0),
    ],
    ids=["temperatures and a word for a gap", "percents", "decimals", "fuel", "thousands"],
)
def test_points_of_three_decimals_stay_decimal_ones(cells, first):
    column = column_of("v", as_texts(np.array(cells, dtype=object)))
    assert isinstance(column, Number)
    assert column.of_texts(np.array(cells[:1], dtype=object))[0] == first


def test_codes_of_four_and_two_digits_are_no_months():
    codes = np.array([f"{2200 + 37 * k}-{k % 12 + 1:02d}" for k in range(150)], dtype=object)
    assert not isinstance(column_of("v", as_texts(codes)), Date)
    assert isinstance(
        column_of("v", as_texts(np.array([f"{1950 + k}-{k % 12 + 1:02d}" for k in range(70)], object))), Date
    )


def test_ids_of_a_long_table_are_no_strays_among_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,v,y\n" + "".join(f"tx-{k:09d},{k % 7},{k % 2}\n" for k in range(12_000)))
    (note,) = load_table(path, "y").notes
    assert note == (
        "Column 'id' is left out: it is text of which no value occurs twice, as an id is; its words count as kind text."
    )
