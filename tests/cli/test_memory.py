"""``setwise compare FILE.parquet --memory``: a sample is compared on, and all other rows judge what is recommended."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli.test_resume import results as timeless
from setwise.cli import main, options_parser
from setwise.compare import memory
from setwise.compare.command import plan_of, work_of
from setwise.compare.memory import MemoryAllowance
from setwise.compare.other_rows import OtherRows
from setwise.compare.saved_model import load_model
from setwise.core.exceptions import Refusal
from setwise.datasets import load_rows, load_table
from setwise.datasets.blocks import Budget
from setwise.datasets.tables import ParquetTable
from setwise.losses import FBeta, Jaccard, RocArea

pytest.importorskip("pyarrow")

N = 4000
WORDS = ("--target", "sick", "--quick", "--folds", "2", "--base", "linear", "--time-budget", "3600")
LEAST = (*WORDS, "--strategies", "threshold", "-v")


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Reports without pictures, and plans without measured times, which take longer than all else here."""
    monkeypatch.setattr("setwise.compare.report.drawn", lambda found: {})


def frame(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)).astype(np.float32)
    sick = X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=N) > 1
    found = pd.DataFrame(X, columns=["u", "v", "w"])
    found["city"] = np.where(rng.random(N) < 0.05, None, rng.choice(["Rome", "Oslo"], N))
    found["sick"] = np.where(sick, "yes", "no")
    return found.assign(bag=[f"bag {i}" for i in rng.permutation(np.arange(N) // 5)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("data") / "big.parquet"
    frame().to_parquet(found, row_group_size=300)
    return found


def run(*words):
    try:
        return main(["compare", *map(str, words)])
    except SystemExit as stop:
        return stop.code


def result(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["answers"][0]


def on_others(found):
    """The losses on the other rows of the ways that were judged there."""
    losses = {(row["base"], row["strategy"]): row["loss_on_other_rows"] for row in found["rows"]}
    return {key: loss for key, loss in losses.items() if loss is not None}


def other_rows(path, seen):
    """The places of the rows that are not among those that were seen, told by their first number."""
    whole = load_table(path, "sick", "bag")
    return whole, ~np.isin(whole.X[:, 0], seen.X[:, 0])


@pytest.mark.parametrize("grouped", [False, True])
def test_all_other_rows_are_judged_by_their_own_costs(tmp_path, monkeypatch, grouped):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"risk": rng.normal(size=9000), "amount": rng.choice([1.0, 40.0], 9000) + rng.random(9000)})
    X["sick"] = (rng.random(9000) < 1 / (1 + np.exp(2.0 - 1.5 * X["risk"]))).astype(int)
    X["bag"] = rng.permutation(np.arange(9000) // 5)
    data = tmp_path / "pay.parquet"
    X.to_parquet(data, row_group_size=700)
    words = (
        *WORDS,
        "--folds",
        5,
        "--strategies",
        "threshold,decision",
        "--memory",
        "5MB",
        "--fp-cost",
        5,
        "--fn-cost",
        "amount",
    )
    assert run(data, *words, *(("--group", "bag") if grouped else ("--drop", "bag")), "--out", tmp_path / "r") == 0
    found, space = result(tmp_path / "r"), {}
    monkeypatch.chdir(tmp_path)
    exec(found["code"], space)
    others = X[~X["risk"].isin(space["X"][:, 0])]
    assert found["strategy"] == "decision"
    assert 2000 < len(others) == found["other_rows"]["count"] == 9000 - len(space["X"])
    seen = others[["risk", "amount"]].to_numpy()
    labels = {
        "decision": space["model"].predict(seen, fn_cost=seen[:, 1]),
        "threshold": space["model"].predict(seen, single_threshold=True),
    }
    missed = {name: others["amount"][(others["sick"] == 1) & (one == 0)].sum() for name, one in labels.items()}
    alarms = {name: ((others["sick"] == 0) & (one == 1)).sum() for name, one in labels.items()}
    paid = {name: 1000.0 * (missed[name] + 5.0 * alarms[name]) / len(others) for name in labels}
    judged = on_others(found)
    # At 0.5 the model has a constant of its own.
    assert judged.pop(("linear", "as_it_is")) > 1.2 * paid["threshold"]
    assert judged == {("linear", name): pytest.approx(one) for name, one in paid.items()}


@pytest.mark.slow
def test_the_recommendation_is_judged_on_all_other_rows(path, tmp_path, monkeypatch, capsys):
    words = (*LEAST, "--drop", "bag", "--memory", "2MB", "--save", tmp_path / "m.skops")
    assert run(path, *words, "--out", tmp_path / "r") == 0
    out = " ".join(capsys.readouterr().out.split())
    found = result(tmp_path / "r")
    space = {}
    monkeypatch.chdir(path.parent)
    exec(found["code"], space)
    # The printed code draws the same rows, and finds the same threshold.
    assert space["model"].best_threshold_ == found["threshold"]
    m = len(space["y"])
    assert 300 <= m < N
    rare = min(m // 2, int((frame()["sick"] == "yes").sum()))
    assert space["y"].sum() == rare
    drawn = f"as many as --memory 2MB has room for, {rare:,} of the rarer label among them; rows count by weights"
    assert f"Compared on {m:,} of 4,000 rows, drawn at random ({drawn})." in out
    assert "The saved model is fitted to these rows." in out
    whole, others = other_rows(path, space["data"])
    held = found["other_rows"]
    assert (held["count"], others.sum()) == (N, N - m)
    rows = load_rows(path, space["data"].columns)
    saved = load_model(tmp_path / "m.skops")
    labels, _ = saved.decide(rows.X)
    losses = on_others(found)
    assert set(losses) == {("linear", "threshold"), ("linear", "as_it_is")}
    # The labels of the sample come from other folds, and are nearly those of the model.
    assert losses["linear", "threshold"] == pytest.approx(FBeta()(whole.y, labels), abs=0.02)
    shown = f"{1 - losses['linear', 'threshold']:.3f}".lstrip("0")
    sentence = f"On all 4,000 rows of big.parquet, each judged by models that did not see it: F1 {shown}."
    assert sentence in out
    assert sentence in (tmp_path / "r" / "report.html").read_text("utf-8")


def judged(path, loss, rule, **given):
    """The loss on the other rows, beside the truth, the labels of the rule and the ids of these rows."""
    more = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    words = ["compare", str(path), "--target", "sick", "--loss", loss, "--memory", "3MB", "--base", "linear"]
    options = options_parser().parse_args([*words, "--folds", "2", *more])
    plan = plan_of(options)
    (work,) = work_of(options, plan)
    from setwise.compare.fits import Fits, no_advance, rows_of

    rows = rows_of(work.problem, work.measures[0])
    fits = Fits(rows, work.problem, plan, "", no_advance).complete()
    source = fits.best(rows.task, plan.reference(work.measures[0])).tuned["linear"]
    tuned = rule.bound(rows.task).tune(source.held_out(), rows.task)
    own = tuned.labels(source.held_out())
    found = work.others.judge({("linear", rule.name): (tuned, source)}, work.measures[0], {("linear", rule.name): own})
    assert found.refusal == "", found.refusal
    whole, others = other_rows(path, work.problem)
    X = load_rows(path, work.problem.columns).X[others]
    ids = None if given.get("group") is None else np.unique(whole.groups[others], return_inverse=True)[1]
    y, labels = whole.y[others], tuned.labels(source.fresh(X, ids))
    if work.problem.weights is not None:
        y, labels = np.append(y, work.problem.y), np.append(labels, own)
    return found.losses["linear", rule.name], y, labels, ids


@pytest.mark.slow
def test_groups_are_left_out_whole(path):
    from setwise.estimators.selection.strategies import SingleThreshold

    loss, y, labels, ids = judged(path, "jaccard", SingleThreshold(), group="bag")
    # Whole groups are among the others, though row groups cut them.
    assert (np.bincount(ids) == 5).all()
    by_hand = np.mean([Jaccard()(y[ids == k], labels[ids == k]) for k in range(ids.max() + 1)])
    assert loss == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.slow
def test_rows_of_the_rarer_label_judge_out_of_fold_beside_all_others(path):
    from setwise.estimators.selection.strategies import SingleThreshold

    loss, y, labels, _ = judged(path, "f1", SingleThreshold(), drop="bag")
    assert len(y) == N
    assert loss == pytest.approx(FBeta()(y, labels), abs=1e-12)


@pytest.mark.slow
def test_groups_that_are_decided_as_a_whole_are_not_judged_part_by_part(path):
    from setwise.estimators.selection.decision import BayesDecision

    with pytest.raises(AssertionError, match="their groups are decided as a whole, and the file is read in parts"):
        judged(path, "jaccard", BayesDecision(), group="bag")


@pytest.mark.slow
def test_scores_and_losses_that_are_no_counts_are_judged_too(path):
    from setwise.estimators.selection.strategies import ScoreOrder, SingleThreshold
    from setwise.losses import EarlyDetection

    loss, y, scores, _ = judged(path, "auc", ScoreOrder(), drop="bag")
    assert loss == pytest.approx(RocArea()(y, scores), abs=1e-12)
    loss, y, labels, ids = judged(path, "early_detection", SingleThreshold(), group="bag")
    by_hand = np.mean([EarlyDetection()(y[ids == k], labels[ids == k]) for k in range(ids.max() + 1)])
    assert loss == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_label_matrices(average, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    Y = (X @ rng.normal(size=(2, 3)) + rng.normal(size=(3000, 3)) > 0.8).astype(int)
    table = pd.DataFrame(np.hstack([X, Y]), columns=list("abpqr"))
    table.to_parquet(tmp_path / "m.parquet", row_group_size=250)
    words = ("--target", "p,q,r", *LEAST[2:], "--memory", "3MB", "--average", average, "--save", tmp_path / "m.skops")
    assert run(tmp_path / "m.parquet", *words, "--out", tmp_path / "r") == 0
    found, space = result(tmp_path / "r"), {}
    code = found["code"].replace("'m.parquet'", repr(str(tmp_path / "m.parquet")))
    exec(code, space)
    others = ~np.isin(X[:, 0], space["X"][:, 0])
    labels = load_model(tmp_path / "m.skops").decide(X)[0]
    sets = {"samples": (Y[others], labels[others]), "macro": (Y[others].T, labels[others].T)}
    pairs = sets.get(average, (Y[others].reshape(1, -1), labels[others].reshape(1, -1)))
    by_hand = np.mean([FBeta()(y, h) for y, h in zip(*pairs, strict=True)])
    loss = on_others(found)[found["base"], found["strategy"]]
    assert loss == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.slow
def test_floors_are_counted_on_the_other_rows(path, tmp_path, capsys):
    words = (*LEAST, "--drop", "bag", "--memory", "2MB", "--recall-at-least", "0.8")
    assert run(path, *words, "--out", tmp_path / "r") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "of big.parquet: precision ." in out
    assert "with recall ." in out
    assert "the floor." in out


@pytest.mark.slow
def test_where_all_rows_fit_none_are_left(path, tmp_path, capsys):
    assert run(path, *LEAST, "--drop", "bag", "--memory", "1GB", "--out", tmp_path / "r") == 0
    assert "All rows of big.parquet fit into --memory." in capsys.readouterr().out
    assert result(tmp_path / "r")["other_rows"] is None


@pytest.mark.slow
def test_cells_that_the_sample_did_not_hold_are_said_and_lose_nothing(tmp_path, capsys):
    table = frame().drop(columns="bag").assign(when=[f"{2000 + i % 20}-01-01" for i in range(N)])
    names = {"when": "some day", "sick": "perhaps"}
    for name, odd in names.items():
        spoiled = table.copy()
        spoiled.loc[2, name] = odd
        spoiled.to_parquet(tmp_path / "odd.parquet", row_group_size=300)
        assert run(tmp_path / "odd.parquet", *LEAST, "--memory", "2MB", "--out", tmp_path / "r") == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "Stay with logistic regression" in out
        assert "rows of odd.parquet nothing was judged: " in out
        assert f"column '{name}'" in out
        assert f"'{odd}'" in out


@pytest.mark.slow
def test_ctrl_c_and_resume_find_the_same(path, tmp_path, fits, capsys):
    words, file = (*LEAST, "--drop", "bag", "--memory", "2MB"), tmp_path / "work.npz"
    assert run(path, *words, "--out", tmp_path / "r") == 0
    whole, all_fits = timeless(tmp_path / "r"), fits["count"]
    fits.update(count=0, stop=int(0.7 * all_fits))
    assert run(path, *words, "--checkpoint", file, "--out", tmp_path / "r") == 130
    fits.update(count=0, stop=0)
    assert run(path, *words, "--checkpoint", file, "--resume", "--out", tmp_path / "r") == 0
    assert fits["count"] < 0.6 * all_fits
    assert timeless(tmp_path / "r") == whole
    capsys.readouterr()
    again = (*words[:-1], "3MB", "--checkpoint", file, "--resume", "--out", tmp_path / "r")
    assert run(path, *again) == 2
    assert "memory is '2MB' there and '3MB' here" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_among_the_other_rows_keeps_what_was_done(path, tmp_path, monkeypatch, capsys):
    def stopped(*arguments):
        raise KeyboardInterrupt

    file, words = tmp_path / "work.npz", (*LEAST, "--drop", "bag", "--memory", "2MB")
    with monkeypatch.context() as patch:
        patch.setattr(OtherRows, "judge", stopped)
        assert run(path, *words, "--checkpoint", file, "--out", tmp_path / "r") == 130
    assert "work.npz holds what was done; --resume goes on from it" in capsys.readouterr().err
    assert run(path, *words, "--checkpoint", file, "--resume", "--out", tmp_path / "r") == 0
    assert on_others(result(tmp_path / "r"))


def test_what_is_wrong_is_one_sentence(path, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n")
    for words, says in (
        ((tmp_path / "t.csv", "--memory", "1GB"), "--memory is for a Parquet file, which can be read part by part"),
        ((path, "--memory", "much"), "--memory must be bytes, as 500_000_000, or text, as '500MB'; got 'much'"),
        ((path, "--memory", "300KB"), "--memory 300KB is too small for big.parquet, whose largest row group has 300"),
        ((tmp_path / "none.parquet", "--memory", "1GB"), "there is no file"),
    ):
        assert run(*words, "--target", "sick", "--out", tmp_path / "r") == 2
        assert says in capsys.readouterr().err
    assert run("--memory", "1GB", "--out", tmp_path / "r") == 2
    assert "--memory is for a file; name it before the options" in capsys.readouterr().err


def test_the_budget_that_is_named_suffices(path):
    table = ParquetTable(path)
    for grouped in (False, True):
        for forest in (False, True):
            sets = 800 if grouped else 1
            little = MemoryAllowance(Budget(10_000), table, 6, 1, grouped, forest, 1)
            with pytest.raises(Refusal, match="give ") as error:
                little.rows(sets)
            enough = Budget.of(str(error.value).split("give ")[1].split(" or")[0])
            assert MemoryAllowance(enough, table, 6, 1, grouped, forest, 1).rows(sets) >= 300
            less = Budget(int(0.9 * enough.bytes))
            with pytest.raises(Refusal):
                MemoryAllowance(less, table, 6, 1, grouped, forest, 1).rows(sets)


def test_a_file_that_is_too_large_for_the_machine_is_refused_before_it_is_read(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "machine_memory", lambda: 300_000)
    monkeypatch.setattr("setwise.compare.command.read", lambda *given: pytest.fail("it was read"))
    assert run(path, *LEAST, "--out", tmp_path / "r") == 2
    err = capsys.readouterr().err
    assert "big.parquet has 4,000 rows, which take at least" in err
    assert "this machine has 300KB: give --memory 150KB, which compares on random rows of it" in err


def test_the_memory_of_this_machine_is_known():
    found = memory.machine_memory()
    assert found is None or found > 2**26


MEASURED = """
import resource, sys
from setwise.cli import main
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
small, big, out = sys.argv[1:]
words = ["--target", "y", "--base", "linear", "--strategies", "threshold", "--quick", "--memory", "100MB", "--out", out]
main(["compare", small, *words])
before = peak()
assert main(["compare", big, *words]) == 0
print("peak", peak() - before)
"""


@pytest.mark.slow
def test_memory_stays_below_the_budget(tmp_path):
    """100 MB of Parquet, 600 MB and more as a table, with 100 MB; the interpreter and compiled code are not counted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, d = np.random.default_rng(0), 40
    names = [f"x{j}" for j in range(d)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    for name, n in (("small", 2000), ("big", 1_000_000)):
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", schema, use_dictionary=False) as file:
            for _ in range(0, n, 20_000):
                X = rng.normal(size=(min(n, 20_000), d)).astype(np.float32)
                file.write_table(pa.table([*X.T.copy(), (X[:, 0] > 1).astype(np.int8)], schema=schema))
    given = [str(tmp_path / one) for one in ("small.parquet", "big.parquet", "r")]
    run = subprocess.run([sys.executable, "-c", MEASURED, *given], capture_output=True, text=True, check=True)
    assert int(run.stdout.split("peak ")[1]) < 100e6
