"""How often tests repeat what they try at random: ``SETWISE_LONG=1`` makes them as thorough as is promised."""

import os


def rounds(long: int, short: int) -> int:
    """The number of repetitions."""
    return long if os.environ.get("SETWISE_LONG") == "1" else short
