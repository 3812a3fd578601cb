"""Characters that control a terminal are shown, and nothing else changes."""

from setwise.core.files import in_line, visible


def test_what_controls_a_terminal_is_shown():
    assert visible("a\x1b[31mb\x07\x7f\x9b\u202ec\u2028") == r"a\x1b[31mb\x07\x7f\x9b\u202ec\u2028"
    assert visible("Lovász\tä\n日本") == "Lovász\tä\n日本"
    assert in_line("Lovász\tä\r\n日本\x1b[1m") == r"Lovász\tä\r\n日本\x1b[1m"
