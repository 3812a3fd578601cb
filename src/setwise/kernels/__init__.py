"""Numbers: arrays in, arrays out. Compiled by Numba on first use, cached on disk afterwards."""
