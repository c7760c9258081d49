# SPDX-License-Identifier: GPL-2.0-only
"""The numbers that scripts/measure/bench, coverage and sweep have measured, in files.

A file has a comment that says what was measured, a line with the names of the columns, and
one line for each row, with tabs between. "-" stands for a number that there is not.

Each run leaves its numbers in $OUT/results. RECORD=1 puts them into scripts/measure/results
instead, from which scripts/measure/pictures draws, or into a folder there that has the name of
the base.
"""
import os

from kerneltree import BASE, DEFAULT, OUT, TOP, base_version

RECORD = os.environ.get("RECORD", "") not in ("", "0")
RECORDED = os.path.join(TOP, "scripts/measure/results", *([BASE] if BASE != DEFAULT else []))


def save(name, what, columns, rows):
    """Save {row: values} as NAME.tsv; returns the path."""
    folder = RECORDED if RECORD else os.path.join(OUT, "results")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".tsv")
    with open(path, "w") as f:
        f.write(f"# {what}, Linux {base_version(os.path.join(OUT, 'base'))}\n")
        f.write("\t".join(["row", *columns]) + "\n")
        for row, values in rows.items():
            f.write("\t".join([row, *("-" if v is None else str(v) for v in values)]) + "\n")
    return path


class Recorded:
    """A file that save() has written: rows[row][column] is a string."""

    def __init__(self, name):
        with open(os.path.join(RECORDED, name + ".tsv")) as f:
            self.what = f.readline().removeprefix("# ").strip()
            self.columns = f.readline().rstrip("\n").split("\t")[1:]
            lines = [l.rstrip("\n").split("\t") for l in f]
        self.rows = {l[0]: dict(zip(self.columns, l[1:])) for l in lines}
        self.base, self.ours = self.columns[-2:]

    def __contains__(self, row):
        return row in self.rows

    def both(self, row):
        """(base, ours) of a row as numbers; None for one that there is not."""
        values = [self.rows[row][c] for c in (self.base, self.ours)]
        return [None if v == "-" else float(v) for v in values]
