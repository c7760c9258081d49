# SPDX-License-Identifier: GPL-2.0-only
"""The model of scripts/prove/model: what an operation returns and changes, according to the manual.
It neither calls the core nor knows its internals.

Where the manual allows several outcomes, or where concurrent operations make several possible, the
model accepts the observed one if it is among them. What threads do at the same time has to be
explained by some order of their operations: one that returned before another one began precedes it.

Numbers of targets, properties and operations are those of model-module/model.h.
"""
import collections
import copy
import errno
import re

SHARED, KPROBES, PROBES, CROWD = 3, 15, 22, 40
BATCH, ROUND, NO_PROBE = 6, 16, 0xff
FN_M_TEXT, FN_M_TRACED, FN_CROWD, NR_FNS = 5, 6, 7, 8
T_TEXT, T_INNER, NR_SITES, T_UNKNOWN, T_NOWHERE, NR_WHERE = 0, 4, 12, 14, 15, 16
# The function that reaches a target, where call sites of ftrace are, function entries, what is in
# the module that is loaded and unloaded, and the error with which a kprobe is refused.
FN_OF = [0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 6]
TRACED, ENTRIES, COMING = {5, 7, 8, 11}, {0, 4, 5, 7, 8, 9, 11, 12}, {9, 10, 11}
REFUSED = {12: errno.EINVAL, 13: errno.EILSEQ, 14: errno.ENOENT, 15: errno.ENOENT}
CLAIMABLE = [5, 7, 8]
V_OFF, V_SYMBOL, V_BOTH, V_POST, V_FAULT, V_NEST, V_NO_PRE = (1 << i for i in range(7))
V_SKIP, V_ENTRY, V_BIG = V_POST, V_FAULT, V_NEST
KINDS = ("register unregister enable disable switch sysctl claim release load unload call "
         "crowd uncrowd").split()
# KPROBE_FLAG_*
GONE, DISABLED, OPTIMIZED, FTRACE, ON_ENTRY = 1, 2, 4, 8, 16
# MAYBE: the model cannot know, and accepts both.
NO, YES, MAYBE = 0, 1, 2
# Limits on how often a call synchronizes all CPUs. Sites are armed and disarmed in batches, so the
# number of sites does not matter; each ftrace_ops that is registered, refused or unregistered does.
SYNCS, SYNCS_OF_OPS = 16, 6
MAX_TRIES = 20000


class Wrong(Exception):
    """What came of an operation, or is seen, is not what had to."""


def is_return(p):
    return p >= KPROBES


def has_post(p, variant):
    return not is_return(p) and variant & V_POST


class Op:
    """An operation and its result."""

    def __init__(self, nr, kind, thread, arg=0):
        self.nr, self.kind, self.thread, self.arg = nr, kind, thread, arg
        self.fail, self.batch, self.returns = 0, 0, 0
        # Lists: probe, where, variant, fresh; then linked, running.
        self.items = []
        self.err = self.failed = self.syncs = self.begin = self.end = 0
        self.hits = {}

    def numbers(self):
        return [self.nr, KINDS.index(self.kind), self.thread, self.arg, self.fail, self.batch,
                self.returns, len(self.items), *(n for i in self.items for n in i)]

    def result(self, text):
        head, *parts = re.split(r" (?=[ih] )", text)
        _, self.err, self.failed, self.syncs, self.begin, self.end = map(int, head.split())
        for part in parts:
            kind, *values = part.split()
            values = [int(v) for v in values]
            if kind == "h":
                self.hits[values[0]] = values[1:]
            else:
                item = next(i for i in self.items if len(i) == 4)
                item[1:] = values

    def __str__(self):
        text = f"{self.nr}: thread {self.thread} {self.begin}-{self.end}: {self.kind}"
        text += " array" * bool(self.batch) + f" {self.arg}" * (self.kind in KINDS[4:12])
        for i in self.items:
            text += " NULL" if i[0] == NO_PROBE else " {}{}".format("kr"[is_return(i[0])], i[0])
            if self.kind == "register" and i[0] != NO_PROBE:
                text += f"@{i[1]}({i[2]:#x}{'' if i[3] else ' again'})"
        if self.fail:
            text += f", allocation {self.fail} {'failed' if self.failed else 'did not come'}"
        return f"{text} = {self.err}"


class User:
    """What the model knows of a probe: addr, whether it is set; when it was registered (age), and in
    which round; nmissed, at least, and how much more it may be."""

    def __init__(self, where=T_TEXT, variant=0):
        self.registered, self.where, self.variant = False, where, variant
        self.symbol = bool(variant & (V_SYMBOL | V_BOTH)) and where != T_NOWHERE
        self.addr = YES if variant & V_BOTH or not variant & V_SYMBOL else NO
        self.flags = DISABLED if variant & V_OFF else 0
        self.age = self.round = self.missed = self.slop = 0


class Overlap:
    """What other threads did while an operation was running."""

    def __init__(self):
        # Probes whose handlers this call may have run or not (-1: the crowd), and those that were
        # being unregistered, and registered.
        self.fuzzy, self.leaving, self.coming = set(), set(), set()
        # The module was being loaded or unloaded.
        self.module = False
        # Targets whose function may be claimed for a moment; and by another user.
        self.claims, self.others = set(), set()


class State:
    """Everything that the model knows: of each target, whether it is armed; whether our claim on
    the function is in force; another user's (held); and after an allocation has failed, whether
    ours may be in force longer than needed (stale), and the address in more filters (left)."""

    def __init__(self):
        self.user = [User() for _ in range(PROBES)]
        self.armed, self.claimed = [NO] * NR_SITES, [NO] * NR_SITES
        self.held, self.stale, self.left = ([False] * NR_SITES for _ in range(3))
        self.on = self.jumps = True
        self.loaded = self.crowd = self.crowd_post = self.crowd_left = False
        self.crowd_armed, self.crowd_ops = NO, 0
        self.age = self.round = 0

    def copy(self):
        new = copy.copy(self)
        new.user = [copy.copy(u) for u in self.user]
        for name in ("armed", "claimed", "held", "stale", "left"):
            setattr(new, name, getattr(self, name)[:])
        return new

    def enabled(self, p):
        """Its handlers are called while its site is armed."""
        return self.user[p].registered and not self.user[p].flags & (DISABLED | GONE)

    def users(self, t):
        return [p for p, u in enumerate(self.user)
                if u.registered and u.where == t and not u.flags & GONE]

    def has_enabled(self, t):
        return any(map(self.enabled, self.users(t)))

    def wanted(self, t):
        return self.on and self.has_enabled(t)

    def claims(self, t):
        """Does a site have a post handler, which claims the function while it is armed?"""
        return t in TRACED and any(has_post(p, self.user[p].variant) for p in self.users(t))

    def conflicts(self, t):
        """Would arming the site, or claiming its function, be refused now?"""
        if t >= NR_SITES or not self.held[t] or not self.claims(t):
            return NO
        if self.armed[t] == MAYBE:
            return MAYBE
        if self.armed[t] == YES:
            return {YES: NO, MAYBE: MAYBE, NO: YES}[self.claimed[t]]
        return YES if self.wanted(t) else NO

    def retry_disarming(self, failed):
        """Whatever detaches users disarms the sites again that ftrace has failed to disarm. A
        registration that fails does so, too."""
        for t in TRACED:
            if not self.wanted(t) and self.armed[t] != NO:
                self.armed[t] = self.claimed[t] = MAYBE if failed else NO

    def unsure(self, t):
        self.armed[t] = self.claimed[t] = MAYBE
        self.stale[t] = self.left[t] = True

    def follow(self, t, arming, failed):
        """Update a site after a change of its users. With arming, a wanted site becomes armed;
        otherwise it keeps its state. A site that is not wanted is disarmed."""
        if t >= NR_SITES:
            return
        if not self.wanted(t):
            # If disarming it failed before, this operation need not try again.
            self.armed[t] = MAYBE if self.armed[t] != NO and \
                (arming or self.has_enabled(t)) else NO
        elif arming:
            self.armed[t] = YES
        if self.claims(t):
            self.claimed[t] = self.armed[t]
        elif self.armed[t] == NO or self.claimed[t] != MAYBE:
            self.claimed[t] = NO
        if failed and t in TRACED:
            self.unsure(t)

    def pass_by(self, t, failed):
        """A registration failed, after it may have been at a site. Where arming or disarming had
        failed before, it may have succeeded now."""
        if t not in TRACED:
            return
        if failed:
            self.unsure(t)
        elif (self.armed[t] == YES) != self.wanted(t):
            self.armed[t] = MAYBE
            if self.claims(t):
                self.claimed[t] = MAYBE

    def refused_by_stale(self, op, t):
        """Without memory, a claim that was left before cannot be given up and refuses a new one."""
        return op.failed and op.err == -errno.EBUSY and t < NR_SITES and self.stale[t]

    def predict(self, op, over):
        """Let an operation happen; Wrong if something else has come of it."""
        getattr(self, "do_" + op.kind)(op, over)

    # Registering

    def item_error(self, op, item, loaded):
        """The error of a probe alone, before anything is armed."""
        p, where = item[:2]
        if p == NO_PROBE:
            return -errno.EINVAL
        u = self.user[p]
        addr = u.addr == YES or u.addr == MAYBE and op.err != -errno.EINVAL
        # It is in this array for the second time, or has both or neither.
        if u.age == self.age + 1 and u.registered or u.symbol == addr:
            return -errno.EINVAL
        if REFUSED.get(where) == errno.ENOENT or where in COMING and not loaded:
            return -errno.ENOENT
        if op.returns and where not in ENTRIES or u.registered:
            return -errno.EINVAL
        if op.returns and u.variant & V_BIG:
            return -errno.E2BIG
        return -REFUSED.get(where, 0)

    def register_allowed(self, op, over, good, expected, busy):
        """The first @good probes are users already."""
        if op.err == expected or busy != NO and op.err == -errno.EBUSY or \
           op.failed and op.err == -errno.ENOMEM:
            return True
        for nr, item in enumerate(op.items):
            p, where = item[:2]
            if p == NO_PROBE:
                continue
            if op.err == -errno.EINVAL and p in over.leaving | over.coming or \
               self.refused_by_stale(op, where):
                return True
            # Symbols of a module outlive its probes.
            if op.err and over.module and where in COMING and \
               (op.err == -errno.ENOENT or
                    nr >= good and op.err == self.item_error(op, item, True)):
                return True
        return False

    def do_register(self, op, over):
        for p, where, variant, fresh, *_ in op.items:
            if fresh:
                self.user[p] = User(where, variant)
        before, err = [], 0
        for item in op.items:
            err = self.item_error(op, item, self.loaded)
            if err:
                break
            p, where = item[:2]
            before.append((p, copy.copy(self.user[p])))
            u = self.user[p]
            u.registered, u.addr, u.missed, u.slop = True, YES, 0, 0
            u.flags = u.flags & DISABLED | FTRACE * (where in TRACED) | \
                ON_ENTRY * (where in ENTRIES)
            u.age = self.age + 1
        # An error from arming the probes before it takes precedence.
        busy = max((self.conflicts(i[1]) for i in op.items[:len(before)]), default=NO)
        if busy == YES:
            err = -errno.EBUSY
        if not self.register_allowed(op, over, len(before), err, busy):
            raise Wrong(f"registering should return {err}, not {op.err}")
        if op.err:
            for p, u in reversed(before):
                self.user[p] = u
            for item in op.items:
                if item[0] != NO_PROBE:
                    self.pass_by(item[1], op.failed)
            self.retry_disarming(op.failed)
            return
        # A later one in the array is a newer user.
        for item in op.items:
            self.age += 1
            self.user[item[0]].age = self.age
            self.user[item[0]].round = self.round
        for item in op.items:
            self.follow(item[1], True, op.failed)

    def do_unregister(self, op, over):
        leaves, seen = False, set()
        for p, where, _, _, linked, running in op.items:
            if p == NO_PROBE:
                continue
            u = self.user[p]
            if linked and p not in over.coming:
                raise Wrong(f"probe {p} is in use after unregistering")
            if running and p not in over.coming:
                raise Wrong(f"a handler of probe {p} runs after unregistering")
            if u.registered:
                u.registered = False
                u.flags |= DISABLED
                self.follow(where, False, op.failed)
                leaves = True
            elif p not in seen:
                u.addr = MAYBE if p in over.leaving | over.coming and u.addr else NO
            seen.add(p)
        self.retry_disarming(op.failed)
        # Claims that an allocation that failed has left end when the next user leaves.
        if leaves and not op.failed:
            self.stale = [False] * NR_SITES

    # Switches

    def do_enable(self, op, over):
        u = self.user[op.items[0][0]]
        if not u.registered or u.flags & GONE:
            return expect("enabling", op.err, -errno.EINVAL)
        disabled = u.flags & DISABLED
        # Where an enabled one was refused before, this tries again.
        u.flags &= ~DISABLED
        busy = self.conflicts(u.where)
        if not (busy == MAYBE and op.err == -errno.EBUSY or
                op.failed and op.err == -errno.ENOMEM or self.refused_by_stale(op, u.where)):
            expect("enabling", op.err, -errno.EBUSY if busy == YES else 0)
        if op.err:
            u.flags |= disabled
        return self.follow(u.where, not op.err, op.failed)

    def do_disable(self, op, _):
        u = self.user[op.items[0][0]]
        if op.failed and op.err == -errno.ENOMEM:
            self.follow(u.where, False, True)
            return
        expect("disabling", op.err, 0 if u.registered else -errno.EINVAL)
        if not op.err and not u.flags & (GONE | DISABLED):
            u.flags |= DISABLED
            self.follow(u.where, False, op.failed)

    def check_syncs(self, op):
        limit = SYNCS + SYNCS_OF_OPS * self.crowd_ops
        # Without memory, a batch is halved, and addresses stay in a filter until later.
        if op.failed:
            limit += 2 * SYNCS_OF_OPS
        if self.crowd_left:
            limit += 2 * SYNCS_OF_OPS * (1 + self.crowd_ops)
        for t in range(NR_SITES):
            limit += SYNCS_OF_OPS * self.claims(t)
            limit += 2 * SYNCS_OF_OPS * (self.left[t] or self.stale[t])
        if op.syncs > limit:
            raise Wrong(f"all CPUs were synchronized {op.syncs} times, not up to {limit} times")

    def most_crowd_ops(self, op, over):
        """At most how many ftrace_ops claim functions of the crowd after probes were switched on?
        All claims of a batch share one. If ftrace refuses some of them, the batch is halved, again
        and again, and each half that it accepts gets an ops of its own. An allocation that fails
        refuses a batch once."""
        if not self.crowd or not self.crowd_post:
            return 0
        claimed = [t for t in range(NR_SITES) if self.claims(t)]
        refused = op.failed + sum(self.held[t] or t in over.others for t in claimed)
        return 1 + refused * (CROWD + len(claimed) - 1).bit_length()

    def do_switch(self, op, over):
        busy = NO
        if self.on != bool(op.arg):
            self.on = bool(op.arg)
            if self.on:
                self.crowd_ops = self.most_crowd_ops(op, over)
            self.check_syncs(op)
            for t in range(NR_SITES):
                refused = self.conflicts(t) if self.on else NO
                busy = max(busy, refused, MAYBE if self.refused_by_stale(op, t) else NO)
                if not self.on:
                    self.armed[t] = NO
                self.follow(t, refused == NO, op.failed)
                if refused == MAYBE or refused == YES and self.armed[t] == YES:
                    self.armed[t] = self.claimed[t] = MAYBE
            if op.failed and self.crowd_left:
                busy = max(busy, MAYBE)
            self.crowd_armed = YES if self.crowd and self.on else NO
            if op.failed:
                self.crowd_armed = MAYBE
                self.crowd_left |= self.crowd
        if not (busy == MAYBE and op.err in (0, -errno.EBUSY) or
                op.failed and op.err == -errno.ENOMEM):
            expect("switching", op.err, -errno.EBUSY if busy == YES else 0)

    def do_sysctl(self, op, _):
        self.jumps = bool(op.arg)
        expect("the sysctl", op.err, 0)

    # Others

    def do_claim(self, op, over):
        t = op.arg
        unsure = self.claimed[t] == MAYBE or self.stale[t] or t in over.claims
        err = -errno.EEXIST if self.held[t] else -errno.EBUSY if self.claimed[t] == YES else 0
        if not (unsure and err != -errno.EEXIST and op.err in (0, -errno.EBUSY)):
            expect("a claim", op.err, err)
        self.held[t] = self.held[t] or not op.err

    def do_release(self, op, _):
        expect("a release", op.err, 0 if self.held[op.arg] else -errno.ENOENT)
        self.held[op.arg] = False

    def do_load(self, op, over):
        load = op.kind == "load"
        err = -errno.EIO if self.loaded == load else 0
        expect("the module", op.err, err)
        self.loaded = load
        for u in self.user:
            if not load and u.registered and u.where in COMING:
                u.flags |= GONE
        for t in COMING if not load else ():
            self.armed[t] = self.claimed[t] = NO

    do_unload = do_load

    def nest(self, over, n):
        """A handler called the inner function @n times; hits there are missed."""
        armed = self.armed[T_INNER]
        at = self.users(T_INNER)
        for p, u in enumerate(self.user):
            missed = p in at and self.enabled(p)
            if p in over.fuzzy or missed and armed == MAYBE:
                u.slop += n
            elif missed and armed:
                u.missed += n

    def check_hits(self, op, p, fuzzy):
        u = self.user[p]
        got = op.hits.get(p, [0, 0])
        armed = self.armed[u.where] if self.enabled(p) and u.where < NR_SITES and \
            FN_OF[u.where] == op.arg else NO
        if fuzzy or armed == MAYBE:
            if max(got) > 2:
                raise Wrong(f"probe {p} was called far too often")
            return
        if is_return(p):
            want = [not u.variant & V_SKIP, bool(u.variant & (V_SKIP | V_ENTRY))]
        else:
            want = [not u.variant & V_NO_PRE, bool(u.variant & V_POST)]
        want = [int(w and armed == YES) for w in want]
        if got != want:
            raise Wrong(f"probe {p} should be called {want} times, not {got}")

    def do_call(self, op, over):
        there = self.loaded if op.arg in (FN_M_TEXT, FN_M_TRACED) else True
        if not (over.module and op.err in (0, -errno.ENODEV)):
            expect("the call", op.err, 0 if there else -errno.ENODEV)
        if op.err:
            return
        if op.arg == FN_CROWD:
            hits = CROWD if self.crowd_armed == YES else 0
            want, got = [hits, hits if self.crowd_post else 0], op.hits.get(PROBES, [0, 0])
            if -1 not in over.fuzzy and self.crowd_armed != MAYBE and got != want:
                raise Wrong(f"the crowd should be called {want} times, not {got}")
            return
        for p in range(PROBES):
            self.check_hits(op, p, p in over.fuzzy)
        for p in range(KPROBES):
            if self.user[p].variant & V_NEST:
                self.nest(over, op.hits.get(p, [0, 0])[0])

    def do_crowd(self, op, _):
        come = op.kind == "crowd"
        if op.err or not come:
            self.retry_disarming(op.failed)
        # Claims that were left may not end without memory.
        if op.failed and (op.err == -errno.ENOMEM or
                          op.err == -errno.EBUSY and self.crowd_left):
            self.crowd_armed = MAYBE if self.crowd else NO
            self.crowd_left = True
            return
        expect("the crowd", op.err, -errno.EINVAL if come and self.crowd else 0)
        if op.err:
            return
        if come:
            self.crowd_post, self.crowd_ops = bool(op.arg), op.arg
        self.check_syncs(op)
        self.crowd = come
        self.crowd_armed = YES if come and self.on else NO
        self.crowd_left |= bool(op.failed)

    do_uncrowd = do_crowd

    # What is seen

    def check_seen(self, seen, alone):
        """Compare with what was seen while no operation was running."""
        for p, (where, flags, nmissed, linked) in enumerate(seen.probes):
            u = self.user[p]
            if u.addr != MAYBE and (where >= 0) != (u.addr == YES) or \
               u.registered and not u.flags & GONE and where != u.where:
                raise Wrong(f"addr of probe {p} is that of target {where}")
            if flags != u.flags:
                raise Wrong(f"flags of probe {p} are {flags:#x}, not {u.flags:#x}")
            if linked != u.registered:
                raise Wrong(f"list of probe {p} is wrong")
            if not u.missed <= nmissed <= u.missed + u.slop:
                raise Wrong(f"probe {p} missed {nmissed}, not {u.missed} to {u.missed + u.slop}")
        for t in range(NR_SITES):
            self.check_site(seen, t, alone)
            self.check_filters(seen, t)
            self.check_jump(seen, t)
        gone = [sum(u.registered and bool(u.flags & GONE) and is_return(p) == r
                    for p, u in enumerate(self.user)) for r in (False, True)]
        if gone != seen.gone:
            raise Wrong(f"{seen.gone} lines of what is gone, not {gone}")
        lines, armed, *_ = seen.crowd
        if lines != CROWD * self.crowd or self.crowd_armed != MAYBE and \
           armed != CROWD * (self.crowd_armed == YES):
            raise Wrong(f"{lines} lines of the crowd, {armed} are armed")
        if not self.crowd_left and self.crowd_remains(seen):
            raise Wrong(f"the crowd has {seen.crowd}: lines, armed, filters, claimed")
        if seen.on != self.on:
            raise Wrong(f"the switch is {'on' if seen.on else 'off'}")

    def crowd_remains(self, seen):
        _, armed, ops, exclusive = seen.crowd
        return ops != armed or exclusive != (armed if self.crowd_post else 0)

    def check_site(self, seen, t, alone):
        users = sorted(self.users(t), key=lambda p: -self.user[p].age)
        lines = [(is_return(p), not self.enabled(p), t in TRACED) for p in users]
        got = seen.lines[t]
        if not alone and len(got) == len(lines):
            # Several orders may explain a round, and the first that did need not be the true one.
            got = self.unordered(users, got)
            lines = self.unordered(users, lines)
        if got != lines:
            raise Wrong(f"lines of target {t}: {seen.lines[t]}, not {lines}: return, disabled, "
                        "ftrace")
        site = seen.sites.get(t)
        # Its last user has left, but it could not be disarmed yet.
        if site and not users and not site.users and t in TRACED and self.armed[t] != NO:
            return
        want = [len(users), sum(map(self.enabled, users))]
        if (site and [site.users, site.enabled]) != (want if users else None):
            raise Wrong(f"target {t} should have users, enabled {want}, has {site}")
        missed = sum(seen.probes[p][2] for p in users)
        if site and site.missed != missed:
            raise Wrong(f"target {t} missed {site.missed} hits, its users {missed}")
        if site and self.armed[t] != MAYBE and site.armed != (self.armed[t] == YES):
            raise Wrong(f"target {t} should {'not ' * site.armed}be armed")

    def unordered(self, users, lines):
        """Lines of users, newest first, without the order of those of one round."""
        rounds = [self.user[p].round for p in users]
        return [l for _, l in sorted(zip(rounds, lines), key=lambda r: (-r[0], r[1]))]

    def check_filters(self, seen, t):
        """Is the function in exactly the filters that need it, and claimed only if needed? More is
        accepted while an allocation that failed may have left something behind."""
        if t not in TRACED:
            return
        armed, (ops, exclusive) = seen.armed(t), seen.ops.get(t, (0, False))
        want, claim = armed + self.held[t], self.held[t] or armed and self.claims(t)
        if ops < want or ops > want and not self.left[t]:
            raise Wrong(f"target {t} is in {ops} filters, not {want}")
        if claim != exclusive and (claim or not self.stale[t]):
            raise Wrong(f"target {t} should {'' if claim else 'not '}be claimed")

    def check_jump(self, seen, t):
        site = seen.sites.get(t)
        if not site or not site.on_the_way:
            return
        if not self.jumps or not site.armed or t in TRACED:
            raise Wrong(f"target {t} gets a jump")
        if site.optimized and any(seen.armed(o) and seen.near(t, o) for o in range(NR_SITES)):
            raise Wrong(f"target {t} has a jump over another probe")
        for p in self.users(t):
            if not is_return(p) and self.user[p].variant & (V_POST | V_FAULT):
                raise Wrong(f"target {t} gets a jump despite probe {p}")

    def adopt(self, seen):
        """Replace what the model left open by what was seen."""
        for t in range(NR_SITES):
            armed, (ops, exclusive) = seen.armed(t), seen.ops.get(t, (0, False))
            self.armed[t] = YES if armed else NO
            self.claimed[t] = YES if exclusive and not self.held[t] else NO
            self.stale[t] &= self.claimed[t] == YES and not (armed and self.claims(t))
            self.left[t] &= ops != armed + self.held[t]
        for u, (where, _, nmissed, _) in zip(self.user, seen.probes):
            u.addr = YES if where >= 0 else NO
            u.missed, u.slop = nmissed, 0
        self.crowd_left &= self.crowd_remains(seen)
        if seen.crowd[1] in (0, CROWD):
            self.crowd_armed = YES if seen.crowd[1] else NO


def expect(what, got, want):
    if got != want:
        raise Wrong(f"{what} should return {want}, not {got}")


Site = collections.namedtuple("Site", "users enabled missed armed optimized on_the_way")


class Seen:
    """What debugfs, ftrace and the structures show while no operation is running. @places is
    [(symbol, offset)] of the targets."""

    def __init__(self, places):
        self.places = places
        self.lines, self.sites, self.ops = [[] for _ in range(NR_SITES)], {}, {}
        self.gone, self.crowd, self.on, self.probes = [0, 0], None, None, []

    def armed(self, t):
        return t in self.sites and self.sites[t].armed

    def near(self, t, other):
        """Is it in the range of the jump?"""
        return self.places[t][0] == self.places[other][0] and \
            0 < self.places[other][1] - self.places[t][1] < 5

    def target(self, name):
        symbol, _, offset = name.split("/")[0].partition("+0x")
        place = symbol, int(offset or "0", 16)
        if place not in self.places:
            raise Wrong(f"not of ours: {name}")
        return self.places.index(place)

    def face(self, name, text):
        """A line of a file."""
        words, marks = text.split(), dict(re.findall(r"(\w+)=(\S+)", text))
        if name == "enabled":
            self.on = text == "1"
        elif name == "crowd":
            self.crowd = [int(w) for w in words]
        elif name == "list" and "[GONE]" in text:
            self.gone[words[1] == "r"] += 1
        elif name == "list":
            t = self.target(words[2])
            if words[3] != ("kprobe_model_target" if t in COMING else "kprobe_model"):
                raise Wrong(f"wrong names: {text}")
            self.lines[t].append((words[1] == "r", "[DISABLED]" in text, "[FTRACE]" in text))
        elif name == "sites" and marks["state"] != "gone":
            t, live, kind = self.target(words[1]), marks.get("opt") == "live", marks["kind"]
            if t in self.sites or (kind == "ftrace") != (t in TRACED) or \
               marks["state"] not in ("armed", "disarmed") or live and kind != "optimized":
                raise Wrong(f"wrong site: {text}")
            missed = sum(int(n) for what, n in marks.items() if what.startswith("missed_"))
            self.sites[t] = Site(int(marks["users"]), int(marks["enabled"]), missed,
                                 marks["state"] == "armed", kind == "optimized",
                                 live or marks.get("opt") in ("waiting", "queued"))
        elif name == "enabled_functions":
            # Its name, "(OPS)", and flags, which precede a tab.
            for t in TRACED:
                if self.places[t][0] == words[0]:
                    ops, flags = re.search(r" \((\d+)\)([^\t]*)", text).groups()
                    self.ops[t] = int(ops), " I" in flags


class Round:
    """Operations of all threads between two comparisons of the whole state."""

    def __init__(self, nr, fills, ops):
        self.nr, self.fills, self.ops = nr, fills, ops
        self.filled, self.checks, self.seen = [], [], None

    def overlap(self, state, op):
        """What happened at the same time."""
        over = Overlap()
        where = {(p, u.where) for p, u in enumerate(state.user)}
        where |= {(i[0], i[1]) for o in self.ops for i in o.items}

        def at(targets):
            return {p for p, t in where if t in targets}

        for other in self.ops:
            if other.thread == op.thread or other.begin >= op.end or op.begin >= other.end:
                continue
            for p, t, *_ in other.items:
                if p == NO_PROBE:
                    continue
                over.fuzzy.add(p)
                if t in TRACED:
                    over.claims.add(t)
                    # Their site may be moving from one ftrace_ops to another.
                    over.fuzzy |= at({t})
                if other.kind == "unregister":
                    over.leaving.add(p)
                if other.kind == "register":
                    over.coming.add(p)
            if other.kind == "switch":
                over.fuzzy |= {-1, *range(PROBES)}
                over.claims |= {*range(NR_SITES)}
            elif other.kind in ("load", "unload"):
                over.module = True
                over.fuzzy |= at(COMING)
            elif other.kind in ("crowd", "uncrowd"):
                over.fuzzy.add(-1)
            elif other.kind in ("claim", "release"):
                over.others.add(other.arg)
        return over

    def end(self, state, alone):
        """Compare the state after the last operation with what was seen."""
        state.check_seen(self.seen, alone)
        state.adopt(self.seen)
        held = state.held[:]
        for check in self.checks:
            # Misses in these calls are compared after the next round.
            state.predict(check, Overlap())
        # The claim has been released.
        state.held = held
        state.round += 1
        return state

    def judge(self, state, alone):
        """The state after the round, in the first order of its operations that explains what was
        observed; Wrong with the reasons against those orders that explain most."""
        for p, where, variant, _ in self.fills:
            if p in self.filled:
                state.user[p] = User(where, variant)
        # The likeliest order first.
        ops = sorted(self.ops, key=lambda o: o.end)
        over = {o: self.overlap(state, o) for o in ops}
        reasons, tries = collections.Counter(), 0

        def search(state, left):
            nonlocal tries
            try:
                if not left:
                    return self.end(state.copy(), alone)
            except Wrong as e:
                reasons[len(ops), f"difference after the round: {e}"] += 1
                return None
            first_end = min(o.end for o in left)
            for o in left:
                if o.begin > first_end or tries >= MAX_TRIES:
                    continue
                tries += 1
                after = state.copy()
                try:
                    after.predict(o, over[o])
                except Wrong as e:
                    depth = len(ops) - len(left)
                    reasons[depth, f"difference at {o.nr}, after {depth} others: {e}"] += 1
                    continue
                found = search(after, [l for l in left if l is not o])
                if found:
                    return found
            return None

        found = search(state, ops)
        if found:
            return found
        # One of those that are not the deepest may be the true one.
        raise Wrong("\n".join(f"{why} (orders: {n})" for (_, why), n in
                              sorted(reasons.items(), key=lambda r: -r[0][0])[:8]) +
                    f"\nno order found in {tries} tries" * (tries >= MAX_TRIES))
