"""The exceptions for combinations that make no mathematical sense."""


class Refusal(ValueError):  # noqa: N818  (the word of the field)
    """Two objects do not fit each other; the message names both and the way out."""


class BrokenPromise(ValueError):  # noqa: N818
    """What was computed contradicts a promise that a loss, a risk or a user made; the message names it."""
