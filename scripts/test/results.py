#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Parses the console of a guest for the results of its tests.

As a program: results.py CONSOLE - judge a userland run (lines "ok NAME") and print
its problems, one line each; exit status 1 if there is one.
"""
import inspect
import io
import os
import re
import sys

# Reports of a kernel in trouble. Result lines of tests are exempt, so that the name of
# a test may contain such a word.
SPLAT = re.compile(
    r"WARNING:|BUG:|\bOops\b|cut here|[Uu]nexpected|Kernel panic|KASAN:|KCSAN:|"
    r"UBSAN:|DEBUG_LOCKS_WARN_ON|general protection|Internal error:|"
    r"Unable to handle kernel|invalid opcode|SRR0 was: .* should be: |INFO: task .* blocked|"
    r"rcu.*(?:stall|starved)|refcount_t:|unchecked MSR|suspicious RCU|"
    r"lock(?:ing|dep).*(?:detected|turned off)|possible .* deadlock")
RESULT = re.compile(r"^(?P<indent> *)(?P<ok>ok|not ok) (?:(?P<nr>\d+) )?(?:- )?(?P<name>.*?)"
                    r"(?P<skip> # SKIP.*)?$")
# A test that provokes a warning on purpose announces it with a line
# "expect splat: TEXT"; the next splat whose lines contain TEXT is then ignored. With "allow"
# instead of "expect", every such splat is, and there need not be one.
EXPECT = re.compile(r"(expect|allow) splat: (.+)$")


class Console:
    """The saved console of one guest."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
        # A console that another context takes over prints the message again, as a whole.
        text = re.sub(r"(?m)^.*\n\*\* replaying previous printk message \*\*\r?\n", "", text)
        self.lines = [l.rstrip("\r") for l in text.split("\n")]

    def ended_orderly(self):
        return any("reboot: Power down" in l for l in self.lines)

    def cpus(self):
        for l in self.lines:
            m = re.search(r"Brought up \d+ nodes?, (\d+) CPUs?", l)
            if m:
                return int(m.group(1))
        return 1

    def splats(self):
        """One line for each splat that was not announced, or was but is missing."""
        bad, expected, allowed = [], [], []
        last = -100
        for i, l in enumerate(self.lines):
            m = EXPECT.search(l)
            if m:
                (expected if m.group(1) == "expect" else allowed).append(m.group(2).strip())
                continue
            if RESULT.match(l) or l.lstrip().startswith("#") or not SPLAT.search(l):
                continue
            # A parameter of the kernel may name what is looked for.
            if re.search("[Cc]ommand line: |RCU CPU stall warnings timeout set to", l):
                continue
            # The TEXT may be in any of the first lines of a report.
            near = " ".join(self.lines[i:i + 4])
            hit = next((e for e in expected if e in near), None)
            if hit:
                expected.remove(hit)
            if hit or any(a in near for a in allowed):
                last = i
            elif i - last > 3:
                what = l.strip()
                if "cut here" in what and i + 1 < len(self.lines):
                    what = self.lines[i + 1].strip()
                bad.append("kernel complained: " + what[:150])
                last = i
        return bad + [f"announced splat is missing: {e}" for e in expected]

    def guest_results(self):
        """[(name, 'passed' | 'failed' | 'skipped')] of a userland run."""
        out = []
        for l in self.lines:
            m = RESULT.match(l)
            if m and not m.group("indent"):
                out.append((m.group("name"), outcome(m)))
        return out

    def marks(self, what):
        """Names of the scripts that began, or ended.

        Such lines are printed twice, as a kernel message may interrupt one of them.
        """
        found = (re.fullmatch(rf"guest: {what} ([\w./-]+)", l) for l in self.lines)
        return {m.group(1) for m in found if m}

    def guest_problems(self):
        """Other problems of a userland run."""
        begun, ended = self.marks("begin"), self.marks("end")
        bad = [f"{n} did not finish" for n in sorted(begun - ended)]
        if not begun:
            bad.append("the guest ran nothing")
        # A kernel message may have interrupted a result line.
        seen = sum(o == "failed" for _, o in self.guest_results())
        failed = max((int(n) for n in self.marks("failed") if n.isdigit()), default=0)
        if failed > seen:
            bad.append(f"{failed} checks failed, but the console shows only {seen} of them")
        return bad


    def problems(self):
        """All that is wrong with a userland run."""
        bad = [f"failed: {n}" for n, o in self.guest_results() if o == "failed"]
        bad += self.splats() + self.guest_problems()
        return bad if self.ended_orderly() else bad + ["the guest died, or took too long"]


def outcome(m):
    if m.group("skip"):
        return "skipped"
    return "passed" if m.group("ok") == "ok" else "failed"


class Kunit:
    """The KTAP of one boot, as the base's kunit.py understands it."""

    def __init__(self, console):
        from kerneltree import OUT
        sys.path.append(os.path.join(OUT, "base/tools/testing/kunit"))
        import kunit_parser
        import kunit_printer
        # What kunit.py prints of it, for humans.
        out = io.StringIO()
        with_printer = "printer" in inspect.signature(kunit_parser.parse_run_tests).parameters
        kunit_parser.stdout = printer = kunit_printer.Printer(output=out)
        tests = kunit_parser.parse_run_tests(console.lines, *([printer] if with_printer else []))
        self.report = out.getvalue()
        # {case: what it printed}, for those that failed.
        self.logs = {}
        # {suite: [(case, outcome)]}; parameters of a case count on their own.
        self.suites = {suite.name: list(self.leaves(suite, "")) for suite in tests.subtests}
        # Plans that are missing or not kept, suites without a result, and the like.
        self.problems = re.findall(r"\[ERROR\] (.*)", self.report)
        self.problems += [f"{t.name or 'KUnit'} printed no plan" for t in [tests, *tests.subtests]
                          if t.expected_count is None]

    def leaves(self, test, name):
        found = [leaf for sub in test.subtests
                 for leaf in self.leaves(sub, f"{name}: {sub.name}".removeprefix(": "))]
        # A case can fail although none of its parameters did.
        if not found or test.status.name not in ("SUCCESS", "SKIPPED") and \
           all(o != "failed" for _, o in found):
            case = name or test.name
            found.append((case, {"SUCCESS": "passed", "SKIPPED": "skipped"}.get(
                test.status.name, "failed")))
            if found[-1][1] == "failed":
                self.logs[case] = test.log
        return found

    def count(self, what):
        return sum(o == what for s in self.suites.values() for _, o in s)


def main():
    console = Console(sys.argv[1])
    results, bad = console.guest_results(), console.problems()
    if not any(o == "passed" for _, o in results):
        bad.append("no check passed")
    if bad:
        print("\n".join(bad))
        return 1
    print(f"{len(results)} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
