"""Readers of files and the synthetic problem: every argument."""

from functools import partial

import pandas as pd
import pytest

from setwise.datasets import (
    early_detection,
    landmarks,
    load,
    load_horses,
    load_labeled_images,
    load_numbered,
    load_rows,
    load_sample,
    load_table,
    object_scenes,
    textured_objects,
)
from setwise.datasets.columns import Number
from surface.refusals import COUNTS, NO_NUMBERS, NUMBERS, OBJECTS, Parameter, try_all, without

SEEDS = {"negative": -1, "half": 0.5, "None": None, "text": "1"}
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
    endless, positives = {"no ending": str(table.parent / "table")}, TEXTS | {"no label": "2", "list": ["1"]}
    for read in (load, load_table):
        name = read.__name__
        for parameter in (
            Parameter(f"{name}(path, file)", read, paths | endless),
            Parameter(f"{name}(target, column)", partial(read, table), targets),
            Parameter(f"{name}(group, column)", partial(read, table, "y"), groups),
            Parameter(f"{name}(positive)", partial(read, table, "y", None), positives),
            Parameter(f"{name}(drop, column)", partial(read, table, "y", None, None), targets),
        ):
            try_all(parameter)
    kinds = without(OBJECTS, "None") | {"no kind": {"a": "numeral"}, "no column": {"z": "id"}}
    words = without(OBJECTS, "None", "text", "list of texts") | {"numbers": [1, 2]}
    for parameter in (
        Parameter("load_table(kinds, column)", lambda v: load_table(table, "y", kinds=v), kinds),
        Parameter("load_table(missing, column)", lambda v: load_table(table, "y", missing=v), words),
        Parameter("load_table(sep)", lambda v: load_table(table, "y", sep=v), TEXTS | {"two": ";;"}),
        Parameter("load_table(encoding)", lambda v: load_table(table, "y", encoding=v), TEXTS | {"none": "utf-7000"}),
    ):
        try_all(parameter)


def test_a_malformed_argument_of_a_reader_of_samples_is_refused_in_a_sentence(table):
    pytest.importorskip("pyarrow")
    path = table.parent / "table.parquet"
    pd.read_csv(table).to_parquet(path)
    paths = OBJECTS | {"nothing": "", "folder": str(table.parent), "no such": "nowhere.parquet", "text": str(table)}
    targets = TEXTS | {"no column": "z", "twice": "y,y", "numbers": [1, 2]}
    groups = TEXTS | {"no column": "z", "list": ["id"], "the target": "y"}
    for parameter in (
        Parameter("load_sample(path, file)", lambda v: load_sample(v, 6), paths),
        Parameter("load_sample(rows)", partial(load_sample, path), COUNTS | {"zero": 0}),
        Parameter("load_sample(target, column)", partial(load_sample, path, 6), targets),
        Parameter("load_sample(group, column)", partial(load_sample, path, 6, "y"), groups),
        Parameter("load_sample(positive)", partial(load_sample, path, 6, "y", None), TEXTS | {"no label": "2"}),
        Parameter("load_sample(drop, column)", partial(load_sample, path, 6, "y", None, None), targets),
        Parameter("load_sample(kinds, column)", lambda v: load_sample(path, 6, "y", kinds=v), {"no": {"a": "numeral"}}),
        Parameter("load_sample(missing, column)", lambda v: load_sample(path, 6, "y", missing=v), {"numbers": [1]}),
        Parameter("load_sample(seed)", lambda v: load_sample(path, 6, "y", seed=v), SEEDS),
    ):
        try_all(parameter)


def test_a_malformed_argument_of_a_reader_of_new_rows_is_refused_in_a_sentence(table):
    paths = OBJECTS | {"nothing": "", "folder": str(table.parent), "no such": "nowhere.csv", "zero": "a\0b"}
    columns, texts = (Number("a"),), TEXTS | {"no column": "z"}
    (table.parent / "table.svm").write_text("0 1:2\n")
    for parameter in (
        Parameter("load_rows(path, file)", lambda v: load_rows(v, columns), paths | {"sparse": "table.svm"}),
        Parameter("load_rows(columns, column)", partial(load_rows, table), OBJECTS | {"text": "a", "names": ["a"]}),
        Parameter("load_rows(group, column)", lambda v: load_rows(table, columns, v), texts | {"list": ["id"]}),
        Parameter("load_rows(keep, column)", lambda v: load_rows(table, columns, None, v), texts),
        Parameter("load_rows(sep)", lambda v: load_rows(table, columns, sep=v), TEXTS | {"two": ";;"}),
        Parameter("load_rows(encoding)", lambda v: load_rows(table, columns, encoding=v), TEXTS | {"none": "utf-7000"}),
        Parameter("load_numbered(path, file)", lambda v: load_numbered(v, 2), paths | {"table": str(table)}),
        Parameter("load_numbered(n_features)", partial(load_numbered, table.parent / "table.svm"), COUNTS),
        Parameter("load_numbered(group)", partial(load_numbered, table.parent / "table.svm", 2), TEXTS),
        Parameter(
            "load_numbered(first)",
            lambda v: load_numbered(table.parent / "table.svm", 2, None, v),
            COUNTS | {"two": 2},
        ),
    ):
        try_all(parameter)


@pytest.mark.parametrize("name", ["n_bags", "p"])
def test_sizes_are_counts(name):
    try_all(Parameter(f"early_detection({name})", lambda v: early_detection(**{name: v}), COUNTS | {"zero": 0}))


@pytest.mark.parametrize("name", ["n", "g", "k"])
def test_sizes_of_landmarks_are_counts(name):
    try_all(Parameter(f"landmarks({name})", lambda v: landmarks(**{name: v}), COUNTS | {"zero": 0}))
    with pytest.raises(ValueError, match="g must be at least 9"):
        landmarks(2, g=8)


def test_shares_of_noise_are_numbers():
    try_all(Parameter("landmarks(noise)", lambda v: landmarks(2, v), NUMBERS | {"two": 2.0}))


def test_seeds_are_whole_numbers():
    seeds = NO_NUMBERS | {"negative": -1, "half": 0.5}
    try_all(Parameter("early_detection(random_state)", lambda v: early_detection(2, random_state=v), seeds))
    try_all(Parameter("landmarks(random_state)", lambda v: landmarks(2, random_state=v), seeds))
    try_all(Parameter("textured_objects(random_state)", lambda v: textured_objects(2, random_state=v), seeds))
    try_all(Parameter("object_scenes(random_state)", lambda v: object_scenes(2, random_state=v), seeds))


def test_a_malformed_argument_of_a_reader_of_images_is_refused_in_a_sentence(tmp_path):
    paths = OBJECTS | {"nothing": "nowhere", "zero": "a\0b", "no such": "nowhere.png"}
    names = without(OBJECTS, "None") | {"text": "ab", "numbers": [1, 2]}
    for parameter in (
        Parameter("load_labeled_images(images, folder)", lambda v: load_labeled_images(v, tmp_path), paths),
        Parameter("load_labeled_images(labels, folder)", partial(load_labeled_images, tmp_path), paths),
        Parameter("load_labeled_images(names)", partial(load_labeled_images, tmp_path, tmp_path), names),
        Parameter(
            "load_labeled_images(shorter_side)",
            partial(load_labeled_images, tmp_path, tmp_path, ["a"]),
            without(COUNTS, "None") | {"zero": 0},
        ),
        Parameter("load_horses(folder)", load_horses, paths),
        Parameter("load_horses(size)", partial(load_horses, tmp_path), COUNTS),
    ):
        try_all(parameter)


def test_arguments_of_generated_objects_are_tried():
    shapes = OBJECTS | {"one": (40,), "list": [40, 60], "small": (7, 40), "halves": (40.5, 60.0), "text": "ab"}
    ranges = without(shapes, "small") | {"falling": (60, 40), "negative": (-1, 3)}
    for parameter in (
        Parameter("textured_objects(n)", textured_objects, COUNTS | {"zero": 0}),
        Parameter("textured_objects(shape)", partial(textured_objects, 1), shapes),
        Parameter("textured_objects(contrast)", lambda v: textured_objects(1, contrast=v), NUMBERS),
        Parameter("object_scenes(n)", object_scenes, COUNTS | {"zero": 0}),
        Parameter("object_scenes(shape)", partial(object_scenes, 1), shapes),
        Parameter("object_scenes(objects)", lambda v: object_scenes(1, objects=v), ranges),
        Parameter("object_scenes(lengths)", lambda v: object_scenes(1, lengths=v), ranges),
        Parameter("object_scenes(clutter)", lambda v: object_scenes(1, clutter=v), NUMBERS),
    ):
        try_all(parameter)
