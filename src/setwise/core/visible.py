"""Text from files, shown so that no terminal and no page takes a part of it for a command."""

import re

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal, tabs and ends of lines left out, or turn the direction of what follows."""

OWN = ("\033[1m", "\033[0m")
"""What setwise itself writes to terminals: bold, and its end."""


def visible(text: str, own: bool = False) -> str:
    r"""The text with hidden characters as escapes, as ``\x1b``; with ``own`` bold stays bold."""
    if not own:
        return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)
    parts = re.split(f"({'|'.join(map(re.escape, OWN))})", text)
    return "".join(part if part in OWN else visible(part) for part in parts)
