"""Dual decomposition: the two sides that have to agree, the descents on their bound, and the branching on labels."""
