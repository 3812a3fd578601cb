"""Promises that users make about their own losses."""

from collections.abc import Iterable

from setwise.core.terms import CURVATURES, SHAPES, Trait


def as_promises(promises: object, allowed: frozenset[Trait]) -> frozenset[Trait]:
    """The traits in ``promises``, all of which must be ``allowed``, with those that follow from them."""
    # A single trait is taken for a list of one.
    if isinstance(promises, Trait):
        promises = (promises,)
    if isinstance(promises, str) or not isinstance(promises, Iterable):
        raise TypeError(f"promises must be traits, as [Trait.INCREASING]; got {promises!r}.")
    found = list(promises)
    for trait in found:
        if not isinstance(trait, Trait) or trait not in allowed:
            names = ", ".join(t.name for t in Trait if t in allowed)
            raise ValueError(f"promises must be among the traits {names}; got {trait!r}.")
    kept = frozenset(found)
    # A function is modular exactly if it is submodular and supermodular.
    if {Trait.SUBMODULAR, Trait.SUPERMODULAR} <= kept:
        kept |= {Trait.MODULAR}
    return kept | CURVATURES if Trait.MODULAR in kept else kept


def broken_promise(loss: object, broken: frozenset[Trait]) -> str:
    """The sentence that says which promises do not hold."""
    words = " and ".join(trait.name.lower() for trait in SHAPES if trait in broken)
    return f"{loss!r} breaks its promise: on these sets it is not {words}. Leave that promise out."
