# SPDX-License-Identifier: GPL-2.0-only
"""A small judge of litmus tests, for machines without herd7: checks all executions of a
test against the axioms of the base's tools/memory-model/linux-kernel.cat.

It supports only what our tests use: marked loads and stores, cmpxchg in its four orders,
fences, RCU, registers, and "if (r == V)" or "if (r != V)". No locks, no plain accesses.
"""
import itertools
import re


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
        text = re.sub(r"\(\*\s.*?\*\)", "", text, flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
        m = re.match(r"\s*C (\S+)\s*\{(.*?)\}(.*?)exists(.*)$", text, re.S)
        if not m:
            raise Unknown("layout")
        self.init = {}
        for item in filter(None, (i.strip() for i in m.group(2).split(";"))):
            k = re.fullmatch(r"(?:int \*?)?(\w+)\s*=\s*&?(\w+)", item)
            if not k:
                raise Unknown(item)
            self.init[k.group(1)] = value(k.group(2))
        self.threads, self.params = [], set()
        for params, body in re.findall(r"P\d+\(([^)]*)\)\s*\{(.*?)\n\}", m.group(3), re.S):
            self.params |= set(re.findall(r"(\w+)\s*(?:,|$)", params))
            tokens = [t.strip() for t in re.findall(r"\s*(if \([^)]*\) \{|if \([^)]*\)|\}|"
                                                    r"[^;{}\s][^;{}]*;)", body) if t.strip()]
            self.threads.append(self.block(tokens))
            if tokens:
                raise Unknown(tokens[0])
        self.exists = self.condition(m.group(4))

    def block(self, tokens):
        """Statements up to a closing brace."""
        found = []
        while tokens:
            t = tokens.pop(0)
            if t == "}":
                break
            m = re.match(r"if \((\w+)(?: (==|!=) (\w+))?\)( \{)?$", t)
            if m:
                inner = self.block(tokens) if m.group(4) else self.block([tokens.pop(0)])
                found.append(("if", m.group(1), m.group(2) or "!=", value(m.group(3) or "0"),
                              inner))
            elif not re.match(r"int \*?\w+;$", t):
                found.append(self.statement(t))
        return found

    def statement(self, t):
        m = re.match(r"(\w+)\(\);$", t)
        if m and m.group(1) in FENCES:
            return ("fence", FENCES[m.group(1)])
        m = re.match(r"(\w+)\(\*?(\w+), (\w+)\);$", t)
        if m and m.group(1) in STORES:
            return ("store", STORES[m.group(1)], m.group(2), value(m.group(3)))
        m = re.match(r"(\w+) = (\w+)\(\*?(\w+)\);$", t)
        if m and m.group(2) in LOADS:
            return ("load", m.group(1), LOADS[m.group(2)], m.group(3))
        m = re.match(r"(\w+) = cmpxchg(?:_(\w+))?\((\w+), (\w+), (\w+)\);$", t)
        if m:
            return ("cmpxchg", m.group(1), m.group(2) or "mb", m.group(3), value(m.group(4)),
                    value(m.group(5)))
        raise Unknown(t)

    @staticmethod
    def condition(text):
        """The exists clause as a function of {(thread, register): value}, {location: value}."""
        text = text.strip()
        text = re.sub(r"(\d+):(\w+)=(-?\w+)",
                      lambda m: f"(regs.get(({m[1]}, '{m[2]}'), 0) == value('{m[3]}'))", text)
        text = re.sub(r"\b([a-z]\w*)=(-?\w+)(?![^(]*'\))", r"(last['\1'] == value('\2'))", text)
        text = text.replace("/\\", " and ").replace("\\/", " or ").replace("~", " not ")
        code = compile(" ".join(text.split()), "exists", "eval")
        return lambda regs, last: eval(code, {"value": value}, {"regs": regs, "last": last})

    def values(self):
        """All values that a location may hold."""
        found = {0, *self.init.values()}

        def collect(block):
            for s in block:
                if s[0] == "store":
                    found.add(s[3])
                elif s[0] == "cmpxchg":
                    found.add(s[5])
                elif s[0] == "if":
                    collect(s[4])
        for t in self.threads:
            collect(t)
        return {v for v in found if isinstance(v, int) or v in self.params}


class Event:
    """A load, a store or a fence; sources of dependencies are events of the same thread."""

    def __init__(self, thread, kind, order, loc=None, val=None, addr=(), data=(), ctrl=()):
        self.thread, self.kind, self.order, self.loc, self.val = thread, kind, order, loc, val
        self.addr, self.data, self.ctrl = list(addr), list(data), list(ctrl)
        self.rmw = None


def traces(test, nr, values):
    """Yields (events, registers) for all combinations of values that a thread may load."""
    def run(todo, events, regs, ctrl):
        if not todo:
            yield events, {r: v for r, (v, _) in regs.items()}
            return
        s, rest = todo[0], todo[1:]

        def operand(x):
            if x in regs:
                return regs[x]
            return (x, [])

        def place(x):
            if x in regs:
                return regs[x]
            return (x, [])
        if s[0] == "fence":
            yield from run(rest, events + [Event(nr, "F", s[1])], regs, ctrl)
        elif s[0] == "if":
            v, source = operand(s[1])
            taken = (v == operand(s[3])[0]) == (s[2] == "==")
            yield from run((s[4] if taken else []) + rest, events, regs, ctrl + source)
        elif s[0] == "store":
            loc, addr = place(s[2])
            v, data = operand(s[3])
            if isinstance(loc, str):
                yield from run(rest, events + [Event(nr, "W", s[1], loc, v, addr, data, ctrl)],
                               regs, ctrl)
        elif s[0] == "load":
            loc, addr = place(s[3])
            for v in values if isinstance(loc, str) else ():
                e = Event(nr, "R", s[2], loc, v, addr, (), ctrl)
                yield from run(rest, events + [e], {**regs, s[1]: (v, [e])}, ctrl)
        else:
            loc, addr = place(s[3])
            want, new = operand(s[4]), operand(s[5])
            for v in values:
                if v != want[0]:
                    e = [Event(nr, "R", "once", loc, v, addr, (), ctrl)]
                else:
                    e = [Event(nr, "R", "acquire" if s[2] == "acquire" else "once", loc, v,
                               addr, (), ctrl),
                         Event(nr, "W", "release" if s[2] == "release" else "once", loc,
                               new[0], addr, new[1], ctrl)]
                    e[1].rmw = e[0]
                    if s[2] == "mb":
                        e = [Event(nr, "F", "mb"), *e, Event(nr, "F", "mb")]
                read = next(x for x in e if x.kind == "R")
                yield from run(rest, events + e, {**regs, s[1]: (v, [read])}, ctrl)

    yield from run(test.threads[nr], [], {}, [])


class Relations:
    """Relations over n events: a bit mask of successors for each."""

    def __init__(self, n):
        self.n = n
        self.id = [1 << i for i in range(n)]

    def of(self, pairs):
        r = [0] * self.n
        for a, b in pairs:
            r[a] |= 1 << b
        return r

    def seq(self, *rs):
        out = rs[0]
        for r in rs[1:]:
            nxt = []
            for mask in out:
                m, i = 0, 0
                while mask:
                    if mask & 1:
                        m |= r[i]
                    mask >>= 1
                    i += 1
                nxt.append(m)
            out = nxt
        return out

    @staticmethod
    def union(*rs):
        return [sum_or(ms) for ms in zip(*rs)]

    @staticmethod
    def both(a, b):
        return [x & y for x, y in zip(a, b)]

    def opt(self, r):
        return self.union(r, self.id)

    def star(self, r):
        out = self.opt(r)
        while True:
            nxt = self.seq(out, out)
            if nxt == out:
                return out
            out = nxt

    def acyclic(self, r):
        plus = self.seq(r, self.star(r))
        return not any(plus[i] >> i & 1 for i in range(self.n))


def sum_or(masks):
    m = 0
    for x in masks:
        m |= x
    return m


def consistent(events, rf, co):
    """Do the model's axioms allow it? @rf: source of each load, @co: order of the stores."""
    n = len(events)
    rel, index = Relations(n), {id(e): i for i, e in enumerate(events)}
    every = range(n)

    def where(cond):
        return [1 << i if cond(events[i]) else 0 for i in every]

    def pairs(cond):
        return rel.of((a, b) for a in every for b in every if a != b and cond(events[a], events[b]))

    internal = pairs(lambda a, b: a.thread == b.thread and a.thread is not None)
    external = pairs(lambda a, b: a.thread != b.thread)
    po = rel.of((a, b) for a in every for b in every
                if a < b and events[a].thread == events[b].thread is not None
                and events[a].thread is not None)
    mem = where(lambda e: e.kind != "F")
    w, r = where(lambda e: e.kind == "W"), where(lambda e: e.kind == "R")
    rf_ = rel.of((index[id(s)], index[id(l)]) for l, s in rf)
    co_ = rel.of((index[id(a)], index[id(b)]) for order in co
                 for a, b in itertools.combinations(order, 2))
    fr_ = rel.seq(rel.of((b, a) for a in every for b in every if rf_[a] >> b & 1), co_)
    rfe, rfi = rel.both(rf_, external), rel.both(rf_, internal)
    loc = pairs(lambda a, b: a.loc is not None and a.loc == b.loc)
    if not rel.acyclic(rel.union(rel.both(po, loc), rf_, co_, fr_)):
        return False
    rmw = rel.of((index[id(e.rmw)], index[id(e)]) for e in events if e.rmw)
    if any(rel.both(rmw, rel.seq(rel.both(fr_, external), rel.both(co_, external)))):
        return False

    def deps(name):
        return rel.of((index[id(s)], index[id(e)]) for e in events for s in getattr(e, name))

    def fence(name):
        f = where(lambda e: e.kind == "F" and e.order == name)
        return rel.seq(po, f, po)

    addr, data, ctrl = deps("addr"), deps("data"), deps("ctrl")
    dep = rel.union(addr, data)
    acq_po = rel.seq(where(lambda e: e.order == "acquire"), po, mem)
    po_rel = rel.seq(mem, po, where(lambda e: e.order == "release"))
    gp_at = where(lambda e: e.kind == "F" and e.order == "gp")
    strong = rel.union(rel.seq(mem, fence("mb"), mem), rel.seq(po, gp_at, rel.opt(po)))
    wmb, rmb = rel.seq(w, fence("wmb"), w), rel.seq(r, fence("rmb"), r)
    fences = rel.union(strong, po_rel, acq_po, wmb, rmb)
    overwrite = rel.union(co_, fr_)
    ppo = rel.union(rel.seq(addr, r), rel.seq(dep, rfi), rel.seq(rel.union(dep, ctrl), w),
                    rel.both(overwrite, internal), rel.both(fences, internal))
    rmw_sequence = rel.star(rel.seq(rf_, rmw))
    cumul = rel.seq(rel.union(rel.seq(rel.opt(rfe), rel.union(strong, po_rel)), wmb),
                    rmw_sequence)
    prop = rel.seq(rel.opt(rel.both(overwrite, external)), rel.star(cumul), rel.opt(rfe))
    same = [m & ~(1 << i) for i, m in enumerate(rel.both(prop, internal))]
    hb = rel.union(ppo, rfe, same)
    if not rel.acyclic(hb):
        return False
    hbs = rel.star(hb)
    pb = rel.seq(prop, strong, hbs)
    if not rel.acyclic(pb):
        return False
    pbs = rel.star(pb)

    # Readers do not nest in our tests.
    rscsi, begun = [], {}
    for i, e in enumerate(events):
        if e.kind == "F" and e.order == "lock":
            begun[e.thread] = i
        elif e.kind == "F" and e.order == "unlock":
            rscsi.append((i, begun.pop(e.thread)))
    rscsi = rel.of(rscsi)
    link = rel.seq(rel.opt(po), hbs, pbs, prop, po)
    order = gp_at
    while True:
        nxt = rel.union(order, rel.seq(gp_at, link, rscsi), rel.seq(rscsi, link, gp_at),
                        rel.seq(gp_at, link, order, link, rscsi),
                        rel.seq(rscsi, link, order, link, gp_at),
                        rel.seq(order, link, order))
        if nxt == order:
            break
        order = nxt
    rb = rel.seq(prop, po, order, rel.opt(po), hbs, pbs)
    return not any(rb[i] >> i & 1 for i in every)


def executions(test):
    """Yields (registers, last values) of each execution that the model allows."""
    values = test.values()
    for choice in itertools.product(*(list(traces(test, nr, values))
                                      for nr in range(len(test.threads)))):
        program = [e for events, _ in choice for e in events]
        locs = sorted({e.loc for e in program if e.loc} | set(test.init))
        first = [Event(None, "W", "once", l, test.init.get(l, 0)) for l in locs]
        events = first + program
        writes = {l: [e for e in events if e.kind == "W" and e.loc == l] for l in locs}
        loads = [e for e in program if e.kind == "R"]
        sources = [[s for s in writes[l.loc] if s.val == l.val and s.rmw is not l]
                   for l in loads]
        regs = {(nr, k): v for nr, (_, kv) in enumerate(choice) for k, v in kv.items()}
        for source in itertools.product(*sources):
            for co in itertools.product(*([(writes[l][0], *p) for p in
                                           itertools.permutations(writes[l][1:])]
                                          for l in locs)):
                if consistent(events, list(zip(loads, source)), co):
                    yield regs, {o[0].loc: o[-1].val for o in co}


def judge(text):
    """Never, Sometimes or Always, for the text of a test."""
    test = Test(text)
    held = [bool(test.exists(regs, last)) for regs, last in executions(test)]
    if not held:
        raise Unknown("it has no execution")
    return "Always" if all(held) else "Sometimes" if any(held) else "Never"
