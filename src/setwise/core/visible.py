"""Text from files, shown so that no terminal and no page takes a part of it for a command."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that control a terminal, tabs and ends of lines left out, or turn the direction of what follows."""


def visible(text: str) -> str:
    r"""The text with hidden characters as escapes, as ``\x1b``."""
    return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def in_line(text: str) -> str:
    r"""The text with hidden characters, tabs and ends of lines as escapes, as ``\x1b`` and ``\n``."""
    return visible(text).replace("\t", r"\t").replace("\n", r"\n")


@contextmanager
def visible_errors() -> Iterator[None]:
    """Show hidden characters of the messages of errors as escapes, as those of paths."""
    try:
        yield
    except (ValueError, OSError) as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (visible(error.args[0]),)
        raise
