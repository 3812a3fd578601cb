"""Characters that control a terminal are shown, and nothing else changes."""

from setwise.core.visible import visible


def test_what_controls_a_terminal_is_shown():
    assert visible("a\x1b[31mb\x07\x7f\x9b\u202ec") == r"a\x1b[31mb\x07\x7f\x9b\u202ec"
    assert visible("Lovász\tä\n日本") == "Lovász\tä\n日本"
    assert visible("\033[1mbold\033[0m\033[31m", own=True) == "\033[1mbold\033[0m" + r"\x1b[31m"
    assert visible("\033[1m") == r"\x1b[1m"
