"""Prepare the columns of a raw table for a model: gaps, categories and scales, learned from the training rows."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from setwise.core.checks import LARGEST_COUNT, as_choice, as_count, as_kind, as_number, shown
from setwise.datasets.columns import Category, Column, Cost, Date, Word
from setwise.estimators.base import with_parameters

LARGEST_TREE = 254
"""The largest number of categories that ``HistGradientBoostingClassifier`` takes, less one for the unknown ones."""

LARGEST = {"linear": 500, "trees": LARGEST_TREE}
"""The usual number of places of one category; of linear models only memory and time limit it."""

MOST = {"linear": LARGEST_COUNT, "trees": LARGEST_TREE}
"""The largest number of these places that may be asked for."""

DRAWN = 200_000
"""``HistGradientBoostingClassifier`` finds the places of its splits on so many rows, which it draws."""


@with_parameters
class TableEncoder(TransformerMixin, BaseEstimator):
    r"""``X`` of :func:`setwise.datasets.load_table` as features for linear models, or for trees.

    For linear models a number is standardized by the training rows, a gap becomes their median, with an indicator of
    its own where training rows have gaps, and a category becomes one column of 0 and 1 for each of its words. Rare
    words share one column, a gap has its own, and an unseen word is 0 in all of them. For trees numbers stay as they
    are, gaps are NaN, and a category is one column of places; rare words share one, and an unseen word is NaN.

    A date is a number of days, with its hour and weekday besides: for linear models the hour is a point on a circle and
    each weekday a column of 0 and 1, for trees they are two numbers. What is the same in all training rows is left out.
    The words of a text are weighed by TF-IDF.

    Source: this library; the parts are those of scikit-learn.

    Parameters
    ----------
    columns : the d columns of X, from ``load_table(path).columns``
    form : ``"linear"`` or ``"trees"``
    min_frequency : a word that occurs in fewer than so many training rows is rare
    max_categories : the most columns or places of one category; the rarest of further words are rare. None takes 500
        for linear models, and 254 for trees, which take no more
    sparse_threshold : features for linear models are CSR if they hold words and the share of them that is not 0 in the
        training rows is below this number; 0 makes them dense always
    min_values : the number of training rows, of each 200,000 where they are more, that must hold a number; for trees it
        is 0 in all rows if they are fewer, so that no tree splits by it. ``HistGradientBoostingClassifier`` refuses a
        column without a value among the rows that it draws, and splits by none of fewer values than its
        ``min_samples_leaf``, 20

    Attributes
    ----------
    shared_ : for each column in which words share a place only because of ``max_categories`` the number of such words,
        by the name of the column
    empty_ : the places among the features for trees of the numbers that too few training rows hold
    encoder_ : the ``ColumnTransformer`` of scikit-learn that does the work; numbers come before categories

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows that do not fit the columns
    TypeError : by ``fit``, for columns that are no list of columns
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from pathlib import Path
    >>> from setwise.datasets import load_table
    >>> from setwise.estimators import TableEncoder
    >>> rows = ["age,city,ill", "30,Rome,0", ",Bonn,0", "50,Rome,1", "40,Bonn,1"]
    >>> written = Path("people.csv").write_text("\n".join(rows))
    >>> data = load_table("people.csv", target="ill")
    >>> encoder = TableEncoder(data.columns, min_frequency=1).fit(data.X)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'city = Bonn', 'city = Rome']
    >>> encoder.transform(data.X)[1].tolist()  # the age of the second row is a gap
    [0.0, 1.0, 1.0, 0.0]
    """

    columns: Sequence[Column] = ()
    form: str = "linear"
    min_frequency: int = 5
    max_categories: int | None = None
    sparse_threshold: float = 0.0
    min_values: int = 1

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn scales, medians and categories from rows.

        Parameters
        ----------
        X : (n, d), numbers and codes of words, NaN for gaps, as :func:`setwise.datasets.load_table` gives
        y : not read; (n,) or None

        Returns
        -------
        self : the fitted encoder

        Raises
        ------
        ValueError : for parameters out of range, and rows that do not fit the columns
        TypeError : for columns that are no list of columns
        """
        _as_columns(self.columns)
        most = MOST[as_choice(self.form, "form", MOST)]
        largest = LARGEST[self.form] if self.max_categories is None else self.max_categories
        largest = as_count(largest, "max_categories", high=most)
        density = as_number(self.sparse_threshold, "sparse_threshold", low=0.0, high=1.0)
        rare = as_count(self.min_frequency, "min_frequency")
        least = as_count(self.min_values, "min_values")
        X = self._checked(X, reset=True)
        encoder = _encoder(self.form, self.columns, density, X, min_frequency=rare, max_categories=largest)
        encoder.set_output(transform="default")
        # The mean of a column whose training rows are all gaps is NaN; the imputer makes it 0.
        with np.errstate(invalid="ignore"):
            self.encoder_ = encoder.fit(X)
        held = (~np.isnan(X[:, _split(self.columns)[0]])).sum(axis=0)
        few = held < least * max(1.0, len(X) / DRAWN)
        self.empty_ = np.flatnonzero(few if self.form == "trees" else np.zeros_like(few))
        self.shared_ = dict(_shared(self.encoder_, self.columns, X, rare))
        return self

    def transform(self, X: Any) -> Any:
        """The features of rows.

        Parameters
        ----------
        X : (n, d), as in ``fit``

        Returns
        -------
        features : (n, k) float64, dense or CSR; without NaN for linear models

        Raises
        ------
        ValueError : for rows that do not fit the columns
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        found = self.encoder_.transform(self._checked(X, reset=False))
        if issparse(found):
            return found.tocsr()
        found = np.array(found, dtype=np.float64)
        # Numbers come first among the features for trees.
        found[:, self.empty_] = 0.0
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the k features: ``age``, ``age is missing``, ``city = Rome``, ``city is rare``, ``day: hour``.

        Parameters
        ----------
        input_features : not read; names are those of ``columns``

        Returns
        -------
        names : (k,) texts

        Raises
        ------
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        held = [(part, places) for _, part, places in self.encoder_.transformers_ if part != "drop"]
        parts = [(part, [self.columns[i] for i in places]) for part, places in held]
        return np.array([name for part, columns in parts for name in _names(part, columns)], dtype=object)

    def _word_places(self) -> list[int]:
        """The places among the columns of X of codes of words, and of costs: no numbers for a linear model on top."""
        return [i for i, column in enumerate(_as_columns(self.columns)) if isinstance(column, Category | Cost)]

    def _checked(self, X: Any, reset: bool) -> NDArray[np.float64]:
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        if X.shape[1] != len(self.columns):
            raise ValueError(f"X must have a feature for each of the {len(self.columns)} columns; got {X.shape[1]}.")
        return np.asarray(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = True
        return tags


def tree_categories(columns: Sequence[Column]) -> list[int]:
    """The places of the categories among the features of ``TableEncoder(columns, "trees")``.

    This is what ``HistGradientBoostingClassifier(categorical_features=...)`` takes.

    Source: this library.

    Parameters
    ----------
    columns : the columns of X, from ``load_table(path).columns``

    Returns
    -------
    places : a list of the places; numbers come before categories

    Raises
    ------
    TypeError : for columns that are no list of columns

    Examples
    --------
    >>> from setwise.datasets.columns import Category, Number
    >>> from setwise.estimators import tree_categories
    >>> tree_categories([Category("city", ("Bonn", "Rome")), Number("age")])
    [1]
    """
    numbers, categories = _split(_as_columns(columns))
    return list(range(len(numbers), len(numbers) + len(categories)))


def _as_columns(columns: Any) -> Sequence[Column]:
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise TypeError(f"columns must be a list of columns, as load_table returns them; got {shown(columns)}.")
    for column in columns:
        as_kind(column, "columns", Column, "those of load_table(path)")
    return columns


def _split(columns: Sequence[Column]) -> tuple[list[int], list[int]]:
    """The places of what is a number by nature, and those of the categories; words of texts and costs are neither."""
    is_category = [isinstance(column, Category) for column in columns]
    numbers = [i for i, column in enumerate(columns) if not isinstance(column, Category | Word | Cost)]
    return numbers, [i for i, yes in enumerate(is_category) if yes]


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@with_parameters
class DateParts(TransformerMixin, BaseEstimator):
    """The hour and the weekday of dates that are days since 1970; what is the same in all training rows is left out.

    Parameters
    ----------
    form : ``"linear"`` or ``"trees"``, as for :class:`TableEncoder`

    Attributes
    ----------
    kept_ : (k,) the places of the features that are not left out, those of the first date first
    """

    form: str = "linear"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what differs among rows of dates, (n, d)."""
        known = [column[~np.isnan(column)] for column in self._parts(X).T]
        self.kept_ = np.flatnonzero([column.size > 0 and column.min() < column.max() for column in known])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The features of rows of dates; for linear models a gap is 0 in all of them."""
        parts = self._parts(X)[:, self.kept_]
        return np.nan_to_num(parts) if self.form == "linear" else parts

    def get_feature_names_out(self, input_features: Sequence[str]) -> NDArray[np.object_]:
        """The names of the features of dates with these names."""
        linear = ("hour (sin)", "hour (cos)", *(f"weekday = {day}" for day in DAYS))
        parts = linear if self.form == "linear" else ("hour", "weekday")
        names = np.array([f"{name}: {part}" for name in input_features for part in parts], dtype=object)
        return np.asarray(names[self.kept_])

    def _parts(self, X: Any) -> NDArray[np.float64]:
        """All features, (n, k), of which each date has the same number."""
        days = np.asarray(X, dtype=np.float64)
        # The first of January 1970 was a Thursday.
        hour, weekday = days % 1.0 * 24.0, (np.floor(days) + 3.0) % 7.0
        if self.form == "trees":
            return np.stack([hour, weekday], axis=2).reshape(len(days), -1)
        angle, each = (
            hour * np.pi / 12.0,
            np.where(np.isnan(weekday)[..., None], np.nan, weekday[..., None] == range(7)),
        )
        return np.concatenate([np.stack([np.sin(angle), np.cos(angle)], axis=2), each], axis=2).reshape(len(days), -1)


class WordWeights(TfidfTransformer, auto_wrap_output_keys=("transform",)):  # type: ignore[call-arg]
    """TF-IDF of the words of a text, with the method ``set_output`` that a ``ColumnTransformer`` asks of its parts."""


def _encoder(
    form: str, columns: Sequence[Column], density: float, X: NDArray[np.float64], **words: int
) -> ColumnTransformer:
    """The encoder of a form, not fitted; ``words`` say which of them are rare, and how many places there are."""
    if form == "linear":
        # The scale comes first, so that the indicators of gaps stay 0 and 1. A column without a value becomes 0.
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        of_numbers: Any = Pipeline([("scale", StandardScaler()), ("fill", fill)])
        of_words = OneHotEncoder(handle_unknown="ignore", sparse_output=density > 0, dtype=np.float64, **words)
    else:
        of_numbers, density = "passthrough", 0.0
        of_words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, **words)
    numbers, categories = _split(columns)
    dates = [place for place, column in enumerate(columns) if isinstance(column, Date)]
    # A part of no features would end the work of scikit-learn.
    dates = dates if dates and DateParts(form).fit(X[:, dates]).kept_.size else []
    # Places of categories are known without the rows, so that what depends on them comes last.
    steps = [("numbers", of_numbers, numbers), ("categories", of_words, categories), ("dates", DateParts(form), dates)]
    for text in dict.fromkeys(column.text for column in columns if isinstance(column, Word)):
        words_of = [i for i, column in enumerate(columns) if isinstance(column, Word) and column.text == text]
        steps.append((f"words of {text}".replace("__", "_"), WordWeights(), words_of))
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=density)


def _shared(
    encoder: ColumnTransformer, columns: Sequence[Column], X: NDArray[np.float64], rare: int
) -> Iterator[tuple[str, int]]:
    """The columns in which words are called rare that are not, each with the number of such words."""
    if "categories" not in encoder.named_transformers_:
        return
    codes_of = encoder.named_transformers_["categories"].infrequent_categories_
    for place, codes in zip(_split(columns)[1], codes_of, strict=True):
        # The common case, that no word is rare, costs nothing.
        if codes is None:
            continue
        found, count = np.unique(X[:, place], return_counts=True)
        too_many = int(np.sum(count[np.isin(found, codes)] >= rare))
        if too_many:
            yield columns[place].name, too_many


def _names(part: Any, columns: Sequence[Column]) -> Iterator[str]:
    """The names of the features that a fitted part of the encoder makes of its columns."""
    if isinstance(part, OneHotEncoder):
        for column, codes, rare in zip(columns, part.categories_, part.infrequent_categories_, strict=True):
            assert isinstance(column, Category)
            yield from (_word_name(column, code) for code in codes if not _holds(rare, code))
            if rare is not None:
                yield f"{column.name} is rare"
        return
    if isinstance(part, DateParts):
        yield from part.get_feature_names_out([column.name for column in columns])
        return
    yield from (column.name for column in columns)
    if isinstance(part, Pipeline) and part["fill"].indicator_.features_.size:
        yield from (f"{columns[place].name} is missing" for place in part["fill"].indicator_.features_)


def _word_name(column: Category, code: float) -> str:
    if np.isnan(code):
        return f"{column.name} is missing"
    # A word that came after the words of the column were listed has the place behind the last one.
    place = int(code)
    return f"{column.name} = {column.words[place]}" if place < len(column.words) else f"{column.name} is unknown"


def _holds(codes: NDArray[np.float64] | None, code: float) -> bool:
    return codes is not None and bool(
        np.isin(code, codes, assume_unique=True) or (np.isnan(code) and np.isnan(codes).any())
    )
