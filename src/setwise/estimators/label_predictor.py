"""What all estimators of sets of labels share: scores above 0 are predicted, and a loss of sets measures them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Values, as_count
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_SETS, LABEL_SPACES
from setwise.core.risk import Features
from setwise.estimators.large_labels import LABELS, mean_loss, named, warn_of_full_lists
from setwise.estimators.versioned import Versioned
from setwise.losses import as_loss
from setwise.spaces import LargeSpace, Space
from setwise.spaces.large_space import Scored
from setwise.spaces.spaces import members

_HIDDEN = ("_model", "_constant", "_radius", "_rows", "_alpha")
"""Results of a fit that are no public attributes."""


class LabelPredictor(Versioned, ABC):
    """``{y : f(x, y) > 0}`` for the scores f of inputs with labels (MLSP Eq. 2).

    Attributes
    ----------
    space_, loss_ : the space, and the loss that :meth:`score` measures
    widths_ : the numbers of features of inputs, in large spaces
    """

    space_: Space | LargeSpace
    loss_: Loss
    widths_: tuple[int, ...]

    @abstractmethod
    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p), where labels are listed."""

    @abstractmethod
    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        """The layout of inputs, without right labels, and their scores, where labels are not listed."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score f(x, y) of each row with each label, where labels are listed.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        scores : (n, p), the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, in large spaces, whose labels are not listed
        ValueError : for inputs that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        self._listed("decision_function", "Use top(X, k).")
        return self._listed_scores(X)

    def predict_matrix(self, X: Any) -> Bools:
        """Which labels are predicted for each row, where labels are listed: those with a score above 0.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        predicted : (n, p) bool, the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, in large spaces, whose labels are not listed
        ValueError, TypeError, OverflowError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        self._listed("predict_matrix", "Use predict(X).")
        return self._listed_scores(X) > 0.0

    def predict(self, X: Any, max_labels: int | None = None) -> list[list[Any]]:
        """The labels that are predicted for each input, all with scores above 0; a list may be empty.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        max_labels : the most labels of an input, those of largest scores, best first. None is no limit where labels are
            listed, in the order of the space, and 100 for large spaces, best first, with a warning where there are more

        Returns
        -------
        labels : a list of n lists of labels

        Raises
        ------
        ValueError : for inputs that do not fit the model, and for ``max_labels`` below 1
        TypeError : for features that are neither numbers nor text, and for ``max_labels`` that is no whole number
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        limit = None if max_labels is None else as_count(max_labels, "max_labels")
        if limit is not None:
            return named(self._best(X, limit, 0.0))
        if isinstance(self.space_, Space):
            return self.space_.decode(self.predict_matrix(X))
        found = self._best(X, LABELS + 1, 0.0)
        if any(len(row) > LABELS for row in found):
            warn_of_full_lists()
        return named([row[:LABELS] for row in found])

    def top(self, X: Any, k: int) -> list[list[Scored]]:
        """The k labels of largest scores of each input with these, best first, or all where there are fewer.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        k : how many labels, 1 or more

        Returns
        -------
        best : a list of n lists of pairs of a label and its score

        Raises
        ------
        ValueError : for inputs that do not fit the model, and for k below 1
        TypeError : for features that are neither numbers nor text, and for k that is no whole number
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._best(X, as_count(k, "k"), -np.inf)

    def score(self, X: Any, Y: Any) -> float:
        """``1 - mean loss`` of the predictions for the inputs X with right labels Y; the loss is ``loss_``.

        In large spaces all labels with scores above 0 count, listed by :meth:`predict` or not; where costs are others
        than 0 and 1, the best 100 of an input.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        Y : a list of n collections of labels, which may be empty; where labels are listed also an array (n, p) of 0 and
            1

        Returns
        -------
        score : one number, 1 where no input has a loss

        Raises
        ------
        ValueError : for labels that the space does not have, and inputs that do not fit Y or the model
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        if not isinstance(self.space_, Space):
            X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
            layout, _ = self.space_.bind(X, Y)
            return 1.0 - mean_loss(self.loss_, layout, self._bound_scores(X)[1])
        predictions = self.predict_matrix(X)
        truth = self.space_.encode(Y)
        if truth.shape != predictions.shape:
            raise ValueError(f"Y must hold a set of labels for each of {len(predictions)} rows; got {len(truth)}.")
        return 1.0 - float(self.loss_.values(Sets.rows(truth), predictions.ravel()).mean())

    def _best(self, X: Any, limit: int, threshold: float) -> list[list[Scored]]:
        """The labels with scores above ``threshold``, best first, and at most ``limit`` of them."""
        if not isinstance(self.space_, Space):
            return self.space_.best(*self._bound_scores(X), limit, threshold)
        scores, names = self._listed_scores(X), self.space_.names
        orders = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        rows = zip(scores, orders, strict=True)
        return [[(names[j], float(row[j])) for j in order if row[j] > threshold] for row, order in rows]

    def _bind(self, X: Any, constant: float) -> tuple[Batch, Features]:
        """The layout of inputs of a large space, without right labels, and the model of their scores."""
        assert isinstance(self.space_, LargeSpace)
        X = members(X, "X", "a list of inputs")
        layout, features = self.space_.bind(X, None, constant)
        widths = self.space_.widths(X)
        if widths != self.widths_:
            raise ValueError(f"X must have {self.widths_} features, as in fit; got {widths}.")
        return layout, features

    def _listed(self, what: str, way_out: str) -> None:
        """Refuse spaces whose labels are not listed."""
        check_is_fitted(self)
        if not isinstance(self.space_, Space):
            raise Refusal(
                f"{what} refuses {type(self.space_).__name__}, whose labels are not listed. {way_out}", LABEL_SPACES
            )

    def _loss_of_labels(self, loss: Any) -> Loss:
        """The parameter ``loss`` as a loss, which must be one of labels."""
        found = as_loss(loss)
        if found.reads != "labels":
            raise Refusal(
                f"{type(self).__name__} refuses {found!r}, which reads {found.reads}. Use a loss of labels.", LABEL_SETS
            )
        return found

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """A fit inside begins without the results of others; where it fails, the estimator is as it was."""
        before = dict(self.__dict__)
        for name in before:
            if (name.endswith("_") and not name.startswith("_")) or name in _HIDDEN:
                del self.__dict__[name]
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
