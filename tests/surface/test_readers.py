"""Readers of files and the synthetic problem: every argument."""

from functools import partial

import pytest

from setwise.datasets import early_detection, load
from surface.malformed import COUNTS, NO_NUMBERS, OBJECTS, Parameter, try_all, without

TEXTS = without(OBJECTS, "None") | {"nothing": ""}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("surface") / "table.csv"
    path.write_text("a,b,id,y\n" + "".join(f"{i}.5,{-i},{i // 3},{i % 2}\n" for i in range(12)))
    return path


def test_a_malformed_argument_of_a_reader_is_refused_in_a_sentence(table):
    paths = OBJECTS | {"nothing": "", "folder": str(table.parent), "no such": "nowhere.csv", "zero": "a\0b"}
    targets = TEXTS | {"no column": "z", "twice": "y,y", "numbers": [1, 2]}
    groups = TEXTS | {"no column": "z", "list": ["id"], "the target": "y"}
    for parameter in (
        Parameter("load(path, file)", load, paths | {"no ending": str(table.parent / "table")}),
        Parameter("load(target, column)", partial(load, table), targets),
        Parameter("load(group, column)", partial(load, table, "y"), groups),
        Parameter("load(positive)", partial(load, table, "y", None), TEXTS | {"no label": "2", "list": ["1"]}),
    ):
        try_all(parameter)


@pytest.mark.parametrize("name", ["n_bags", "p"])
def test_sizes_are_counts(name):
    try_all(Parameter(f"early_detection({name})", lambda v: early_detection(**{name: v}), COUNTS | {"zero": 0}))


def test_seeds_are_whole_numbers():
    seeds = NO_NUMBERS | {"negative": -1, "half": 0.5}
    try_all(Parameter("early_detection(random_state)", lambda v: early_detection(2, random_state=v), seeds))
