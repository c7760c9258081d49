# SPDX-License-Identifier: GPL-2.0-only
"""A small judge of litmus tests. It exists because Debian 12 has no herd7 (herdtools7 is an opam
package), with whose tools/memory-model/linux-kernel.cat the base judges such tests: this checks all
executions of a test against the axioms of that file.

It knows what our tests use, and what lets it prove itself by tests of the base: marked loads and
stores, cmpxchg in its four orders, fences, RCU readers that do not nest, registers, and "if (r ==
V)" or "if (r != V)". No locks, no plain accesses.
"""
import itertools
import re
from dataclasses import dataclass


class Unknown(Exception):
    """The test uses something that is not supported here."""


LOADS = {"READ_ONCE": "once", "rcu_dereference": "once", "smp_load_acquire": "acquire"}
STORES = {"WRITE_ONCE": "once", "rcu_assign_pointer": "release", "smp_store_release": "release"}
FENCES = {"smp_mb": "mb", "smp_wmb": "wmb", "smp_rmb": "rmb", "synchronize_rcu": "gp",
          "rcu_read_lock": "lock", "rcu_read_unlock": "unlock"}


def value(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


class Test:
    """A litmus test, parsed."""

    def __init__(self, text):
        text = re.sub(r"\(\*\s.*?\*\)|//[^\n]*", "", text, flags=re.S)
        m = re.match(r"\s*C \S+\s*\{(.*?)\}(.*?)exists(.*)$", text, re.S)
        if not m:
            raise Unknown("layout")
        self.init, self.threads, self.values, names = {}, [], {0}, set()
        for item in filter(None, map(str.strip, m[1].split(";"))):
            k = re.fullmatch(r"(?:int \*?)?(\w+)\s*=\s*&?(\w+)", item)
            if not k:
                raise Unknown(item)
            self.init[k[1]] = value(k[2])
        for params, body in re.findall(r"P\d+\(([^)]*)\)\s*\{(.*?)\n\}", m[2], re.S):
            names |= set(re.findall(r"(\w+)\s*(?:,|$)", params))
            tokens = re.findall(r"if \([^)]*\) \{|if \([^)]*\)|\}|[^;{}\s][^;{}]*;", body)
            self.threads.append(self.block(tokens))
            if tokens:
                raise Unknown(tokens[0])
        self.exists = self.condition(m[3])
        # All that a location may hold.
        self.values = {v for v in self.values | set(self.init.values())
                       if isinstance(v, int) or v in names}

    def block(self, tokens):
        """Statements up to a closing brace."""
        found = []
        while tokens and (t := tokens.pop(0)) != "}":
            m = re.match(r"if \((\w+)(?: (==|!=) (\w+))?\)( \{)?$", t)
            if m:
                inner = self.block(tokens if m[4] else [tokens.pop(0)])
                found.append(("if", m[1], m[2] or "!=", value(m[3] or "0"), inner))
            elif not re.match(r"int \*?\w+;$", t):
                found.append(self.statement(t))
        return found

    def statement(self, t):
        """(kind, register, order, place, value to compare with, value to store)"""
        m = re.match(r"(\w+)\(\);$", t)
        if m and m[1] in FENCES:
            return "fence", None, FENCES[m[1]], None, None, None
        m = re.match(r"(\w+)\(\*?(\w+), (\w+)\);$", t)
        if m and m[1] in STORES:
            self.values.add(value(m[3]))
            return "store", None, STORES[m[1]], m[2], None, value(m[3])
        m = re.match(r"(\w+) = (\w+)\(\*?(\w+)\);$", t)
        if m and m[2] in LOADS:
            return "load", m[1], LOADS[m[2]], m[3], None, None
        m = re.match(r"(\w+) = cmpxchg(?:_(\w+))?\((\w+), (\w+), (\w+)\);$", t)
        if not m:
            raise Unknown(t)
        self.values.add(value(m[5]))
        return "cmpxchg", m[1], m[2] or "mb", m[3], value(m[4]), value(m[5])

    @staticmethod
    def condition(text):
        """The exists clause as a function of {(thread, register): value}, {location: value}."""
        text = re.sub(r"(\d+):(\w+)=(-?\w+)",
                      lambda m: f"(regs.get(({m[1]}, '{m[2]}'), 0) == value('{m[3]}'))", text)
        text = re.sub(r"\b([a-z]\w*)=(-?\w+)(?![^(]*'\))", r"(last['\1'] == value('\2'))", text)
        text = text.replace("/\\", " and ").replace("\\/", " or ").replace("~", " not ")
        code = compile(" ".join(text.split()), "exists", "eval")
        return lambda regs, last: eval(code, {"value": value}, {"regs": regs, "last": last})


@dataclass(eq=False)
class Event:
    """A load, a store or a fence, and the loads of its thread on which it depends."""
    thread: int
    kind: str
    order: str
    loc: str = None
    val: object = None
    addr: tuple = ()
    data: tuple = ()
    ctrl: tuple = ()
    rmw: object = None


def traces(nr, todo, values, events=(), regs={}, ctrl=()):
    """Yields (events, {register: value}) for all values that the rest of a thread may load."""
    def known(x):
        """(value, the load it is from) of a register or constant."""
        return regs.get(x, (x, ()))

    if not todo:
        yield events, {(nr, r): v for r, (v, _) in regs.items()}
        return
    rest = todo[1:]
    if todo[0][0] == "if":
        _, reg, how, other, inner = todo[0]
        v, source = known(reg)
        taken = (v == known(other)[0]) == (how == "==")
        yield from traces(nr, (inner if taken else []) + rest, values, events, regs, ctrl + source)
        return
    kind, reg, order, place, want, new = todo[0]
    if kind == "fence":
        yield from traces(nr, rest, values, (*events, Event(nr, "F", order)), regs, ctrl)
        return
    loc, addr = known(place)
    (new, data), want = known(new), known(want)[0]
    if not isinstance(loc, str):
        return
    if kind == "store":
        e = Event(nr, "W", order, loc, new, addr, data, ctrl)
        yield from traces(nr, rest, values, (*events, e), regs, ctrl)
        return
    for v in values:
        swaps = kind == "cmpxchg" and v == want
        load = Event(nr, "R", "acquire" if order == "acquire" and (swaps or kind == "load")
                     else "once", loc, v, addr, (), ctrl)
        more = [load]
        if swaps:
            more.append(Event(nr, "W", "release" if order == "release" else "once", loc, new, addr,
                              data, ctrl, load))
        if swaps and order == "mb":
            more = [Event(nr, "F", "mb"), *more, Event(nr, "F", "mb")]
        yield from traces(nr, rest, values, (*events, *more), {**regs, reg: (v, (load,))}, ctrl)


# Relations are sets of pairs.

def seq(*rs):
    """Pairs that are related by each of these in their order."""
    out = rs[0]
    for r in rs[1:]:
        after = {}
        for a, b in r:
            after.setdefault(a, []).append(b)
        out = {(a, c) for a, b in out for c in after.get(b, ())}
    return out


def closure(r):
    while not (more := seq(r, r)) <= r:
        r = r | more
    return r


def acyclic(r):
    return all(a != b for a, b in closure(r))


def consistent(events, rf, co):
    """Do the model's axioms allow it? @rf: (store, load), @co: pairs of stores in their order."""
    some = lambda test: {(e, e) for e in events if test(e)}
    fence = lambda order: some(lambda e: e.kind == "F" and e.order == order)
    opt = lambda r: r | every
    star = lambda r: closure(r) | every
    every = some(lambda e: True)
    pairs = set(itertools.product(events, events))
    internal = {(a, b) for a, b in pairs if a.thread == b.thread is not None and a is not b}
    external = {(a, b) for a, b in pairs if a.thread != b.thread}
    nr = {e: i for i, e in enumerate(events)}
    po = {(a, b) for a, b in internal if nr[a] < nr[b]}
    w, r, mem = (some(lambda e, k=kinds: e.kind in k) for kinds in ("W", "R", "WR"))
    fr = seq({(b, a) for a, b in rf}, co)
    rfe, rfi, overwrite = rf & external, rf & internal, co | fr
    if not acyclic({(a, b) for a, b in po if a.loc and a.loc == b.loc} | rf | overwrite):
        return False
    rmw = {(e.rmw, e) for e in events if e.rmw}
    if rmw & seq(fr & external, co & external):
        return False

    addr, dep, ctrl = ({(s, e) for e in events for n in names for s in getattr(e, n)}
                       for names in (("addr",), ("addr", "data"), ("ctrl",)))
    acq_po = seq(some(lambda e: e.order == "acquire"), po, mem)
    po_rel = seq(mem, po, some(lambda e: e.order == "release"))
    gp = fence("gp")
    strong = seq(mem, po, fence("mb"), po, mem) | seq(po, gp, opt(po))
    wmb, rmb = seq(w, po, fence("wmb"), po, w), seq(r, po, fence("rmb"), po, r)
    ppo = seq(addr, r) | seq(dep, rfi) | seq(dep | ctrl, w) | \
        (overwrite | strong | po_rel | acq_po | wmb | rmb) & internal
    cumul = seq(seq(opt(rfe), strong | po_rel) | wmb, star(seq(rf, rmw)))
    prop = seq(opt(overwrite & external), star(cumul), opt(rfe))
    hb = ppo | rfe | (prop & internal)
    if not acyclic(hb):
        return False
    hbs = star(hb)
    pb = seq(prop, strong, hbs)
    if not acyclic(pb):
        return False
    pbs = star(pb)

    # Readers do not nest, so the nearest lock is that of an unlock.
    rscsi = {(b, max((a for a, to in po if to is b and a.kind == "F" and a.order == "lock"),
                     key=nr.get)) for b in events if b.kind == "F" and b.order == "unlock"}
    link, order = seq(opt(po), hbs, pbs, prop, po), gp
    while True:
        more = order | seq(gp, link, rscsi) | seq(rscsi, link, gp) | seq(order, link, order) | \
            seq(gp, link, order, link, rscsi) | seq(rscsi, link, order, link, gp)
        if more == order:
            break
        order = more
    return all(a != b for a, b in seq(prop, po, order, opt(po), hbs, pbs))


def executions(test):
    """Yields (registers, last values) of each execution that the model allows."""
    for choice in itertools.product(*(list(traces(nr, todo, test.values))
                                      for nr, todo in enumerate(test.threads))):
        program = [e for events, _ in choice for e in events]
        first = [Event(None, "W", "once", l, test.init.get(l, 0))
                 for l in sorted({e.loc for e in program if e.loc} | set(test.init))]
        writes = [[i, *(e for e in program if e.kind == "W" and e.loc == i.loc)] for i in first]
        loads = [[(s, l) for of_loc in writes for s in of_loc
                  if s.loc == l.loc and s.val == l.val and s.rmw is not l]
                 for l in program if l.kind == "R"]
        regs = {k: v for _, of_thread in choice for k, v in of_thread.items()}
        for rf in itertools.product(*loads):
            for orders in itertools.product(*([(s[0], *p) for p in itertools.permutations(s[1:])]
                                              for s in writes)):
                co = {pair for o in orders for pair in itertools.combinations(o, 2)}
                if consistent(first + program, set(rf), co):
                    yield regs, {o[0].loc: o[-1].val for o in orders}


def judge(text):
    """Never, Sometimes or Always, for the text of a test."""
    test = Test(text)
    held = [bool(test.exists(regs, last)) for regs, last in executions(test)]
    if not held:
        raise Unknown("it has no execution")
    return "Always" if all(held) else "Sometimes" if any(held) else "Never"
