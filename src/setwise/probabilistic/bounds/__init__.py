"""Bounds of the sum over all labelings, each with the probabilities of single labels that belong to it."""
