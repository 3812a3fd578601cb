"""Where the time of a run goes: ``SETWISE_CLOCK=1`` prints the processor seconds of the tests by folder at its end."""

import os
from collections import Counter

import pytest


def spent():
    """Processor seconds of this process and of those that it has started and seen end."""
    return sum(os.times()[:4])


class Clock:
    """A plugin of pytest; with xdist the tests are timed in their processes, and added up in the first."""

    def __init__(self):
        self.seconds, self.tests = Counter(), Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self):
        self.start = spent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "teardown":
            item.user_properties.append(("processor", spent() - self.start))

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            folder = "/".join(report.nodeid.partition("::")[0].split("/")[:2])
            self.seconds[folder] += dict(report.user_properties)["processor"]
            self.tests[folder] += 1

    def pytest_terminal_summary(self, terminalreporter):
        for folder, seconds in self.seconds.most_common():
            terminalreporter.write_line(f"{seconds:8.1f} s {self.tests[folder]:6} tests {folder}")
        terminalreporter.write_line(f"{self.seconds.total():8.1f} s {self.tests.total():6} tests")
