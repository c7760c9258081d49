# SPDX-License-Identifier: GPL-2.0-only
"""Says what a long job of a Python script is doing; scripts/lib.sh does so for the shell.

On a terminal that is one line, which changes each second. Elsewhere lines are few: one after
10 s, and then one when at least 20 s and a tenth of the work, or 2 minutes, have passed.
"""
import os
import shutil
import subprocess
import sys
import time

LIVE = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def duration(seconds):
    """For humans."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def clear():
    """Make room for a line that stays."""
    if LIVE:
        print("\r\033[K", end="", flush=True)


class Progress:
    """One job: its name, and what has been said of it."""

    def __init__(self, text):
        self.text = text
        self.start = time.monotonic()
        self.said = 0
        self.next = 10
        self.tenth = 0

    def show(self, made=None, total=0, unit="", more=""):
        """Say how much is done of how much (0 if not known), and more."""
        now = time.monotonic() - self.start
        made = min(made, total) if made is not None and total else made
        line = ""
        if made is not None:
            line = f"{made}{f' of {total}' if total else ''} {unit}, "
        line = f"{self.text}: {line}{duration(now)}"
        if more:
            line += ", " + more
        tenth = 10 * made // total if total and made is not None else 0
        if LIVE:
            columns = shutil.get_terminal_size().columns
            print("\r\033[K" + line[:columns - 1], end="", flush=True)
        elif now >= self.next and (not self.said or tenth > self.tenth or now >= self.said + 120):
            print(line, flush=True)
            self.said, self.next, self.tenth = now, now + 20, tenth


def watched(cmd, progress, look, **kw):
    """Run a command; each second, show what look() returns. Returns the exit status.

    look() returns the arguments of Progress.show().
    """
    with subprocess.Popen(cmd, **kw) as p:
        while True:
            try:
                p.wait(1)
                break
            except subprocess.TimeoutExpired:
                progress.show(*look())
    clear()
    return p.returncode
