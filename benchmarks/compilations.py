"""What Numba compiles in a process: seconds and types of each function."""

import time
from collections import defaultdict

from numba.core import event


class Compilations(event.Listener):
    """Seconds and types of each function compiled."""

    def __init__(self) -> None:
        self.begun: list[list[float]] = []
        """For each compilation under way, when it began and the seconds of those inside it."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.types: dict[str, list[tuple[str, ...]]] = defaultdict(list)

    def on_start(self, event: event.Event) -> None:
        """Begin a function, perhaps inside another one."""
        self.begun.append([time.process_time(), 0.0])

    def on_end(self, event: event.Event) -> None:
        """Count the seconds since ``on_start`` for this function, and as inside the one around it."""
        begin, inside = self.begun.pop()
        took = time.process_time() - begin
        if self.begun:
            self.begun[-1][1] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        self.seconds[name] += took - inside
        self.types[name].append(tuple(str(kind) for kind in event.data["args"]))
