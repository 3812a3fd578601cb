"""Where the time of a run goes: ``SETWISE_CLOCK=1`` prints processor seconds at its end.

Of the tests by folder and by file, of fixtures, and of what Numba compiles, by kernel. Processes that a test starts
count as the test's; what they compile is not told apart.
"""

import os
import time
from collections import Counter

import numba.core.event
import pytest

LONGEST = 15
"""How many files, fixtures and kernels are printed."""


def spent():
    """Processor seconds of this process and of those that it has started and seen end."""
    return sum(os.times()[:4])


class Compiler(numba.core.event.Listener):
    """Processor seconds of compiling by kernel, without the kernels that it calls, and how many types it had."""

    def __init__(self):
        self.open, self.seconds, self.types = [], Counter(), Counter()

    def on_start(self, event):
        self.open.append([time.thread_time(), 0.0])

    def on_end(self, event):
        start, inner = self.open.pop()
        took = time.thread_time() - start
        if self.open:
            self.open[-1][1] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__.removeprefix('setwise.')}.{function.__qualname__}"
        self.seconds[name] += took - inner
        self.types[name] += 1

    def taken(self):
        """What was counted since the last call."""
        taken = dict(self.seconds), dict(self.types)
        self.seconds.clear()
        self.types.clear()
        return taken


class Clock:
    """A plugin of pytest; with xdist the tests are timed in their processes, and added up in the first."""

    def __init__(self):
        self.compiler = Compiler()
        numba.core.event.register("numba:compile", self.compiler)
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
            item.user_properties.append(("clock", (spent() - self.start, dict(self.set_up), *self.compiler.taken())))
            self.set_up.clear()

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
