"""What computes runs hands out each run once, however late it says that it is free."""

from collections import deque

from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.lab import Lab


class Late:
    """Tells of a run at one time, and that it can take the next at another, as a worker process may."""

    size = 1

    def __init__(self):
        self.busy, self.begun, self.asked = False, deque(), 0

    @property
    def free(self):
        self.asked += 1
        assert self.asked < 100, "asked for ever"
        return 0 if self.busy else 1

    def start(self, batch):
        assert not self.busy
        self.busy = True
        self.begun += batch.numbers

    def finished(self, timeout_s):
        if self.begun:
            return [Ran(self.begun.popleft())]
        self.busy = False
        return []

    def stop(self):
        self.begun.clear()


def test_an_executor_that_is_free_only_later_is_asked_again():
    cases = [Case({"n": n}, {}) for n in range(3)]
    with Lab(executor=Late) as lab:
        assert [ran.number for some in lab.each(cases) for ran in some] == [0, 1, 2]
