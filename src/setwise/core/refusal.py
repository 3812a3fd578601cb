"""The exceptions for combinations that make no mathematical sense, and for promises that turn out to be false."""


class Refusal(ValueError):  # noqa: N818  (the word of the field)
    """Raised where two objects do not fit each other; the message names both and what to use instead."""


class BrokenPromise(ValueError):  # noqa: N818
    """Raised where a result contradicts a promise that a loss, a risk or a user made; the message names it."""
