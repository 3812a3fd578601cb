"""Where the time of a run goes: ``SETWISE_CLOCK=1`` prints processor seconds at its end.

Of the tests by folder and by file, of fixtures, and of what Numba compiles, by kernel. Processes that a test starts
count as the test's; what they compile is not told apart.
"""

import os
from collections import Counter

import pytest
from numba.core import event

from benchmarks.compilations import Compilations

LONGEST = 15
"""How many files, fixtures and kernels are printed."""


def spent():
    """Processor seconds of this process and of those that it has started and seen end."""
    return sum(os.times()[:4])


class Clock:
    """A plugin of pytest; with xdist the tests are timed in their processes, and added up in the first."""

    def __init__(self):
        self.compiled = Compilations()
        event.register("numba:compile", self.compiled)
        self.set_up = Counter()
        self.folders, self.files, self.fixtures, self.kernels, self.types = (Counter() for _ in range(5))
        self.tests = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self):
        self.start = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        start = spent()
        made = yield
        self.set_up[fixturedef.argname] += spent() - start
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "teardown":
            seconds, types = self.compiled.seconds, self.compiled.types
            counts = {name: len(kinds) for name, kinds in types.items()}
            item.user_properties.append(("clock", (spent() - self.start, dict(self.set_up), dict(seconds), counts)))
            for held in (self.set_up, seconds, types):
                held.clear()

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            seconds, fixtures, kernels, types = dict(report.user_properties)["clock"]
            file = report.nodeid.partition("::")[0]
            folder = "/".join(file.split("/")[:2])
            self.folders[folder] += seconds
            self.files[file] += seconds
            self.tests.update({folder, file})
            for held, more in ((self.fixtures, fixtures), (self.kernels, kernels), (self.types, types)):
                held.update(more)

    def pytest_terminal_summary(self, terminalreporter):
        def rows(seconds, numbers, what, most=None):
            terminalreporter.section(what)
            for name, took in seconds.most_common(most):
                terminalreporter.write_line(f"{took:8.1f} s {numbers[name] if numbers else '':>6} {name}")

        rows(self.folders, self.tests, "seconds and tests by folder")
        rows(self.files, self.tests, "by file", LONGEST)
        rows(self.fixtures, None, "to make fixtures", LONGEST)
        rows(self.kernels, self.types, "to compile kernels, and for how many types, in all processes", LONGEST)
        compiled = f"compiling {self.kernels.total():.1f} s, {len(self.kernels)} kernels, {self.types.total()} types"
        terminalreporter.write_line(f"{self.folders.total():8.1f} s in all, of them {compiled}")
