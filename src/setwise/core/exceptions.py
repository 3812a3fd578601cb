"""The exceptions for combinations that make no mathematical sense, and for promises that turn out to be false."""

from setwise.core.pages import Page


def reason_of(error: BaseException) -> str:
    """The message of an error in one line, without its full stop, or the name of its class."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


class Refusal(ValueError):  # noqa: N818  (the word of the field)
    """Raised where two objects do not fit each other; the message names both and what to use instead.

    Parameters
    ----------
    message : the sentences
    page : the page of the guide that explains the reason and the way out, whose name ends the message; None where a
        class of one's own refuses what no page explains

    Examples
    --------
    >>> from setwise.core import Refusal
    >>> from setwise.surrogates import LovaszHinge
    >>> try:
    ...     LovaszHinge("f1")
    ... except Refusal as refusal:
    ...     print(refusal.page.path)
    ...     print(refusal.sentence)
    guide/surrogates#which-loss-with-which-surrogate
    LovaszHinge refuses FBeta(beta=1.0, zero_division=1.0): the loss is not submodular. Use surrogate='margin'.
    """

    page: Page | None = None

    def __init__(self, message: str, page: Page | None = None) -> None:
        super().__init__(message if page is None else message + page.see)
        self.page = page

    @property
    def sentence(self) -> str:
        """The message without the name of the page, to be quoted in other messages."""
        return str(self) if self.page is None else str(self).removesuffix(self.page.see)


class BrokenPromise(ValueError):  # noqa: N818
    """Raised where a result contradicts a promise that a loss, a risk or a user made; the message names it.

    Examples
    --------
    A product of counts is not submodular, since the gain of a mistake grows as mistakes of the other kind gather:

    >>> from setwise.core import BrokenPromise, Sets
    >>> from setwise.losses import CountFunctionLoss, Trait
    >>> false = CountFunctionLoss(lambda fn, fp: fn * fp, promises=[Trait.INCREASING, Trait.SUBMODULAR])
    >>> try:
    ...     false.bind(Sets.single([1, 1, 0, 0]))
    ... except BrokenPromise as broken:
    ...     print(str(broken).split(":")[0])
    CountFunctionLoss(<lambda>, INCREASING, SUBMODULAR) breaks its promise
    """
