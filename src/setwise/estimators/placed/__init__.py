"""Linear classifiers whose rows lie in several places: blocks of a file, or workers of a cluster."""
