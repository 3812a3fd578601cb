"""The names that a parameter of an estimator may have, for the checks of scikit-learn."""

from typing import final

from sklearn.utils._param_validation import StrOptions

from setwise.losses.names import SYNONYMS


@final
class Names(StrOptions):
    """The names, which a refusal lists in the order of the alphabet; of losses it says what others are called."""

    options: set[str]

    def __init__(self, options: set[str]) -> None:
        super().__init__(options)

    def __str__(self) -> str:
        others = [f"{word!r} is called {name!r}" for word, name in SYNONYMS.items() if name in self.options]
        listed = f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"
        return f"{listed} ({' and '.join(others)} here)" if others else listed
