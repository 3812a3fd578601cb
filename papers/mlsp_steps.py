"""MLSP 3.3: the steps of training until a certified gap epsilon, beside the O(1/epsilon) of the paper.

The protocol was fixed before the first result; only seconds of training were looked at before.

*Data.* The traits of scikit-learn's digits, six labels that share nothing and 600 rows; and generated rows with a tree
of 15 nodes, in which a leaf is on where a noisy linear score of 20 features is large, with its ancestors, 400 rows with
seed 0. Features are scaled as in ``mlsp_table1a``. C is 2^6 and 2^11. When quick, 150 rows, C = 2^6, and a gap of 1e-3
at the end.

*Learners.* ``OneSlack``, one plane for all rows in each step; ``NSlack``, one plane for each row in each step, which is
a working set for each row as in the paper, filled for all rows at once; ``BlockFrankWolfe``, where a step is a pass
that makes as many planes as there are rows, seed 0. So a step costs about one evaluation of the hinge of all rows, but
for the master problem of n-slack. All minimize the hinge with costs of 1.

*Measures.* The number of steps until ``(upper - lower) / upper`` is at most 1e-1, ..., 1e-5, within 3,000 steps. The
exponent is ``log(steps at 1e-5 / steps at 1e-1) / log(1e4)``: the steps of O(1/epsilon) have an exponent of at most 1
in the limit, and those of a linear rate, O(log(1/epsilon)), one near 0. The paper gives no figure.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from papers.experiment import Advance, Experiment, Outcome, Settings, Table
from papers.lh_figure6 import iterations_to
from papers.mlsp_methods import LabelRows, scaled
from setwise.compare.problem import digit_traits
from setwise.core.checks import Values
from setwise.core.learner import Learner
from setwise.estimators.multilabel_structured_predictor import MultilabelStructuredPredictor
from setwise.learners import BlockFrankWolfe, NSlack, OneSlack
from setwise.spaces import FiniteSpace, Hierarchy, Space

TARGETS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
CS = (2.0**6, 2.0**11)
MOST = 3000

History = Mapping[str, Values]
LEARNERS: dict[str, Callable[[float, float], Learner]] = {
    "one-slack": lambda C, tol: OneSlack(C, tol, MOST),
    "n-slack": lambda C, tol: NSlack(C, tol, MOST),
    "block Frank-Wolfe": lambda C, tol: BlockFrankWolfe(C, tol, MOST, random_state=0),
}


def generated(n: int, seed: int) -> tuple[Hierarchy, LabelRows]:
    """Rows with closed sets of the nodes of a binary tree of 15 nodes."""
    rng = np.random.default_rng(seed)
    tree = Hierarchy({str(node): str((node - 1) // 2) if node else [] for node in range(15)})
    X, W = rng.standard_normal((n, 20)), rng.standard_normal((20, 15))
    on = X @ W / np.sqrt(20.0) + 0.2 * rng.standard_normal((n, 15)) > 1.0
    on[:, :7] = False
    return tree, LabelRows(X, tree.closed(on))


def tasks(settings: Settings) -> dict[str, tuple[Space, LabelRows]]:
    """The spaces and scaled rows by name."""
    n, m = (150, 150) if settings.quick else (600, 400)
    digits = digit_traits()
    part = LabelRows(np.asarray(digits.X[:n], dtype=np.float64), np.asarray(digits.y[:n], dtype=bool))
    tree, made = generated(m, settings.seed)
    return {
        "traits of digits": (FiniteSpace(list(digits.classes)), scaled(part)[0]),
        "generated tree": (tree, scaled(made)[0]),
    }


def history(learner: Learner, space: Space, part: LabelRows, tol: float) -> History:
    """The bounds after each step of one fit."""
    model = MultilabelStructuredPredictor(space, surrogate="hinge", learner=learner, C=learner.C, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that say little, and of gaps that stay open
        return dict(model.fit(part.X, part.Y).history_)


def run(settings: Settings, advance: Advance) -> Outcome:
    """All learners on both data sets, for each C."""
    targets, cs = (TARGETS[:3], CS[:1]) if settings.quick else (TARGETS, CS)
    tables, words, figures = [], [], {}
    for name, (space, part) in tasks(settings).items():
        histories = {}
        for C in cs:
            for learner, make in LEARNERS.items():
                histories[f"{learner}, C = {C:g}"] = history(make(C, targets[-1]), space, part, targets[-1])
                advance(f"{name}: {learner}, C = {C:g}")
        counts = np.array([[iterations_to(dict(h), target) for target in targets] for h in histories.values()])
        exponents = np.log(counts[:, -1] / counts[:, 0]) / np.log(targets[0] / targets[-1])
        best = np.zeros(counts.shape, dtype=bool)
        columns = tuple(f"{target:g}" for target in targets)
        title = f"{name}: steps until the certified relative gap epsilon"
        tables.append(Table(title, tuple(histories), columns, counts, None, None, None, best, 0))
        title = f"{name}: exponent of the steps over 1 / epsilon, from {targets[0]:g} to {targets[-1]:g}"
        tables.append(
            Table(title, tuple(histories), ("exponent",), exponents[:, None], None, None, None, best[:, :1], 2)
        )
        words.append(words_on(name, tuple(histories), exponents))
        figures[name.split()[-1]] = partial(picture, name, histories, targets)
    return Outcome(tuple(tables), tuple(words), figures)


def words_on(name: str, names: tuple[str, ...], exponents: Values) -> str:
    """Whether all exponents are at most 1."""
    above = [f"{n} {e:.2f}" for n, e in zip(names, exponents, strict=True) if e > 1.0]
    never = [n for n, e in zip(names, exponents, strict=True) if np.isnan(e)]
    if never:
        return f"{name}: {' and '.join(never)} did not reach the last gap within {MOST:,} steps."
    if above:
        return f"{name}: the steps grow faster than 1 / epsilon for {', '.join(above)}."
    worst = names[int(np.argmax(exponents))]
    return (
        f"{name}: all steps grow slower than 1 / epsilon; the largest exponent is {exponents.max():.2f}, that of "
        f"{worst}."
    )


def picture(name: str, histories: Mapping[str, History], targets: tuple[float, ...]) -> object:
    """Steps against epsilon on logarithmic axes, with the line of 1 / epsilon through the most steps at the first."""
    from matplotlib.figure import Figure

    from setwise.plotting.axes import tidy
    from setwise.plotting.colors import CYCLE, DASHES, GRAY

    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    epsilons = np.logspace(np.log10(targets[0]), np.log10(targets[-1]), 200)
    steps = {label: np.array([iterations_to(dict(h), e) for e in epsilons]) for label, h in histories.items()}
    for i, (label, counts) in enumerate(steps.items()):
        color, dash = CYCLE[i % len(LEARNERS)], DASHES[i // len(LEARNERS)]
        axes.plot(epsilons, counts, color=color, linestyle=dash, linewidth=1.8, label=label)
    first = max(counts[0] for counts in steps.values())
    axes.plot(epsilons, first * epsilons[0] / epsilons, color=GRAY, linewidth=1.2, linestyle=":", label="O(1/epsilon)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    axes.set_ylim(top=10.0 * np.nanmax(list(steps.values())))
    tidy(axes, "certified relative gap epsilon", "steps", name)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    return figure


def steps(settings: Settings) -> int:
    """The number of calls of ``advance``."""
    return 2 * len(LEARNERS) * (1 if settings.quick else len(CS))


EXPERIMENT = Experiment("mlsp_steps", "MLSP 3.3, steps of training against the certified gap", steps, run)
