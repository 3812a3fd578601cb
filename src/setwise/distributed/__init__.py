"""Linear classifiers and decisions where rows lie in several places: blocks of a file, or workers of a cluster."""

from typing import TYPE_CHECKING

from setwise.core.attributes import lazily

if TYPE_CHECKING:
    from setwise.distributed.file_classifier import FileClassifier as FileClassifier

_NAMES = {
    "file_classifier": ["FileClassifier"],
}

__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
