"""Files made to run code, to read foreign memory or to take all of it: each is refused in one sentence."""

import io
import json
import os
import pickle
import sys
from functools import partial
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer

from compare.saved_models import raw_rows, table_model, write_csv
from setwise.compare.saved_model import SavedModel, load_model, save_model
from setwise.compare.stored_booster import with_stored_parts
from setwise.compare.trust import NAMED, PLAIN, check_content, is_known, reachable

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), np.arange(60) % 2


@pytest.fixture
def path(tmp_path):
    model = SavedModel(LogisticRegression().fit(X, Y), ("no", "yes"), "f1", n_features=3)
    return save_model(model, tmp_path / "m.skops")


def members(path):
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, files, compression=0):
    with ZipFile(path, "w", compression=compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def change(path, edit):
    """Apply a function to the schema of a saved model."""
    files = members(path)
    schema = json.loads(files["schema.json"])
    edit(schema)
    write(path, files | {"schema.json": json.dumps(schema)})


def put(path, node):
    """Put a node in the place of what a saved model knows of its training."""

    def edit(schema):
        schema["content"]["content"]["training"] = node

    change(path, edit)


def text(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def several(*nodes):
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": list(nodes)}


def named(module, name, loader, **more):
    return {"__module__": module, "__class__": name, "__loader__": loader, **more}


def refused(path):
    with pytest.raises(ValueError, match=path.name) as error:
        load_model(path)
    sentence = str(error.value)
    assert sentence.endswith(".")
    assert len(sentence) < 500
    assert "\n" not in sentence
    return sentence


def empty():
    return named("builtins", "dict", "DictNode", content={}, key_types=several() | {"__loader__": "ListNode"})


MARK = "marked"
COMMAND = text(f"touch {MARK}")
SKLEARN = "sklearn.linear_model._logistic"
CODE = {
    "a function of Python": named("os", "system", "FunctionNode"),
    "a builtin": named("builtins", "eval", "FunctionNode"),
    "a call of a function": named("os", "system", "ConstructorFromReduceNode", content=several(COMMAND)),
    "a call of a builtin": named("builtins", "exec", "ConstructorFromReduceNode", content=several(text("1"))),
    "a process": named("subprocess", "Popen", "ConstructorFromReduceNode", content=several(text(["touch", MARK]))),
    "a call of a function of scikit-learn": named(
        "sklearn.datasets._base", "clear_data_home", "ConstructorFromReduceNode", content=several(text("."))
    ),
    "a function that a module of scikit-learn imports": named(
        "sklearn.datasets._base", "rmtree", "ConstructorFromReduceNode", content=several(text("."))
    ),
    "a call of a function that is known by name": named(
        "sklearn.metrics._classification", "accuracy_score", "ConstructorFromReduceNode", content=several()
    ),
    "a key by a function that is known by name": named(
        "builtins", "dict", "DictNode", content={"a": text(1)},
        key_types=named("builtins", "list", "ListNode", content=[named("numpy", "log", "FunctionNode")]),
    ),
    "a tree of neighbors": named("sklearn.neighbors._kd_tree", "KDTree", "ObjectNode", content=None),
    "a spline": named("scipy.interpolate._bsplines", "BSpline", "ObjectNode", content=None),
    "a loader of pickles": named("joblib", "load", "ConstructorFromReduceNode", content=several(text("x"))),
    "a module that a module of setwise imports": named("setwise.cli", "os", "TypeNode"),
    "a function of setwise": named(
        "setwise.datasets.files", "load", "ConstructorFromReduceNode", content=several(text("x.csv"))
    ),
    "a class under a foreign name": named("setwise.compare.saved_model", "ZipFile", "ObjectNode", content=None),
    "a name with a dot": named(
        "sklearn", "datasets._base.clear_data_home", "ConstructorFromReduceNode", content=several()
    ),
    "a module of tests": named("sklearn.utils._testing", "TempMemmap", "ConstructorFromReduceNode", content=several()),
    "a method": named(
        SKLEARN, "LogisticRegression", "MethodNode",
        content={"func": "fit", "obj": named(SKLEARN, "LogisticRegression", "ObjectNode", content=empty())},
    ),
    "a part of a function": named(
        "functools", "partial", "PartialNode",
        content={
            "func": named("os", "system", "FunctionNode"), "args": several(COMMAND), "kwds": empty(),
            "namespace": text(None),
        },
    ),
    "a method caller": named("operator", "methodcaller", "OperatorFuncNode", attrs=several(text("system"), COMMAND)),
    "a bit generator": named(
        "numpy.random._generator", "Generator", "RandomGeneratorNode",
        content={"bit_generator": named("builtins", "dict", "DictNode", key_types=several(),
                 content={"bit_generator": text("seed")}), "seed_seq": empty()},
    ),
    "a class of numbers that is none": named(
        "os", "system", "NdArrayNode", type="json", content=[], shape=several(text(0))
    ),
    "a dict that is none": named("os", "_wrap_close", "DictNode", content={}, key_types=several()),
    "a key that is called": named(
        "builtins", "dict", "DictNode", content={f"touch {MARK}": text(1)},
        key_types=named("builtins", "list", "ListNode", content=[named("os", "system", "TypeNode")]),
    ),
    "a default that is called": named(
        "collections", "defaultdict", "DefaultDictNode",
        content={"main": empty(), "default_factory": named("os", "getcwd", "TypeNode")},
    ),
    "an unknown loader": named("builtins", "str", "EvalNode", content="1"),
    "no class": {"__loader__": "JsonNode"},
    "an unknown protocol of functions": named("builtins", "eval", "FunctionNode", content={"module_path": "os"}),
    "a cached object": named("builtins", "str", "CachedNode", __id__=12345),
    "an array outside": named("numpy", "ndarray", "NdArrayNode", type="numpy", file="../../etc/passwd"),
}  # fmt: skip


@pytest.mark.parametrize("node", CODE.values(), ids=CODE)
def test_a_file_that_names_code_is_refused_and_runs_nothing(path, node, monkeypatch):
    monkeypatch.chdir(path.parent)
    put(path, node)
    refused(path)
    assert sorted(os.listdir()) == ["m.skops"]


@pytest.mark.parametrize("protocol", [0, 1, -1, True, "2", 99])
def test_other_protocols_of_the_format_open_no_door(path, protocol, monkeypatch):
    monkeypatch.chdir(path.parent)
    content = {"module_path": "os", "function": "system"}
    put(path, named("os", "system", "FunctionNode", content=content))
    change(path, lambda schema: schema.update(protocol=protocol))
    refused(path)
    assert sorted(os.listdir()) == ["m.skops"]


def test_the_sentence_lists_what_is_not_loaded(path):
    put(path, several(CODE["a process"], CODE["a builtin"]))
    assert refused(path) == (
        "m.skops is not a model saved by setwise: it names what is no class of setwise or scikit-learn: "
        "'builtins.eval', 'subprocess.Popen'."
    )


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.linear_model._logistic.LogisticRegression", "setwise.losses.overlap.Jaccard",
        "setwise.estimators.set_classifier.SetClassifier", "setwise.compare.saved_model.SavedModel",
        "sklearn.calibration._CalibratedClassifier", "sklearn.metrics._classification.balanced_accuracy_score",
        "sklearn.feature_selection._univariate_selection.f_classif", "sklearn.preprocessing._data.normalize",
        "sklearn.metrics.pairwise.rbf_kernel", "scipy.special._logsumexp.softmax", *sorted(PLAIN), *sorted(NAMED),
    ],
)  # fmt: skip
def test_what_models_need_is_known(name):
    assert is_known(name)


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "builtins.eval", "sklearn.linear_model.LogisticRegression.fit", "sklearn.base.warnings",
        "sklearn.linear_model._logistic.Pipeline", "sklearn.neighbors._kd_tree.KDTree", "sklearn", "", ".", "setwise.",
        "sklearn.utils.validation.check_is_fitted", "sklearn.not_there.Thing", "setwise.compare.saved_model.load_model",
        "numpy.save", "numpy.load", "numpy.savetxt", "numpy.fromfile", "numpy.memmap", "numpy.loadtxt",
        "sklearn.metrics.pairwise.check_array", "sklearn.preprocessing._data.check_array",
        "sklearn.preprocessing._data._handle_zeros_in_scale", "sklearn.feature_selection.f_classif",
        "scipy.special._basic.np", "scipy.special._support_alternative_backends.xp_assert_close",
        "sklearn.utils._testing.TempMemmap", "sklearnish.Thing", "setwise.compare.saved_model.RESPONSES",
    ],
)  # fmt: skip
def test_what_models_do_not_need_is_not_known(name):
    assert not is_known(name)


def test_a_name_in_a_file_imports_nothing(path, monkeypatch):
    put(path, named("sklearn.conftest", "pytest", "ObjectNode", content=None))
    monkeypatch.delitem(sys.modules, "sklearn.conftest", raising=False)
    refused(path)
    assert "sklearn.conftest" not in sys.modules


def test_pickles_and_other_files_are_refused(path):
    whole = path.read_bytes()
    pickled = pickle.dumps(LogisticRegression())
    for content in (b"", b"PK", pickled, b"x,y\n1,2\n", whole[:100], whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(content)
        refused(path)
    skops.dump(LogisticRegression(), path)
    assert (
        refused(path)
        == "m.skops is not a model saved by setwise: it holds LogisticRegression; read it with skops.io.load, and "
        "write it with setwise.compare.save_model(model, path, table), with the table that it was fitted to."
    )
    skops.dump({"a": 1}, path)
    refused(path)
    write(path, {"other.json": "{}"})
    refused(path)


def test_damaged_bytes_are_one_sentence(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), 3):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        # what is still a model is a model; all else is refused
        try:
            assert isinstance(load_model(path), SavedModel)
        except ValueError as error:
            assert str(error).startswith("m.skops ")
        except UserWarning:
            pass


@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_nesting_is_one_sentence(path, depth):
    opening = json.dumps(several())[:-3] + "["
    files = members(path)
    deep = opening * depth + "]}" * depth
    files["schema.json"] = files["schema.json"].replace(
        b'"training": {', b'"training": ' + deep.encode() + b', "rest": {'
    )
    write(path, files)
    refused(path)


def test_memory_is_proportional_to_the_file(path):
    files = members(path)
    write(path, files, ZIP_DEFLATED)
    assert "its members are compressed, or overlap" in refused(path)
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10_000))
    node = named("numpy", "ndarray", "NdArrayNode", type="numpy", file="big.npy")
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    write(path, files | {"big.npy": header.ljust(127) + b"\n"})
    put(path, node)
    refused(path)


def test_arrays_of_objects_are_not_unpickled(path, monkeypatch):
    class MaliciousObject:
        def __reduce__(self):
            return (os.system, (f"touch {MARK}",))

    monkeypatch.chdir(path.parent)
    buffer = io.BytesIO()
    np.save(buffer, np.array([MaliciousObject()], dtype=object), allow_pickle=True)
    write(path, members(path) | {"evil.npy": buffer.getvalue()})
    put(path, named("numpy", "ndarray", "NdArrayNode", type="numpy", file="evil.npy"))
    refused(path)
    assert sorted(os.listdir()) == ["m.skops"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("estimator", 3), ("classes", "ab"), ("classes", ["a"]), ("columns", 3), ("threshold", "a"), ("many", 2),
     ("response", "__class__"), ("n_features", -1), ("version", 1), ("places", [0])],
)  # fmt: skip
def test_fields_of_another_kind_are_refused(path, field, value):
    def edit(schema):
        schema["content"]["content"][field] = text(value)

    change(path, edit)
    assert field in refused(path)


def test_missing_fields_are_refused(path):
    change(path, lambda schema: schema["content"]["content"].pop("estimator"))
    refused(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("trusted") / "t.csv", raw_rows())


def tampered(model, edit):
    """Change the nodes of the first tree of a fitted forest, through the state that files hold."""
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    edit(state["nodes"])
    tree.__setstate__(state)


TREES = {
    "a left child outside": lambda nodes: nodes["left_child"].__setitem__(0, 10**9),
    "a right child outside": lambda nodes: nodes["right_child"].__setitem__(0, 10**9),
    "a right child before the first node": lambda nodes: nodes["right_child"].__setitem__(0, -2),
    "a loop": lambda nodes: nodes["left_child"].__setitem__(0, 0),
    "a feature outside": lambda nodes: nodes["feature"].__setitem__(0, 10**9),
    "a negative feature": lambda nodes: nodes["feature"].__setitem__(0, -5),
}


@pytest.mark.draw(6)
@pytest.mark.parametrize("edit", TREES.values(), ids=TREES)
def test_nodes_of_forests_stay_inside(table, tmp_path, edit):
    model, _ = table_model(table, "forest")
    tampered(model.estimator[-1], edit)
    with pytest.raises(ValueError, match="a Tree in it is damaged: its nodes do not fit together"):
        check_content(model)
    with pytest.raises(ValueError, match="m.skops cannot be saved: a Tree in it is damaged"):
        save_model(model, tmp_path / "m.skops")
    skops.dump(model, tmp_path / "m.skops")
    assert "a Tree in it is damaged" in refused(tmp_path / "m.skops")


def narrow(forest):
    forest.estimators_[0].n_features_in_ = 2


def narrow_all(forest):
    for tree in forest.estimators_:
        tree.n_features_in_ = 2


def other(forest):
    forest.estimators_[1] = LogisticRegression()


@pytest.mark.parametrize("edit", [narrow, narrow_all, other])
def test_trees_of_a_forest_read_as_many_features_as_it_has(table, edit):
    model, _ = table_model(table, "forest")
    edit(model.estimator[-1])
    with pytest.raises(ValueError, match="is damaged"):
        check_content(model)


BOOSTED = {
    "left": ("left", 10**6), "right": ("right", 10**6), "loop": ("left", 0), "feature": ("feature_idx", 10**6),
    "set": ("bitset_idx", 10**6), "negative feature": ("feature_idx", -1),
}  # fmt: skip


@pytest.mark.parametrize(("field", "value"), BOOSTED.values(), ids=BOOSTED)
def test_nodes_of_boosted_trees_stay_inside(table, field, value):
    model, _ = table_model(table, "categories")
    nodes = model.estimator[-1]._predictors[0][0].nodes
    assert nodes["is_categorical"][0]
    nodes[field][0] = value
    with pytest.raises(ValueError, match="its nodes do not fit together"):
        check_content(model)


def numbers_for_categories(model):
    model._bin_mapper.is_categorical_ = np.zeros(4, dtype=np.uint8)


def short_map(model):
    model._bin_mapper.is_categorical_ = np.ones(1, dtype=np.uint8)


def small_sets(model):
    predictor = model._predictors[0][0]
    predictor.raw_left_cat_bitsets = np.zeros((0, 8), dtype=np.uint32)


def narrow_sets(model):
    predictor = model._predictors[0][0]
    predictor.raw_left_cat_bitsets = np.zeros((9, 1), dtype=np.uint32)


def dropping_encoder(model):
    model._preprocessor.transformers_ = model._preprocessor.transformers_[:1]


def foreign_encoder(model):
    model._preprocessor = LogisticRegression()


@pytest.mark.parametrize(
    "edit", [numbers_for_categories, short_map, small_sets, narrow_sets, dropping_encoder, foreign_encoder]
)
def test_categories_of_boosted_trees_stay_inside(table, edit):
    model, _ = table_model(table, "categories")
    edit(model.estimator[-1])
    with pytest.raises(ValueError, match="is damaged"):
        check_content(model)


def test_gradient_boosting_begins_with_a_shape_that_is_known():
    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    check_content(model)
    model.init_ = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="is damaged"):
        check_content(model)
    three = GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(60) % 3)
    check_content(three)
    # Trees of three classes would be added to the one column of two.
    three.init_ = GradientBoostingClassifier(n_estimators=2).fit(X, Y).init_
    with pytest.raises(ValueError, match="is damaged"):
        check_content(three)


def test_stored_trees_of_neighbors_and_splines_are_checked_as_they_are_built(tmp_path):
    neighbors = KNeighborsClassifier().fit(X, Y)
    splines = make_pipeline(SplineTransformer(), LogisticRegression()).fit(X, Y)
    for model, part, edit in (
        (neighbors, neighbors, lambda one: setattr(one, "_fit_X", np.full((5, 3), np.nan))),
        (neighbors, neighbors, lambda one: setattr(one, "_tree", "Thing")),
        (splines, splines[0], lambda one: setattr(one, "bsplines_", [(np.arange(9.0), np.zeros((2, 3)), 3, True, 0)])),
    ):
        held = SavedModel(model, ("no", "yes"), "f1", n_features=3)
        before = dict(vars(part))
        path = save_model(held, tmp_path / "m.skops")
        np.testing.assert_array_equal(load_model(path).decide(X)[0], model.predict(X))
        stored = with_stored_parts(held, reachable(held))
        edit(stored.estimator if part is model else stored.estimator[0])
        skops.dump(stored, path)
        refused(path)
        vars(part).update(before)


@pytest.mark.parametrize(
    "function",
    [make_scorer(f1_score), partial(make_scorer(f1_score), Y), partial(np.clip, a_min=np.max), SavedModel],
    ids=["scorer", "partial scorer", "function as argument", "class"],
)
def test_only_functions_are_called_with_rows(tmp_path, function):
    model = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(np.abs(X), Y)
    held = SavedModel(model, ("no", "yes"), "f1", n_features=3)
    assert load_model(save_model(held, tmp_path / "m.skops")).estimator[0].func is np.log1p
    model[0].set_params(func=function)
    with pytest.raises(ValueError, match="is damaged|a scorer stands"):
        check_content(held)
    model[0].set_params(func=None, kw_args={"more": [function]})
    if "corer" in repr(function):
        with pytest.raises(ValueError, match="a scorer stands"):
            check_content(held)


def test_boosted_trees_call_nothing_but_the_check_of_arrays_as_they_are_loaded():
    words = np.column_stack([X, np.arange(len(X)) % 3])
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[3]).fit(words, Y)
    check_content(model)
    for part in reachable(model):
        if isinstance(part, FunctionTransformer):
            part.func = np.log1p
    with pytest.raises(ValueError, match="is damaged"):
        check_content(model)


def test_sparse_weights_stay_inside(tmp_path):
    fitted = LogisticRegression().fit(X, Y).sparsify()
    model = SavedModel(fitted, ("no", "yes"), "f1", n_features=3)
    np.testing.assert_array_equal(load_model(save_model(model, tmp_path / "m.skops")).decide(X)[0], model.decide(X)[0])
    fitted.coef_.indices[:] = 10**6
    skops.dump(model, tmp_path / "m.skops")
    assert "matrix in it is damaged" in refused(tmp_path / "m.skops")
