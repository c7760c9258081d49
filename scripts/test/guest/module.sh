# SPDX-License-Identifier: GPL-2.0-only
# Probes in a module that comes and goes, with the modules kprobe_test_target
# and kprobe_test_driver (CONFIG_KPROBES_TEST_MODULES).
# checks: 53
# timeout: 240
. /guest/lib.sh

refused() { ! echo "$2" >"$DRIVER/$1"; }
call() { echo 1 >$TARGET/call; }

if ! modprobe kprobe_test_driver 2>/dev/null; then
	skip "p_mod modules" "no CONFIG_KPROBES_TEST_MODULES"
	return 0 2>/dev/null || exit 0
fi

check "a symbol of a module that is not there is refused" \
	refused register kprobe_test_target:kprobe_test_fn
listed=$(wc -l <$KPROBES/blacklist)
check "the target loads" modprobe kprobe_test_target
check "a probe in the module registers" \
	sh -c "echo kprobe_test_target:kprobe_test_fn >$DRIVER/register"
call
call
check "it is hit" is hits 2
check "it is not gone" is gone 0
check "NOKPROBE_SYMBOL() of the module is refused" sh -c \
	". /guest/lib.sh; echo 1 >$DRIVER/unregister;
	 ! echo kprobe_test_target:kprobe_test_nokprobe >$DRIVER/register"
check "the module has a variant of it" \
	grep -q 'kprobe_test_nokprobe.isra.0.*kprobe_test_target' /proc/kallsyms
check "it is refused, too" \
	refused register kprobe_test_target:kprobe_test_nokprobe.isra.0
check "__kprobes of the module is refused" \
	refused register kprobe_test_target:kprobe_test_in_section
check "the blacklist shows both" sh -c \
	"[ \$(grep -cE 'kprobe_test_(nokprobe|in_section)' $KPROBES/blacklist) -eq 2 ]"
if frees_init; then
	# Nor a third one for its init text, which has no name any more.
	check "and no more than both" \
		[ $(($(wc -l <$KPROBES/blacklist) - listed)) -eq 2 ]
	check "init text of a loaded module is refused" \
		refused register kprobe_test_target:kprobe_test_init_fn
else
	check "and no more than both, and one in its init text" \
		[ $(($(wc -l <$KPROBES/blacklist) - listed)) -eq 3 ]
	skip "init text of a loaded module is refused" "it stays"
fi
if [ -e $TRACING/kprobe_events ]; then
	check "no event in what must not be traced" sh -c \
		"! echo p:untraced kprobe_test_target:kprobe_test_no_trace >$TRACING/kprobe_events"
	check "but one in what may be" sh -c \
		"echo p:traced kprobe_test_target:kprobe_test_fn >$TRACING/kprobe_events"
	echo >$TRACING/kprobe_events
fi
check "a probe in what must not be traced" \
	sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
call
check "is hit" is hits 1
echo 1 >$DRIVER/unregister

check "the probe registers again" \
	sh -c "echo kprobe_test_fn >$DRIVER/register"
call
check "it is hit again" is hits 1
check "the module unloads with the probe in it" rmmod kprobe_test_target
check "the probe is gone" is gone 1
check "the list says so" sh -c "grep -q 'GONE' $KPROBES/list"
check "it cannot be enabled" refused enable 1
# Its symbol is gone, but its address must not be shown instead.
echo 2 >/proc/sys/kernel/kptr_restrict
for file in list sites; do
	check "its address is not in $file either" sh -c \
		"grep -q . $KPROBES/$file && ! grep -q 'ffffffff[0-9a-f]' $KPROBES/$file"
done
echo 0 >/proc/sys/kernel/kptr_restrict
check "the blacklist has forgotten the module" sh -c \
	"! grep -qE 'kprobe_test_(nokprobe|in_section)' $KPROBES/blacklist &&
	 [ \$(wc -l <$KPROBES/blacklist) -eq $listed ]"

# Again and again, so that addresses are used a second time.
ok=y
for i in 1 2 3 4 5 6 7 8 9 10; do
	modprobe kprobe_test_target || ok=
	# The first time around, the old probe is still registered.
	echo 1 >$DRIVER/unregister
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || ok=
	call
	is hits 1 || ok=
	rmmod kprobe_test_target || ok=
	is gone 1 || ok=
done
check "ten reloads with the probe registered" [ "$ok" ]
check "unregistered when it is long gone" sh -c \
	"echo 1 >$DRIVER/unregister && ! grep -q GONE $KPROBES/list"

check "init text can be probed as the module comes" sh -c \
	"echo kprobe_test_target:kprobe_test_init_fn >$DRIVER/on_coming &&
	 modprobe kprobe_test_target"
check "it was hit once" is coming_hits 1
if frees_init; then
	check "it is gone when the module is live" is coming_gone 1
else
	skip "it is gone when the module is live" "the init text stays"
fi
check "it is killed only once" rmmod kprobe_test_target
echo none >$DRIVER/on_coming

# A new probe at an address where one is gone but still registered. A module gets the lowest hole,
# which depends on which areas have been purged by then: on powerpc, where all areas of a module
# have the same size, it is one of three or four. One that does not recur in ten reloads is given
# up for another one.
two_at_once() { awk '{ n[$1]++ } END { for (a in n) if (n[a] > 1) exit 0; exit 1 }' $KPROBES/list; }
ok=y same=0
for try in 1 2 3 4 5 6; do
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/on_coming
	modprobe kprobe_test_target
	rmmod kprobe_test_target
	for i in 1 2 3 4 5 6 7 8 9 10; do
		modprobe kprobe_test_target || ok=
		echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || ok=
		call
		is hits 1 && is coming_gone 1 || ok=
		! two_at_once || same=$((same + 1))
		rmmod kprobe_test_target || ok=
		echo 1 >$DRIVER/unregister || ok=
	done
	[ $same -eq 0 ] || break
done 2>/dev/null
echo "    $same of 10 were at the address of the one that is gone, try $try"
check "a new probe where one is gone is hit" [ "$ok" ]
check "some were at its address" [ $same -ge 1 ]
echo none >$DRIVER/on_coming

event_dies() {
	modprobe kprobe_test_target &&
		echo p:off kprobe_test_target:kprobe_test_fn >$TRACING/kprobe_events &&
		$1 && rmmod kprobe_test_target && grep -q GONE $KPROBES/list
}
on_and_off() {
	echo 1 >$TRACING/events/kprobes/off/enable && echo 0 >$TRACING/events/kprobes/off/enable
}
for what in true on_and_off; do
	check "a probe that is switched off dies with its module ($what)" event_dies $what
	echo >$TRACING/kprobe_events
done
check "so does one when all are switched off" sh -c \
	"modprobe kprobe_test_target &&
	 echo kprobe_test_target:kprobe_test_fn >$DRIVER/register &&
	 echo 0 >$KPROBES/enabled && rmmod kprobe_test_target &&
	 echo 1 >$KPROBES/enabled && grep -q 1 $DRIVER/gone"

# The text is not freed yet, but the core has already removed the module's probes.
check "no probe in a module that is going" sh -c \
	"modprobe kprobe_test_target && echo 1 >$DRIVER/unregister &&
	 echo kprobe_test_target:kprobe_test_fn >$DRIVER/on_going &&
	 echo 1 >$DRIVER/going_error && rmmod kprobe_test_target &&
	 [ \$(cat $DRIVER/going_error) -eq -2 ]"
echo none >$DRIVER/on_going

# Before the core's notifier has run, the blacklist of a module is not known; and the
# core is not notified if the module is refused.
modprobe kprobe_test_target && rmmod kprobe_test_target
echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/on_early
echo 1 >$DRIVER/early_error
check "the target loads although an early notifier tries to probe it" modprobe kprobe_test_target
check "no probe before the core's notifier has run" is early_error -2
rmmod kprobe_test_target
echo none >$DRIVER/on_early

# Nor after the core has handled MODULE_STATE_GOING of a module that is still COMING.
echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/on_going
echo 1 >$DRIVER/going_error
echo 1 >$DRIVER/refuse_coming
check "a notifier refuses the target" sh -c "! modprobe kprobe_test_target"
check "no probe in a module that is refused" is going_error -2
echo 0 >$DRIVER/refuse_coming
echo none >$DRIVER/on_going

if [ -e $TRACING/kprobe_events ]; then
	echo p:waits kprobe_test_target:kprobe_test_fn >$TRACING/kprobe_events
	echo 1 >$TRACING/events/kprobes/waits/enable
	echo 1 >$DRIVER/hold_coming
	modprobe kprobe_test_target &
	check "the target is held as it comes" wait_for 20 is coming_held Y
	echo p:early kprobe_test_target:kprobe_test_fn 2>/tmp/said >>$TRACING/kprobe_events
	check "no event is created before the core's notifier has run" \
		grep -q 'No such file' /tmp/said
	echo 0 >$DRIVER/hold_coming
	wait $!
	check "it is created afterwards" sh -c \
		"echo p:early kprobe_test_target:kprobe_test_fn >>$TRACING/kprobe_events"
	call
	check "one that was there before has its hit" grep -q 'waits: ' $TRACING/trace
	echo 0 >$TRACING/events/kprobes/enable
	echo >$TRACING/kprobe_events
	echo >$TRACING/trace
	rmmod kprobe_test_target
else
	skip "events in a module that comes" "no CONFIG_KPROBE_EVENTS"
fi

PATCH=/sys/module/kprobe_test_livepatch/parameters
unpatch() {
	local patch=/sys/kernel/livepatch/kprobe_test_livepatch
	echo 0 >$patch/enabled && wait_for 30 [ ! -e $patch ] &&
		wait_for 30 unused kprobe_test_livepatch && rmmod kprobe_test_livepatch
}
if modprobe kprobe_test_livepatch 2>/dev/null; then
	check "livepatch refuses the target" sh -c "! modprobe kprobe_test_target"
	check "no probe in what livepatch refuses" grep -qx -e -2 $PATCH/error
	check "it can be refused again" sh -c "! modprobe kprobe_test_target"
	echo 0 >$PATCH/refuse
	check "livepatch accepts the target" modprobe kprobe_test_target
	check "no probe before livepatch has patched it" grep -qx -e -2 $PATCH/error
	check "but afterwards" sh -c \
		"echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
	call
	check "it is hit there" is hits 1
	rmmod kprobe_test_target
	echo 1 >$DRIVER/unregister
	check "the livepatch goes" unpatch
else
	skip "no probe in what livepatch refuses" "no CONFIG_LIVEPATCH"
fi

# Functions passed to async_schedule() run code whose probes are already gone.
check "a module that calls its init functions late loads" modprobe kprobe_test_async
settle
show grep kprobe_test_async $KPROBES/sites
check "its probes are hit" sh -c "echo 1 >/sys/module/kprobe_test_async/parameters/call"
if frees_init; then
	check "its init text is the original when its probes are gone" sh -c \
		"dmesg | grep -q 'kprobe_test_async: after init: right, 0 hits'"
else
	skip "its init text is the original when its probes are gone" "the init text stays"
fi
check "one of them has a jump, if there are jumps" sh -c \
	"[ ! -e /proc/sys/debug/kprobes-optimization ] ||
	 grep -q 'kprobe_test_async_plain.*opt=live' $KPROBES/sites"
check "the module unloads" rmmod kprobe_test_async
check "so is the text of a module that is unloaded" sh -c \
	"dmesg | grep -q 'kprobe_test_async: after exit: right, 0 hits'"
check "its probes are gone" no_probes

# The module and its part of the blacklist come and go while
# a probe is registered on its function, which sometimes succeeds.
rmmod kprobe_test_target 2>/dev/null
echo 1 >$DRIVER/unregister
(while :; do modprobe kprobe_test_target; usleep 1000; rmmod kprobe_test_target; done) 2>/dev/null &
loop=$!
# Twenty seconds, and on a busy machine up to two minutes until enough has happened.
(sleep 20; : >/tmp/enough; sleep 100; : >/tmp/stop) &
timer=$!
there=0 away=0
while [ ! -e /tmp/stop ]; do
	[ ! -e /tmp/enough ] || [ $there -lt 20 ] || [ $away -lt 20 ] || break
	if echo kprobe_test_target:kprobe_test_fn 2>/dev/null >$DRIVER/register; then
		there=$((there + 1))
		echo 1 >$DRIVER/unregister
	else
		away=$((away + 1))
	fi
done 2>/dev/null
kill $loop $timer
wait $loop 2>/dev/null
echo "    the module was there $there times, and $away times not"
check "register while the module comes and goes" \
	[ $there -ge 20 -a $away -ge 20 ]
rmmod kprobe_test_target 2>/dev/null
check "the driver unloads" rmmod kprobe_test_driver
check "the list is empty" no_probes
