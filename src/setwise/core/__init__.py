"""Words: the protocols that every part of setwise speaks, and the truth by brute force."""
