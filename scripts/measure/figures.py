# SPDX-License-Identifier: GPL-2.0-only
"""The texts that scripts/measure/pictures makes of recorded numbers.

In a text, they are between the comments "begin: NAME" and "end: NAME".
"""
import re

from lib import load

# The tables of the manual: the rows of scripts/measure/bench in each.
PARTS = {
    "hits": r"[kr]-(?!.*0$|.*larger$|together)",
    "crowd": r"[kr]-.*(0|larger)$|r-together",
    "batch": r"(un)?reg-\w+-\d+$",
    "single": r"(un)?reg-\w+-single|(un)?filter",
    "optimizer": r"optimized-of|jumps|rounds|syncs|unsyncs",
    "rest": r"memory|list|load",
}
# For each other architecture, the rows of its one table.
OTHERS = {
    "arm64": (r"[kr]-(?!.*0$|.*larger$)|k-stepped-10000|.*entry-10000$|(un)?reg-entry-single-1000$|"
              r"(optimized-of|(un)?syncs)-(5000|10000)$|memory"),
    "ppc64le": (r"[kr]-(?!.*0$|.*larger$)|k-stepped-10000|(un)?reg-entry-10000$|(un)?reg-mid-3000$|"
                r"(un)?reg-entry-single-1000$|"
                r"(optimized-of|jumps|(un)?syncs)-(5000|module-2000)$|memory"),
}


# The rows of the table in Documentation/trace/kprobes.rst, which scripts/measure/bench calls
# letters, and those that the base of an architecture serves by another kind.
LETTERS = (("k", "kprobe, stepped in the base"), ("j", "jprobe"), ("r", "return probe"),
           ("kr", "kprobe and return probe"), ("jr", "jprobe and return probe"),
           ("b", "kprobe, boosted"), ("o", "kprobe, optimized"), ("rb", "return probe, boosted"),
           ("ro", "return probe, optimized"))
NOT_IN_BASE = {("arm64", "b"), ("arm64", "rb")}


def die(why):
    raise SystemExit(f"pictures: {why}")


def put(path, texts):
    """Replace what is between the markers of each {name: text}."""
    with open(path, encoding="utf-8") as f:
        old = new = f.read()
    for name, text in texts.items():
        new, n = re.subn(rf"(?ms)^(\.\. begin: {name}|<!-- begin: {name} -->)\n.*?"
                         rf"^(\.\. end: {name}|<!-- end: {name} -->)$",
                         lambda m: f"{m[1]}\n\n{text.strip()}\n\n{m[2]}", new)
        if n != 1:
            die(f"{path} has {n} places for {name}")
    if new != old:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)


def number(value, unit):
    if value is None:
        return "n/a"
    if unit.startswith("ns"):
        return f"{value / 1000:,.1f}" if value < 1e6 else f"{value / 1000:,.0f}"
    return f"{value:,.0f}"


def grid(head, rows, texts=1):
    """A simple table of reStructuredText, numbers to the right of so many columns of text."""
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    lines = [" ".join(c.ljust(w) if i < texts else c.rjust(w)
                      for i, (c, w) in enumerate(zip(r, widths))).rstrip() for r in [head, *rows]]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def bench_table(arch, bench, pattern):
    """The rows of the table that scripts/measure/bench prints whose name matches."""
    printed, rows = load("measure/bench"), []
    for name, text, unit in printed.ROWS:
        if name not in bench or not re.match(pattern, name):
            continue
        text = printed.TEXTS.get(arch, {}).get(name, text)
        x, y = bench.both(name)
        measured = bench.rows[name]["unit"]
        ratio = f"{y / x:.2g}" if unit and x and y is not None else "n/a"
        text += {"us": ", us", "us each": ", us each", "bytes": ", bytes"}.get(unit, "")
        # Three dots continue a row; at the start of a line they would be markup.
        rows.append((text.replace("... ", "\\... "), number(x, measured), number(y, measured),
                     ratio))
    return grid(("", "base", "ours", "ratio"), rows)


def letters_table(benches):
    """The rows that are called by letters, with two columns for each architecture."""
    def cell(arch, bench, row, ours):
        if not ours and (arch, row) in NOT_IN_BASE:
            return "\\-"
        value = bench.both(row)[ours]
        return "\\-" if value is None else f"{value:,.0f}"

    head = ["Letters", "Probe"]
    for arch in benches:
        head += [f"{arch}, base", arch]
    return grid(head, [(row, text, *(cell(arch, bench, row, ours) for arch, bench in benches.items()
                                     for ours in (0, 1))) for row, text in LETTERS], texts=2)


def served(cover, ours):
    """Percentage of the accepted probes that have a jump or are called by ftrace."""
    return 100 * sum(cover.both(r)[ours] for r in ("optimized", "ftrace")) / \
        cover.both("accepted")[ours]


def coverage_table(covers):
    """For each kernel, a column of the base and one of ours."""
    columns = [(name, cover, ours) for name, cover in covers.items() for ours in (0, 1)]
    rows = [("configuration", *(name for name, _, _ in columns))]

    def row(text, cell):
        """A row of percentages, where cell(cover, ours) is not None."""
        values = (cell(cover, ours) for _, cover, ours in columns)
        rows.append((text, *("n/a" if v is None else f"{v:.2f} %" for v in values)))

    def of_all(key):
        return lambda cover, ours: 100 * cover.both(key)[ours] / cover.both("addresses")[ours]

    def reason_of_all(key):
        """The base gives no reasons, and not every architecture has each of them."""
        return lambda cover, ours: of_all(key)(cover, ours) if ours and key in cover else None

    row("accepted", of_all("accepted"))
    row("called by ftrace", of_all("ftrace"))
    row("optimized", of_all("optimized"))
    row("not optimized", of_all("not-optimized"))
    reasons = {r: c.both(r)[1] for c in reversed(covers.values()) for r in c.rows
               if r.startswith("reason-")}
    for reason in sorted(reasons, key=lambda r: -reasons[r]):
        row(reason.removeprefix("reason-"), reason_of_all(reason))
    rows.append(("**of the accepted: ftrace or jump**",
                 *(f"{served(cover, ours):.1f} %" for _, cover, ours in columns)))
    row("of what the base accepts", lambda cover, ours: cover.both("share-of-all")[1]
        if ours else served(cover, 0))
    # How many of them are in the module is not recorded for the base.
    row("\\... in the module", lambda cover, ours: cover.both("share-of-module")[ours])
    return grid(("", *(("base", "ours")[ours] for _, _, ours in columns)), rows)


def overhead(path, bench):
    """The table of the manual."""
    put(path, {"letters": letters_table(bench)})


def tables(path, bench, covers):
    """The tables of the manual's page of figures."""
    texts = {name: bench_table("x86_64", bench["x86_64"], pattern)
             for name, pattern in PARTS.items()}
    for arch in set(OTHERS) & set(bench):
        texts[arch] = bench_table(arch, bench[arch], OTHERS[arch])
    texts["coverage"] = coverage_table(covers)
    runs = [b.what for b in bench.values()] + [c.what for c in covers.values()]
    texts["runs"] = "\n".join(f"- ``{r.replace(', ', '``, ')}" for r in runs)
    put(path, texts)


# Each pass of scripts/measure/sweep, and in whose place its probes are.
PASSES = [("boosted", "instructions"), ("watched", "... the same, with post handlers"),
          ("entries", "function entries"), ("returns", "returns of functions")]


def sweep_summary(arch, sweep):
    """The README's table of a sweep."""
    rows = [(text, int(sweep.rows[name]["probes"])) for name, text in PASSES]
    # The oldest numbers have only the sum.
    hits = sum(int(r["hits"]) for r in sweep.rows.values() if r["hits"] != "-")
    return "\n".join([f"| {arch}, random sample | probes |", "|---|---:|",
                      *(f"| {text} | {n:,} |" for text, n in rows),
                      f"| hits, in all | {hits / 1e6:,.0f} million |"])


# What follows a hit among 10,000 others, in the README.
LARGER = ("... and a hash table of 12 bits in the base, not 6", "k-stepped-10000-larger")
# The README's rows of each other architecture: the cost of hits, and what is optimized.
SUMMARIES = {
    "arm64": ((("a breakpoint hit, in instructions", "k-stepped"),
               ("... with 10,000 other probes", "k-stepped-10000"),
               LARGER,
               ("a hit of an optimized probe", "k-optimized"),
               ("a return probe, entered by a breakpoint", "r-stepped"),
               ("a return probe, optimized", "r-optimized")),
              "addresses that the base accepts, optimized, with KASLR"),
    "ppc64le": ((("a breakpoint hit, in instructions, where the base steps", "k-stepped"),
                 ("... with 10,000 other probes", "k-stepped-10000"),
                 LARGER,
                 ("a breakpoint hit where the base emulates", "k-boosted"),
                 ("a hit of an optimized probe in a module", "k-optimized"),
                 ("... in the kernel itself", "k-optimized-kernel"),
                 ("a return probe, entered by a breakpoint", "r-boosted"),
                 ("a return probe in a module, optimized", "r-optimized"),
                 ("... in the kernel itself", "r-optimized-kernel")),
                "addresses that the base accepts, with a jump or called by ftrace"),
}
# Their coverage, as main() of scripts/measure/pictures names it.
COVERED = {"arm64": "arm64, KASLR", "ppc64le": "ppc64le"}


def summary(arch, bench, cover, sweep):
    """The README's tables of an architecture; cover and sweep are None if not measured."""
    hits, accepted = SUMMARIES[arch]
    lines = [f"| {text} | {number(x, 'insns')} | **{number(y, 'insns')}** |"
             for text, x, y in ((text, *bench.both(name)) for text, name in hits if name in bench)]
    if cover:
        of_base = served(cover, 0)
        # How many of them are in the module is not recorded for the base.
        lines += [f"| {text} | {x} | **{cover.both(row)[1]:.1f} %** |" for text, x, row in (
            (accepted, f"{of_base:.0f} %", "share-of-all"),
            ("... of a module", "n/a" if of_base else "0 %", "share-of-module"))]
    table = "\n".join([f"| {arch} | base | ours |", "|---|---:|---:|", *lines])
    if sweep:
        table += "\n\n" + sweep_summary(arch, sweep)
    return table


def readme(path, benches, covers, sweeps):
    """The figures of the README."""
    bench, cover = benches["x86_64"], covers["x86_64"]
    hits = [("a breakpoint hit with 10,000 other probes, in instructions", "k-stepped-10000"), LARGER]
    hits = "\n".join(f"| {text} | {x:,.0f} | **{y:,.0f}** |" for text, x, y in (
        (text, *bench.both(name)) for text, name in hits if name in bench))
    reg = [10000 * v / 1e9 for v in bench.both("reg-entry-10000")]
    share = [served(cover, i) for i in (0, 1)]
    put(path, {"numbers": f"""
| x86_64 | base | ours |
|---|---:|---:|
{hits}
| registering 10,000 function entries in one call | {reg[0]:.0f} s | **{reg[1]:.1f} s** |
| probes that need no breakpoint: jump or ftrace | {share[0]:.0f} % | **{share[1]:.0f} %** |
""", **{arch: summary(arch, benches[arch], covers.get(COVERED[arch]), sweeps.get(arch))
        for arch in SUMMARIES if arch in benches}})
