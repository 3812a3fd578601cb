"""Rows of which labels are partly known, and numbers of positives of whole bags."""
