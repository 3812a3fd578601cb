"""Ctrl-C that comes out of compiled code as another error."""

import pytest

from setwise.core.learner import plain_interrupts


def test_an_interrupt_that_caused_a_system_error_is_an_interrupt():
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise error
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise KeyboardInterrupt


def test_other_errors_stay_what_they_are():
    for error in (SystemError("x"), ValueError("y")):
        with pytest.raises(type(error)), plain_interrupts():
            raise error
