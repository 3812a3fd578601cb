"""Losses of counts over independent decisions: exact search over (fn, fp), and all max-marginals at once."""
