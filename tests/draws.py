"""The draw of ``@pytest.mark.draw(n)``: about one in n cases of a test runs always, and all others are long."""

import random


def left_out(items):
    """The cases that are not drawn, the same in every run; of several parameters each value is in one that is drawn."""
    tests = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for cases in tests.values() for item in _not_drawn(cases)]


def _not_drawn(cases):
    # What is slow or long by itself is not drawn in place of what is not.
    quick = [case for case in cases if not (case.get_closest_marker("slow") or case.get_closest_marker("long"))]
    cases = quick or cases
    share = cases[0].get_closest_marker("draw").args[0]
    # The indices of pytest are others for each case where a fixture has parameters too.
    places = [{name: id(value) for name, value in case.callspec.params.items()} for case in cases]
    # Parameters that are given together are one.
    columns = {tuple(place[name] for place in places): name for name in places[0]}
    names = columns.values() if len(columns) > 1 else ()
    values = [{(name, place[name]) for name in names} for place in places]
    left = random.Random(0).sample(range(len(cases)), len(cases))
    unseen, more = set().union(*values), -(-len(cases) // share)
    while unseen or more > 0:
        taken = max(left, key=lambda i: len(values[i] & unseen))
        left.remove(taken)
        unseen -= values[taken]
        more -= 1
    return [cases[i] for i in sorted(left)]
