# SPDX-License-Identifier: GPL-2.0-only
"""How many boots scripts/test/run has to do, how many are done, and how long the rest takes.

The seconds of each boot are kept in $OUT/test-seconds for the next run. A boot of which
nothing is known is assumed to take as long as an average one of this run.
"""
import json
import os
import time

from kerneltree import OUT
from progress import duration

PATH = os.path.join(OUT, "test-seconds")


class Plan:
    """The boots of a run, as (kernel, what)."""

    def __init__(self):
        self.todo, self.took = [], []
        self.begun = None
        try:
            with open(PATH) as f:
                self.known = json.load(f)
        except (OSError, ValueError):
            self.known = {}

    def begin(self, kernel, what):
        if (kernel, what) not in self.todo:
            self.todo.insert(0, (kernel, what))
        self.begun = (kernel, what), time.monotonic()

    def end(self, seconds):
        """The boot that has begun is over, or skipped if seconds is None."""
        (kernel, what), _ = self.begun
        self.todo.remove((kernel, what))
        self.begun = None
        self.took.append(seconds or 0)
        if seconds is None:
            return
        self.known[f"{kernel} {what}"] = round(seconds)
        with open(PATH + ".new", "w") as f:
            json.dump(self.known, f, indent=0)
        os.replace(PATH + ".new", PATH)

    def drop(self, kernel):
        """Nothing of this kernel will run any more."""
        self.todo = [job for job in self.todo if job[0] != kernel]

    def left(self):
        """The time that the rest takes, in words; empty if nothing is known."""
        average = sum(self.took) / len(self.took) if self.took else None
        rest = {job: self.known.get(" ".join(job), average) for job in self.todo}
        if None in rest.values() or not rest:
            return ""
        seconds = sum(rest.values())
        if self.begun:
            job, start = self.begun
            seconds -= min(time.monotonic() - start, rest[job])
        return f", about {duration(seconds)} of tests left"

    def state(self):
        """For the end of a line."""
        done, total = len(self.took), len(self.took) + len(self.todo)
        if total < 2:
            return ""
        if self.begun:
            return f"boot {done + 1} of {total}{self.left()}"
        return f" [{done} of {total}{self.left()}]"
