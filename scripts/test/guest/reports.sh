# SPDX-License-Identifier: GPL-2.0-only
# What people have reported of other implementations of kernel probes, as far as it takes more
# than one function to see it: many probes, odd places, tasks that are stopped and killed.
# checks: 72
# needs: CONFIG_KPROBE_EVENTS
# timeout: 400
. /guest/lib.sh

EVENTS=$TRACING/kprobe_events
FN=${SYS}getsid

# on GROUP, off GROUP - its events.
on() { echo 1 >$TRACING/events/"$1"/enable; }
off() { echo 0 >$TRACING/events/"$1"/enable && echo >$EVENTS; }
traced() { grep -c "$1" $TRACING/trace; }
fresh() { echo >$TRACING/trace; }
# profile EVENT COLUMN - hits (2) and missed hits (3).
profile() { awk -v name="$1" -v at="$2" '$1 == name { print $at }' $TRACING/kprobe_profile; }
work() { (for i in 1 2 3 4 5 6 7 8; do /bin/busybox true; done); }
# By how many bytes the pools of return probes have grown, and whether that is no more than before.
grown() { cat $KPROBES/pools_grown; }
not_grown() { [ "$(grown)" -le "$before" ]; }

# Tools that attach to whatever the user names.
if command -v client >/dev/null; then
	places=$(awk '$3 == "_stext" { from = $1 } $3 == "_etext" { to = $1 } END { print from, to }' \
		/proc/kallsyms)
	# shellcheck disable=SC2086 # two addresses
	# For the names of some functions, this looks like a complaint.
	echo "allow splat: Could not probe notrace function"
	client random $places 400 >/tmp/random
	show cat /tmp/random
	check "perf opens events at random addresses" grep -q '^opened [1-9][0-9]' /tmp/random
	check "or says why it cannot" sh -c "! grep '^error' /tmp/random |
		grep -qv '^error \(2\|22\|84\|95\):'"
	check "60 events on one function see each call" [ "$(client many 60 $FN)" = "60 6000" ]
	check "no event on what has no name" \
		[ "$(client perf '')" = "perf_event_open: error 22" ]
	check "nor on a name with a blank" \
		[ "$(client perf 'no such function')" = "perf_event_open: error 2" ]
	check "nor far behind the last function" \
		[ "$(client perf -o 1073741824 $FN)" = "perf_event_open: error 2" ]
	check "nothing is left of these" no_probes

	# Each program writes its digit behind those before it. The last to divert a return is the
	# first to see it.
	check "BPF programs on one function run newest first" \
		[ "$(client bpf-order $FN 4)" = 4321 ]
	check "at its return, oldest first" [ "$(client bpf-order -r $FN 4)" = 1234 ]
	check "nothing is left of these programs" no_probes

	# A program runs at each return of a function that it calls itself; for long enough that
	# the timer interrupt alone takes locks.
	(while [ ! -e /tmp/enough ]; do work; done) &
	for fn in _raw_spin_lock _raw_spin_unlock_irqrestore; do
		if ! grep -q " [tT] $fn$" /proc/kallsyms; then
			skip "BPF at the returns of $fn" "it is inlined"
			continue
		fi
		client bpf -r -n 50000 $fn >/tmp/locks
		show cat /tmp/locks
		check "BPF at the returns of $fn" grep -q '^[1-9][0-9]* [0-9a-f]* [0-9]*$' /tmp/locks
	done
	: >/tmp/enough
	wait
	rm /tmp/enough
fi

# A module registers a probe only to learn an address, again and again: at the entry of a function,
# and where the probe needs a slot.
# learn TIMES SYMBOL - it is the same each time, and that of the symbol.
learn() {
	local i=0 addr='' now where known
	while [ $i -lt "$1" ]; do
		echo "$2" >$DRIVER/register && read -r now _ where _ <$KPROBES/list || return
		echo 1 >$DRIVER/unregister
		[ "$now" = "${addr:=$now}" ] || { echo "$now is not $addr"; return 1; }
		i=$((i + 1))
	done
	known=$(awk -v symbol="$2" '$3 == symbol { print $1 }' /proc/kallsyms)
	echo "$addr $where, $known"
	[ "${where%+*}" = "$2" ] && [ $((0x$addr)) -eq $((0x$known + ${where##*+})) ]
}
nothing_left() { ! grep -q . $KPROBES/sites && ! grep -q . $KPROBES/probes && not_grown; }
objects() { awk '/^kprobe_site/ { n += $2 } END { print n + 0 }' /proc/slabinfo; }
# A leak would be one for each registration.
few_objects() { [ "$(objects)" -lt $((objects + 100)) ]; }
if modprobe kprobe_test_driver 2>/dev/null && modprobe kprobe_test_target; then
	# A page is kept, and some free objects; others are kept for some seconds.
	show learn 100 kallsyms_lookup_name
	show learn 100 kprobe_test_no_trace
	settle
	sleep 6
	before=$(grown) pages=$(slots) objects=$(objects)
	for fn in kallsyms_lookup_name kprobe_test_no_trace; do
		check "200 registrations learn the address of $fn" learn 200 $fn
		check "no site, user or memory of pools is left of $fn" wait_for 30 nothing_left
		check "nor a page of slots of $fn" wait_for 30 few_slots "$pages"
		if [ "$(kept)" -eq 0 ] && [ "$objects" -gt 0 ]; then
			check "nor objects of sites of $fn" wait_for 30 few_objects
		else
			skip "objects of sites of $fn" "they are not counted on their own, or kept"
		fi
		show echo "pages: $pages, $(slots); objects of sites: $objects, $(objects)"
	done
	rmmod kprobe_test_target
	rmmod kprobe_test_driver
else
	skip "registrations that learn an address" "no test modules"
fi

# Each entry of the trace is written by the handler, so it shows their order.
check "three events on one function" sh -c "echo 'p:order/first vfs_statx' >$EVENTS &&
	echo 'p:order/second vfs_statx' >>$EVENTS && echo 'p:order/third vfs_statx' >>$EVENTS"
for event in second third first; do
	echo 1 >$TRACING/events/order/$event/enable
done
fresh
stat /init >/dev/null
check "are called in the reverse order of their definition" \
	[ "$(grep -o '[a-z]*: (vfs_statx' $TRACING/trace | head -n 3 | tr -d '\n')" = \
	  "third: (vfs_statxsecond: (vfs_statxfirst: (vfs_statx" ]
off order

# The scheduler.
# Every task that sleeps is in it.
check "a return probe on schedule()" sh -c "echo r300:sched/back schedule >$EVENTS"
on sched
for i in 1 2 3 4; do work & done
wait
usleep 200000
check "it sees tasks come back" [ "$(profile back 2)" -ge 10 ]
check "none is missed" [ "$(profile back 3)" -eq 0 ]
off sched
if [ -e /sys/devices/system/cpu/cpu1/online ]; then
	for fn in try_to_wake_up schedule wake_up_new_task enqueue_task_fair __schedule \
		  sched_cpu_activate; do
		echo "p:sched/$fn $fn" 2>/dev/null >>$EVENTS
		echo "r:sched/r_$fn $fn" 2>/dev/null >>$EVENTS
	done
	on sched
	for i in 1 2 3 4 5 6; do
		echo 0 >/sys/devices/system/cpu/cpu1/online && work && echo y
		echo 1 >/sys/devices/system/cpu/cpu1/online && work && echo y
	done >/tmp/cpus
	check "a CPU goes and comes six times, with probes in the scheduler" \
		[ "$(wc -l </tmp/cpus)" -eq 12 ]
	check "which were hit" [ "$(profile try_to_wake_up 2)" -ge 12 ]
	off sched
fi

# A whole family of functions, among them those that handlers call.
grep -o '^[^ ]*raw[^ ]* ' /sys/kernel/debug/kprobes/available | sort -u >/tmp/raw
nr=0
while read -r fn; do
	echo "p:raw/e$nr $fn" 2>/dev/null >>$EVENTS && nr=$((nr + 1))
done </tmp/raw
check "probes on all functions with raw in their name ($nr)" [ $nr -ge 20 ]
(
	for event in $TRACING/events/raw/*/enable; do
		echo 1 >"$event" || exit 1
	done
) 2>/dev/null
work
check "work goes on" [ "$(seq 1 500 | sort -rn | head -n 1)" = 500 ]
off raw
check "they go" no_probes

# do_exit() never returns: its instances come back with the tasks. With the default number of
# instances, r, there are more of them in time.
in_flight() { sed -n 's/.* do_exit+.* in_flight=\([0-9]*\) .*/\1/p' $KPROBES/probes; }
# Each look at it is the end of some more tasks.
few_in_flight() { [ "$(in_flight)" -lt 100 ]; }
before=$(grown)
for kind in r300 r; do
	check "a return probe on do_exit(), $kind" sh -c "echo $kind:exits/ends do_exit >$EVENTS"
	on exits
	for round in 1 2 3; do
		for i in $(seq 1 275); do (:); done
		# The last tasks are freed after a grace period.
		usleep 500000
		check "275 tasks end, $kind, round $round: none is missed" [ "$(profile ends 3)" -eq 0 ]
	done
	show grep do_exit $KPROBES/probes
	check "their instances have come back, $kind" wait_for 20 few_in_flight
	off exits
	check "the probe on do_exit() goes, $kind" no_probes
	check "with all memory by which pools have grown, $kind" wait_for 30 not_grown
done

# Tasks asleep in a probed function, which are frozen and thawed, stopped and killed. The second
# return probe has the default number of instances.
FREEZER=/sys/power/pm_test
# freeze - all processes but this one, for a second.
freeze() {
	mark
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo freezer >$FREEZER && echo mem >/sys/power/state || return
	echo none >$FREEZER
	[ "$(said 'Freezing user space processes completed')" -eq 1 ]
}
check "a return probe where tasks sleep" \
	sh -c "echo 'r64:sleeps/woken hrtimer_nanosleep value=\$retval:s32' >$EVENTS &&
	       echo p:sleeps/asleep hrtimer_nanosleep >>$EVENTS &&
	       echo r:sleeps/counted hrtimer_nanosleep >>$EVENTS"
on sleeps
fresh
pids=
for i in $(seq 1 40); do
	/bin/busybox sleep 1000 &
	pids="$pids $!"
done
i=0
while [ "$(traced 'busybox-.* asleep:')" -lt 40 ] && [ $i -lt 600 ]; do
	usleep 100000
	i=$((i + 1))
done
check "40 tasks are asleep" [ "$(traced 'busybox-.* asleep:')" -eq 40 ]
if [ -e $FREEZER ]; then
	check "they are frozen, and thawed" freeze
	check "and sleep on" [ "$(traced 'busybox-.* woken:')" -eq 0 ]
else
	skip "they are frozen, and thawed" "no CONFIG_PM_SLEEP_DEBUG"
fi
i=0
for pid in $pids; do
	kill -STOP "$pid"
	[ $((i % 4)) -ne 0 ] || kill -9 "$pid"
	[ $((i % 4)) -ne 1 ] || kill -CONT "$pid"
	i=$((i + 1))
done
[ ! -e $FREEZER ] || check "some are stopped as they are frozen, and thawed" freeze
for pid in $pids; do
	kill -CONT "$pid"
	kill "$pid"
done 2>/dev/null
wait
show sh -c "grep -o 'value=.*' $TRACING/trace | sort | uniq -c"
# The others are the naps of this script.
check "each of 40 sleeps was interrupted, and says so" \
	[ "$(awk '/value=-516$/ { print $1 }' $TRACING/trace | sort -u | wc -l)" -eq 40 ]
check "nothing else was returned" \
	sh -c "! grep -o 'value=.*' $TRACING/trace | grep -qvE '^value=(0|-516)$'"
check "no sleep was missed" [ "$(profile woken 3)" -eq 0 ]
show grep -w 'counted\|asleep' $TRACING/kprobe_profile
check "with default maxactive, each was seen" \
	[ "$(profile counted 2)" -eq "$(profile asleep 2)" ]
check "and none was missed" [ "$(profile counted 3)" -eq 0 ]
off sleeps

# An event in the timer interrupt, which comes while handlers of another one run: stack traces
# make them slow. At entries first, then by breakpoints, where an offset is one.
events_at() {
	for offset in $1; do
		echo "p:ticks/tick update_process_times" >$EVENTS
		! echo "p:ticks/read vfs_read$offset" 2>/dev/null >>$EVENTS || return 0
	done
	return 1
}
for offsets in +0 "+9 +12 +5 +16 +20"; do
	check "events in a tick and in a read" events_at "$offsets"
	echo 1 >$TRACING/options/stacktrace
	on ticks
	# How many ticks that takes depends on the machine.
	round=0
	while [ $round -eq 0 ] || { [ "$(profile tick 2)" -lt 10 ] && [ $round -lt 100 ]; }; do
		for i in 1 2; do dd if=/dev/zero of=/dev/null bs=1 count=6000 2>/dev/null & done
		wait
		round=$((round + 1))
	done
	echo 0 >$TRACING/options/stacktrace
	show grep -w 'tick\|read' $TRACING/kprobe_profile
	check "there were ticks" [ "$(profile tick 2)" -ge 10 ]
	check "and none was missed" [ "$(profile tick 3)" -eq 0 ]
	check "each read was seen" \
		[ "$(profile read 2)" -ge $((12000 * round)) -a "$(profile read 3)" -eq 0 ]
	off ticks
	echo 0 >/proc/sys/debug/kprobes-optimization
done
echo 1 >/proc/sys/debug/kprobes-optimization

# Probes that see nothing, and where that is told.
check "a function that is always inlined is not listed" \
	sh -c "! grep -q '^spin_lock ' $KPROBES/available"
check "and cannot be probed" sh -c \
	"exec 7<>$KPROBES/check; echo spin_lock >&7; grep -q reason=no-symbol <&7"
check "without an event there is no site" sh -c "! grep kernel_halt $KPROBES/sites"
check "an event where nobody comes by" sh -c "echo p:silent/never kernel_halt >$EVENTS"
check "is not armed yet" \
	grep -q 'kernel_halt.* state=disarmed users=1 enabled=0 ' $KPROBES/sites
on silent
check "is armed then" \
	grep -q 'kernel_halt.* state=armed users=1 enabled=1 missed_nested=0 ' $KPROBES/sites
check "and sees nothing" [ "$(profile never 2) $(profile never 3)" = "0 0" ]
check "another event, which is not enabled" sh -c "echo p:silent/other kernel_halt >>$EVENTS"
check "is a user more" grep -q 'kernel_halt.* users=2 enabled=1 ' $KPROBES/sites
off silent

# Instances of tracing, which use the same events.
if mkdir $TRACING/instances/one $TRACING/instances/two; then
	check "an event for two instances" sh -c "echo 'p:shared/event $FN' >$EVENTS"
	for instance in one two; do
		echo 1 >$TRACING/instances/$instance/events/shared/event/enable
		check "it cannot be removed while $instance uses it" sh -c \
			"echo -:shared/event 2>&1 >>$EVENTS | grep -q busy"
		check "it is still there" grep -q shared/event $EVENTS
	done
	echo 0 >$TRACING/instances/one/events/shared/event/enable
	check "nor while one of them does" sh -c \
		"echo -:shared/event 2>&1 >>$EVENTS | grep -q busy"
	check "it is enabled" grep -q -v DISABLED $KPROBES/list
	echo 0 >$TRACING/instances/two/events/shared/event/enable
	check "but afterwards" sh -c "echo -:shared/event >>$EVENTS"
	rmdir $TRACING/instances/one $TRACING/instances/two
else
	skip "instances of tracing" "there are none"
fi
check "the list is empty" no_probes
check_leaks
