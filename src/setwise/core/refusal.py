"""The one exception for combinations that make no mathematical sense."""


class Refusal(ValueError):  # noqa: N818  (the word of the field)
    """Two objects do not fit each other; the message names both and the way out."""
