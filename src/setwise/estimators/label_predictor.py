"""What all estimators of sets of labels share: scores above 0 are predicted, and a loss of sets measures them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from setwise.core.arrays import Bools
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.estimators.versioned import Versioned
from setwise.losses import as_loss
from setwise.spaces import Space


class LabelPredictor(Versioned, ABC):
    """``{y : f(x, y) > 0}`` for the scores f of :meth:`decision_function`.

    Attributes
    ----------
    space_, loss_ : the space, and the loss that :meth:`score` measures
    """

    space_: Space
    loss_: Loss

    @abstractmethod
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p)."""

    def predict_matrix(self, X: Any) -> Bools:
        """Which labels are predicted for each row, (n, p): those with a score above 0."""
        return self.decision_function(X) > 0.0

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels that are predicted for each row; a list may be empty."""
        predicted = self.predict_matrix(X)
        return self.space_.decode(predicted)

    def score(self, X: Any, Y: Any) -> float:
        """``1 - mean loss`` of the predictions for the rows of X; Y as in :meth:`fit`."""
        predictions = self.predict_matrix(X)
        truth = self.space_.encode(Y)
        if truth.shape != predictions.shape:
            raise ValueError(f"Y must hold a set of labels for each of {len(predictions)} rows; got {len(truth)}.")
        return 1.0 - float(self.loss_.values(Sets.rows(truth), predictions.ravel()).mean())

    def _loss_of_labels(self, loss: Any) -> Loss:
        """The parameter ``loss`` as a loss, which must be one of labels."""
        found = as_loss(loss)
        if found.reads != "labels":
            raise Refusal(f"{type(self).__name__} refuses {found!r}, which reads {found.reads}. Use a loss of labels.")
        return found

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """A fit that fails inside leaves the estimator as it was."""
        before = dict(self.__dict__)
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
