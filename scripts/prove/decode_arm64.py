# SPDX-License-Identifier: GPL-2.0-only
"""The part of decode-check for arm64.

Compiles decode-insn.c into a host program (scripts/prove/decode-host/arm64), and checks

 - that each word is in one row of the table, but for the exceptions that the table marks,
   which stand before the row that they are exceptions from;
 - that the numbers of words with each verdict, of all that there are, are those of
   scripts/prove/decode-host/arm64/counts, and agree with masks and values;
 - that what rows call a computation names registers only in the fields that they say, by
   disassembling random words, and the same with other registers;
 - with random words of each row, and of all, that objdump finds in each row what belongs
   there. Above all, nothing is accepted for copying that branches, is relative to itself,
   raises an exception, is exclusive or part of a sequence, or is another system instruction
   than those meant. What objdump does not know is accepted only where vectors are, and for
   the reasons in scripts/prove/decode-host/arm64/unknown.
"""
import collections
import concurrent.futures
import functools
import os
import re
import shutil
import subprocess

from decode_host import make_headers
from kerneltree import OUT, TOP
from lib import SCRIPTS
from progress import Progress, clear

HOST = os.path.join(SCRIPTS, "prove/decode-host/arm64")
PROBES = os.path.join(TOP, "arch/arm64/kernel/probes")
BASE = os.path.join(OUT, "base")
COUNTS = os.path.join(HOST, "counts")
OBJDUMP = ["aarch64-linux-gnu-objdump", "-D", "-z", "-w", "--no-show-raw-insn",
           "-b", "binary", "-m", "aarch64"]
WORDS = 1 << 32
# Of each row, and of all; a disassembly of more at a time only takes memory.
FEW = (1 << 14, 1 << 20)
MANY = (1 << 20, 1 << 24)
CHUNK = 1 << 20

# In a disassembly, as INSN condenses it. "@" stands for an address.
UNKNOWN = r"undefined|unnamed"
EXCLUSIVE = r"lda?xr[bh]?\+load|lda?xp\+load|stl?xr[bh]?\+store|stl?xp\+store"
MOPS = r"cpyf?[pme]\w*|setg?[pme](t|n|tn)?"
RETURNS = r"mrs:(spsr|elr|esr|far)_el[12]"
DAIF = r"m(rs|sr):daif(set|clr)?"
# Of those that authenticate, only these branch or are relative to themselves.
AUTHENTICATES = r"aut\w+pc\w*|(br|blr|ret)a[ab]\w*"
# What a copy must not be, wherever in the table it is.
HARMFUL = "|".join([
    r".*@", r"b", r"bl", r"bc?\.\w+", r"cbn?z", r"cb\w\w", r"tbn?z", r"br|blr|ret",
    r"ereta?[ab]?|drps", r"svc|hvc|smc|brk|hlt|dcps\d|udf", r"t(start|test|commit|cancel)",
    r"wf[ei]t?|sevl?|yield|hint|esb|psb|tsb|gcsb|csdb|clearbhb|dgh|chkfeat|stshh",
    r"msr:.*|smstart|smstop|sysp|mrrs|msrr", r".*\+(load|store)", EXCLUSIVE, MOPS, RETURNS,
    DAIF, AUTHENTICATES, "movprfx"])
# System instructions that may be copied: they are where HARMFUL ones are, too.
SYSTEM = (r"nop|bti|xpaclri|(pac|aut)i[ab](1716|z|sp)|dsb|dmb|isb|sb|ssbb|pssbb|clrex|cfinv|[ax]{2}flag|"
          r"mrs:\w+|sysl?|at|dc|ic|tlbi|cfp|cpp|dvp|brb|trcit")
# What belongs in rows of each form, and in refused rows for each reason. The last row
# gets what should have had another one; only words that break rules are left to it.
FORMS = {
    "context": DAIF, "b": r"b@", "bcond": r"(?:bc?\.\w\w|[ct]bn?z)@",
    "bl": r"bl@", "br": r"br|ret", "blr": r"blr", "adr": r"adrp?@",
    "ldr-lit": r"ldr(?:sw)?@", "prfm-lit": r"prfm@",
}
REFUSALS = {
    "invalid": rf"udf|{UNKNOWN}",
    "trap": rf"svc|hvc|smc|brk|hlt|dcps[123]|{UNKNOWN}",
    "sleep": r"wf[ei]t?",
    "control": r"msr:(?!daif).*|smstart|smstop",
    "far": r"ereta?[ab]?|drps",
    "transaction": r"t(start|test|commit|cancel)",
    "encoding": rf"{AUTHENTICATES}|yield|sevl?|hint|esb|psb|tsb|csdb|clearbhb|{UNKNOWN}",
    "reach": rf"ldr@|{UNKNOWN}",
    "sequence": rf"{EXCLUSIVE}|{MOPS}|movprfx|{UNKNOWN}",
    "syndrome": rf"{RETURNS}|sys|gcs(push|popc?)x",
}
LEFT = rf"(ld|st)l?l?ar[bh]?|stll?r[bh]?|m(rs|sr):s0_\w+|{UNKNOWN}"

class Row(collections.namedtuple("Row", "nr mask value form refusal user computes narrow simulate")):
    """A row of the table."""

    @property
    def quick(self):
        """Both copied and simulated, whichever is quicker."""
        return self.form == "copy" and self.simulate


def has_vectors(row):
    """Does the row have but SVE, vectors, floating point, or loads and stores of these?"""
    def has(mask, value):
        return row.mask & mask == mask and row.value & mask == value
    return has(0x1e000000, 0x04000000) or has(0x0e000000, 0x0e000000) or \
        has(0x0e000000, 0x0c000000)


def is_sme(row):
    return row.mask & 0x9e000000 == 0x9e000000 and row.value & 0x9e000000 == 0x80000000


def compile_host(work):
    include = os.path.join(work, "include")
    arm64 = os.path.join(BASE, "arch/arm64/include")
    real = {f"asm/{n}.h": f"{arm64}/asm/{n}.h" for n in ("insn", "insn-def", "brk-imm")}
    real["asm/ptrace.h"] = os.path.join(arm64, "uapi/asm/ptrace.h")
    real["asm/probes.h"] = os.path.join(TOP, "arch/arm64/include/asm/probes.h")
    real["linux/kprobes-refusal.h"] = os.path.join(TOP, "include/linux/kprobes-refusal.h")
    make_headers(include, [os.path.join(PROBES, f"{n}-insn.{s}")
                           for n in ("decode", "simulate") for s in "ch"],
                 real, {"kernel": BASE})
    program = os.path.join(work, "host")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-Wno-unused-function",
                    "-D__KERNEL__", "-I", include, "-I", HOST, "-I", PROBES, "-o", program,
                    os.path.join(HOST, "host.c")], check=True)
    return program


def run(*cmd, **kw):
    done = subprocess.run(cmd, check=True, stdout=subprocess.PIPE, **kw)
    return done.stdout.decode().splitlines()


def table(host):
    rows = []
    for nr, line in enumerate(run(host, "rows")):
        mask, value, form, refusal, user, computes, narrow, simulate = line.split()
        rows.append(Row(nr, int(mask, 16), int(value, 16), form, refusal, user,
                        int(computes, 16), int(narrow), int(simulate)))
    return rows


def name(row):
    return f"row {row.nr} ({row.mask:08x} {row.value:08x}, {row.form} {row.refusal})"


def overlap(a, b):
    return not (a.value ^ b.value) & a.mask & b.mask


def within(a, b):
    """Has b all words of a, and more?"""
    return overlap(a, b) and a.mask & b.mask == b.mask and a.mask != b.mask


def misplaced(rows):
    """What is wrong with the order of the rows. The last one has all words."""
    bad = []
    *rows, last = rows
    if last.mask or last.form != "reject":
        bad.append("the last row does not refuse all that no other row has")
    for nr, a in enumerate(rows):
        for b in rows[nr + 1:]:
            if overlap(a, b) and not (a.narrow and within(a, b)):
                bad.append(f"{name(a)} and {name(b)} have words in common")
        if a.narrow and not any(within(a, b) for b in rows[nr + 1:]):
            bad.append(f"{name(a)} is no exception from a later one")
    for r in rows:
        if (r.form == "reject") != (r.refusal != "-") or (r.form == "reject" and r.simulate):
            bad.append(f"{name(r)} is refused and is not")
        if r.computes and (r.form != "copy" or r.simulate):
            bad.append(f"{name(r)} computes, but is not copied, or is simulated as well")
        if r.form not in ("reject", "copy") and not r.simulate:
            bad.append(f"{name(r)} can neither be copied nor simulated")
        if r.user == "simulate" and not r.simulate or \
                r.user == "copy" and r.form not in ("reject", "copy"):
            bad.append(f"{name(r)} cannot be done for uprobes")
    return bad


def size(row):
    return 1 << 32 - row.mask.bit_count()


def expected_counts(rows):
    """How many words each row decides on, from masks and values: all, less its exceptions."""
    counts = []
    for r in rows[:-1]:
        inner = [a for a in rows[:r.nr] if within(a, r)]
        outermost = [a for a in inner if not any(within(a, b) for b in inner)]
        counts.append(size(r) - sum(size(a) for a in outermost))
    return counts + [WORDS - sum(counts)]


def verdicts(rows, counts):
    """The lines of the file of counts."""
    total = collections.Counter()
    for r, n in zip(rows, counts):
        how = "quick" if r.quick else r.form
        total[f"kprobes {how}{'' if r.refusal == '-' else ' ' + r.refusal}"] += n
        total[f"uprobes {r.user}"] += n
    return [f"{n:10} {what}" for what, n in sorted(total.items())]


def check_counts(host, rows, record):
    bad = []
    counts = [int(n) for n in run(host, "counts")]
    for r, n, want in zip(rows, counts, expected_counts(rows)):
        if n != want:
            bad.append(f"{name(r)} decides on {n} words, its mask and value say {want}")
    lines = verdicts(rows, counts)
    if record:
        with open(COUNTS, "w", encoding="utf-8") as f:
            f.write("# How many of the 2^32 words get which verdict. Written by\n"
                    "# ARCH=arm64 scripts/prove/decode-check --record\n")
            f.writelines(f"{l}\n" for l in lines)
    with open(COUNTS, encoding="utf-8") as f:
        known = [l.rstrip("\n") for l in f if not l.startswith("#")]
    bad += [f"not in {os.path.basename(COUNTS)}: {l}" for l in lines if l not in known]
    bad += [f"only in {os.path.basename(COUNTS)}: {l}" for l in known if l not in lines]
    print(f"decode-check arm64: {len(rows)} rows, {sum(counts)} words counted", flush=True)
    return bad


# What the text of an instruction is condensed to: its mnemonic; "undefined", or "unnamed" if it is
# just not known; "mrs:REGISTER" and "msr:REGISTER"; with "@" if an address follows, which is a
# number without "#".
INSN = re.compile(r" *[0-9a-f]+:\t(?:(\.inst)\t(?:.*(undefined))?|(m(?:rs\t\w+, |sr\t)\w+)|(\S+)"
                  r"([^/]*[ \t]0x)?)")


@functools.lru_cache(1 << 16)
def condensed(inst, undefined, system, mnemonic, address):
    if inst:
        return undefined or "unnamed"
    if system:
        return f"{system[:3]}:{system.split()[-1]}"
    return mnemonic + "@" * bool(address)


def disassemble(host, path, words):
    """{(row, what objdump calls the word): how often, and an example} of these words."""
    run(host, "words", path, *words)
    found = {}
    with subprocess.Popen([*OBJDUMP, path], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LC_ALL": "C"}) as said, \
            subprocess.Popen([host, "judge", path], stdout=subprocess.PIPE, text=True) as judged:
        lines = (m for m in map(INSN.match, said.stdout) if m)
        for m, judgement in zip(lines, judged.stdout, strict=True):
            row, insn, *exclusive = judgement.split()
            what = int(row), "".join([condensed(*m.groups()), *exclusive])
            found[what] = found.get(what, (0,))[0] + 1, insn
    if said.returncode or judged.returncode:
        raise subprocess.CalledProcessError(said.returncode or judged.returncode, OBJDUMP[0])
    os.unlink(path)
    return found


def unknown_to_objdump():
    """{(mask, value): reason} of rows with instructions that objdump need not know."""
    found = {}
    with open(os.path.join(HOST, "unknown"), encoding="utf-8") as f:
        for l in f:
            bits, sep, reason = l.rstrip("\n").partition(" -- ")
            if sep and not l.startswith("#"):
                found[tuple(int(w, 16) for w in bits.split())] = reason
    return found


def allowed(row, what, excused, last):
    """May objdump call instructions of the row so?"""
    if row is last:
        return re.fullmatch(LEFT, what)
    if row.form == "reject":
        return re.fullmatch(REFUSALS[row.refusal], what) or is_sme(row)
    if row.form != "copy":
        return re.fullmatch(FORMS[row.form], what)
    if row.quick:
        return re.fullmatch(r"nop|bti|mov", what)
    if re.fullmatch(UNKNOWN, what):
        return has_vectors(row) or (row.mask, row.value) in excused
    if re.fullmatch(HARMFUL, what):
        return False
    # Of those that look alike, only some are meant.
    return row.value & 0xff000000 != 0xd5000000 or re.fullmatch(SYSTEM, what)


def compare(host, work, rows, everything, seed):
    """What objdump thinks of random words of all rows."""
    per_row, of_all = MANY if everything else FEW
    jobs = [(seed, per_row, r.nr) for r in rows[:-1]]
    jobs += [(seed + nr, min(CHUNK, of_all)) for nr in range(max(1, of_all // CHUNK))]
    total, example = collections.Counter(), {}
    progress = Progress("decode-check arm64: disassembling")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        todo = [pool.submit(disassemble, host, os.path.join(work, f"words-{nr}"),
                            [str(n) for n in words]) for nr, words in enumerate(jobs)]
        for done, job in enumerate(concurrent.futures.as_completed(todo)):
            for what, (n, insn) in job.result().items():
                total[what] += n
                example[what] = insn
            progress.show(done + 1, len(todo), "parts")
    clear()

    excused = unknown_to_objdump()
    bad = [f"unknown: there is no row {mask:08x} {value:08x}" for mask, value in excused
           if not any((r.mask, r.value) == (mask, value) for r in rows)]
    bad += [f"{name(rows[nr])}: {example[nr, what]} is '{what}', as are {n - 1} others"
            for (nr, what), n in sorted(total.items())
            if not allowed(rows[nr], what, excused, rows[-1])]
    copied = collections.Counter()
    for (nr, what), n in total.items():
        if rows[nr].form == "copy":
            kind = "vector" if has_vectors(rows[nr]) else "other"
            copied[kind] += n
            copied[f"{kind} undefined"] += n if re.fullmatch(UNKNOWN, what) else 0
    print(f"decode-check arm64: {sum(total.values())} words compared with objdump; accepted for "
          f"copying: {copied['vector']} in rows of vectors, {copied['vector undefined']} of them "
          f"undefined, and {copied['other']} others, {copied['other undefined']} of them excused",
          flush=True)
    return bad


# Fields of instructions that compute, in the order of the bits in a row, and how many
# random words of each such row are looked at.
FIELDS = (0, 5, 16, 10)
COMPUTATIONS = 1 << 12


def fields(row, insn):
    """{register: its number in the computation} of the fields that the row names."""
    return {insn >> at & 31: nr for nr, at in enumerate(FIELDS) if row.computes >> nr & 1}


def texts(path):
    """What objdump calls the words of a file."""
    lines = run(*OBJDUMP, path, env={**os.environ, "LC_ALL": "C"})
    return [m.group(1) for m in (re.match(r" *[0-9a-f]+:\t(.*)", l) for l in lines) if m]


def check_computations(host, work, rows, seed):
    """Do rows that compute name their registers, and no others?"""
    bad, nr = [], 0
    path, to = (os.path.join(work, n) for n in ("computing", "computation"))
    for r in rows:
        if not r.computes:
            continue
        run(host, "words", path, str(seed), str(COMPUTATIONS), str(r.nr))
        with open(path, "rb") as f:
            data = f.read()
        words = [int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), 4)]
        # Registers that differ from each other, from those of the computation, and from the
        # zero register, with which an instruction may have another name.
        words = [w for w in words if len(fields(r, w)) == (r.computes & 15).bit_count() and
                 not {0, 1, 2, 3, 31} & set(fields(r, w))]
        with open(path, "wb") as f:
            f.writelines(w.to_bytes(4, "little") for w in words)
        run(host, "computations", path, to)
        for insn, text, done in zip(words, texts(path), texts(to), strict=True):
            named = fields(r, insn)
            want = re.sub(r"\b([wx])(\d+)\b",
                          lambda m: m.group(1) + str(named.get(int(m.group(2)), "?")), text)
            if done != want:
                bad.append(f"{name(r)}: the computation of '{text}' is '{done}'")
            nr += 1
        if not words:
            bad.append(f"{name(r)}: no word with different registers")
    print(f"decode-check arm64: {nr} computations of "
          f"{sum(1 for r in rows if r.computes)} rows compared", flush=True)
    return bad


def check(everything, record):
    """All checks; returns the number of problems."""
    work = os.path.join(OUT, "decode-check/arm64")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    host = compile_host(work)
    rows = table(host)
    bad = misplaced(rows)
    if not bad:
        bad = check_counts(host, rows, record)
        seed = int(os.environ.get("SEED") or 1)
        bad += check_computations(host, work, rows, seed)
        bad += compare(host, work, rows, everything, seed)
    shutil.rmtree(work)
    for problem in bad[:40]:
        print(f"     {problem}")
    if len(bad) > 40:
        print(f"     and {len(bad) - 40} more")
    return len(bad)
