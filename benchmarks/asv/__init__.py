"""The folder that asv searches for ratios; it asks for this file."""
