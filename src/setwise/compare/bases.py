"""The base models of a comparison: logistic regression, the reference, a random forest, and boosted trees."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, final

from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from setwise.compare.figures import listed
from setwise.compare.problem import Problem
from setwise.datasets.columns import Category
from setwise.estimators.selection.base_models import array_pipeline
from setwise.estimators.table_encoder import LARGEST, TableEncoder, tree_categories

GRID = (1e-2, 1e-1, 1.0, 10.0, 100.0)
"""The constants C from which logistic regression takes the one that is best for the measure."""

QUICK_GRID = (1e-2, 1.0, 100.0)

SPARSE = 0.3
"""Below this share of features that are not 0, a fit to 50,000 rows with words is several times faster if sparse."""


class Base(ABC):
    """A base model: a classifier with probabilities, over the table of a problem.

    Attributes
    ----------
    name : the short name in options
    title : the name in sentences
    form : the form in which :class:`setwise.estimators.TableEncoder` prepares a raw table for it
    """

    name: ClassVar[str]
    title: ClassVar[str]
    form: ClassVar[str] = "trees"

    def refuses(self, problem: Problem) -> str | None:
        """Why the model does not fit the table, in a sentence; None if it does."""
        return None

    def constants(self, grid: tuple[float, ...]) -> tuple[float | None, ...]:
        """The constants of the model to choose from; a model that has none is tried once, with None."""
        return (None,)

    @abstractmethod
    def build(self, problem: Problem, constant: float | None, seed: int) -> Any:
        """The classifier, not yet fitted; what it learns of the table it learns in ``fit``."""

    @abstractmethod
    def code(self, problem: Problem, constant: float | None, seed: int) -> tuple[str, tuple[str, ...]]:
        """The Python expression of :meth:`build`, and the import lines that it needs."""


@final
@dataclass(frozen=True)
class Linear(Base):
    """Logistic regression on standardized features, with its C from a grid; gaps become medians and words indicators.

    Sparse features are divided by their largest absolute value instead, so that they stay sparse.
    """

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "logistic regression"
    form: ClassVar[str] = "linear"

    def constants(self, grid: tuple[float, ...]) -> tuple[float | None, ...]:
        return grid

    def build(self, problem: Problem, constant: float | None, seed: int) -> Any:
        model = LogisticRegression(C=constant or 1.0, max_iter=1000)
        if problem.columns:
            return array_pipeline(TableEncoder(problem.columns, sparse_threshold=SPARSE), model)
        if issparse(problem.X):
            return array_pipeline(MaxAbsScaler(), model)
        if problem.has_gaps:
            return array_pipeline(StandardScaler(), SimpleImputer(strategy="median", add_indicator=True), model)
        return array_pipeline(StandardScaler(), model)

    def code(self, problem: Problem, constant: float | None, seed: int) -> tuple[str, tuple[str, ...]]:
        model = f"LogisticRegression(C={constant or 1.0:g}, max_iter=1000)"
        imports = ["from sklearn.linear_model import LogisticRegression", "from sklearn.pipeline import make_pipeline"]
        if problem.columns:
            encoder = f"TableEncoder(data.columns, sparse_threshold={SPARSE})"
            return f"make_pipeline({encoder}, {model})", (*imports, ENCODER)
        if issparse(problem.X):
            imports.append("from sklearn.preprocessing import MaxAbsScaler")
            return f"make_pipeline(MaxAbsScaler(), {model})", tuple(imports)
        imports.append("from sklearn.preprocessing import StandardScaler")
        if problem.has_gaps:
            imports.append("from sklearn.impute import SimpleImputer")
            fill = 'SimpleImputer(strategy="median", add_indicator=True)'
            return f"make_pipeline(StandardScaler(), {fill}, {model})", tuple(imports)
        return f"make_pipeline(StandardScaler(), {model})", tuple(imports)


ENCODER = "from setwise.estimators import TableEncoder"


@final
@dataclass(frozen=True)
class Forest(Base):
    """A random forest of 100 trees, whose probabilities are the mean of its trees."""

    name: ClassVar[str] = "forest"
    title: ClassVar[str] = "random forest"

    def build(self, problem: Problem, constant: float | None, seed: int) -> Any:
        model = RandomForestClassifier(random_state=seed)
        return array_pipeline(TableEncoder(problem.columns, "trees"), model) if problem.columns else model

    def code(self, problem: Problem, constant: float | None, seed: int) -> tuple[str, tuple[str, ...]]:
        model, line = (
            f"RandomForestClassifier(random_state={seed})",
            "from sklearn.ensemble import RandomForestClassifier",
        )
        if not problem.columns:
            return model, (line,)
        lines = (line, "from sklearn.pipeline import make_pipeline", ENCODER)
        return f'make_pipeline(TableEncoder(data.columns, "trees"), {model})', lines


@final
@dataclass(frozen=True)
class Boosted(Base):
    """Boosted trees, ``HistGradientBoostingClassifier`` of scikit-learn with its defaults."""

    name: ClassVar[str] = "boosted"
    title: ClassVar[str] = "boosted trees"

    def refuses(self, problem: Problem) -> str | None:
        return "boosted trees read no sparse table" if issparse(problem.X) else None

    def build(self, problem: Problem, constant: float | None, seed: int) -> Any:
        if not problem.columns:
            return HistGradientBoostingClassifier(random_state=seed)
        words = tree_categories(problem.columns)
        model = HistGradientBoostingClassifier(categorical_features=words or None, random_state=seed)
        return array_pipeline(TableEncoder(problem.columns, "trees"), model)

    def code(self, problem: Problem, constant: float | None, seed: int) -> tuple[str, tuple[str, ...]]:
        line = "from sklearn.ensemble import HistGradientBoostingClassifier"
        if not problem.columns:
            return f"HistGradientBoostingClassifier(random_state={seed})", (line,)
        words = tree_categories(problem.columns)
        given = f"categorical_features={words}, " if words else ""
        model = f"HistGradientBoostingClassifier({given}random_state={seed})"
        lines = (line, "from sklearn.pipeline import make_pipeline", ENCODER)
        return f'make_pipeline(TableEncoder(data.columns, "trees"), {model})', lines


BASES: dict[str, Base] = {base.name: base for base in (Linear(), Forest(), Boosted())}
"""The base models by their names; the first one is the reference."""


def shared_words(problem: Problem, bases: Iterable[Base]) -> list[str]:
    """Sentences on words that share a feature only because a column has more of them than a base model takes."""
    longest = max((len(column.words) for column in problem.columns if isinstance(column, Category)), default=0)
    titles: dict[str, list[str]] = {}
    for base in bases:
        titles.setdefault(base.form, []).append(base.title)
    notes = []
    for form, named in titles.items():
        # Below the limit no words can share a feature because of it, and gaps are one more word.
        if longest < LARGEST[form]:
            continue
        encoder = TableEncoder(problem.columns, form, sparse_threshold=SPARSE).fit(problem.X)
        notes += [
            f"Column {name!r} has more than {LARGEST[form]} words. For {listed(named)} {count} of them that occur in "
            "five rows or more share one feature with the rarer ones."
            for name, count in encoder.shared_.items()
        ]
    return notes
