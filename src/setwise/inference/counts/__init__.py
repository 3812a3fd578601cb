"""Losses of counts over independent decisions: exact search over (fn, fp), and all max-marginals at once."""

from setwise.inference.counts.max_marginals import batch_max_marginals, max_marginals
from setwise.inference.counts.search import CountSearch

__all__ = ["CountSearch", "batch_max_marginals", "max_marginals"]
