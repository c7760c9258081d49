# SPDX-License-Identifier: GPL-2.0-only
# Return probes of a module while calls of user processes are in flight, with
# the sample kretprobe_example.
# checks: 12
. /guest/lib.sh

FUNC=hrtimer_nanosleep

sleeping() { grep -q $FUNC "/proc/$1/stack"; }
# A return address that is the start of the trampoline is shown as the end of the function before
# it, which may have several names. The stack of a task that is awake may have other such ends.
BEFORE=$(awk '$1 != addr { before = names; names = ""; addr = $1 } { names = names "|" $3 }
	$3 == "__kretprobe_trampoline" { print substr(before, 2); exit }' /proc/kallsyms)
diverted() { grep -Eq " ($BEFORE)\\+(0x[0-9a-f]+)/\\2\$" "$1"; }
# Unwound to the end, and past the return address that was replaced.
unwound() {
	cat "/proc/$1/stack"
	! diverted "/proc/$1/stack" && ! grep -q trampoline "/proc/$1/stack" && grep -q "sys.*call" "/proc/$1/stack"
}

/bin/busybox sleep 1000 &
before=$!
check "kretprobe_example loads" modprobe kretprobe_example func=$FUNC
# It has to sleep until the module has gone, also on a busy machine.
/bin/busybox sleep 15 &
inside=$!
/bin/busybox sleep 1000 &
killed=$!
/bin/busybox sleep 1
if [ -e /proc/$inside/stack ]; then
	check "a process sleeps in the probed function" sleeping $inside
	check "its stack shows real addresses" unwound $inside
	check "so does that of one that came before the probe" unwound $before
else
	skip "stacks" "no /proc/PID/stack"
fi
check "the sleep that is over was reported" [ "$(said "$FUNC returned")" -eq 1 ]
kill -9 $killed
wait $killed
check "so was the one that was killed" [ "$(said "$FUNC returned")" -eq 2 ]

check "the module goes while a call is in flight" rmmod kretprobe_example
if [ -e /proc/$inside/stack ]; then
	check "the stack shows real addresses still" unwound $inside
fi
check "the call returns as usual" wait $inside
check "no handler was called for it" [ "$(said "$FUNC returned")" -eq 2 ]
kill -9 $before

# The stack of a process that wakes up and sleeps again in the probed function,
# which the probe comes to and goes from, is read all the time.
EVENT=$TRACING/events/kprobes/walk
if [ -e /proc/self/stack ] && [ -e $TRACING/kprobe_events ]; then
	(while [ ! -e /tmp/stop ]; do usleep 1000; echo; done) | cat >/dev/null &
	reader=$!
	(while [ ! -e /tmp/stop ]; do
		echo r:walk vfs_read >$TRACING/kprobe_events && echo 1 >$EVENT/enable
		usleep 20000
		echo 0 >$EVENT/enable && echo >$TRACING/kprobe_events && echo >>/tmp/rounds
	done) &
	# Six seconds, and on a busy machine up to a minute until enough has happened.
	: >/tmp/rounds
	(usleep 6000000; : >/tmp/enough; usleep 54000000; : >/tmp/stop) &
	timer=$!
	walks=0 wrong=0
	while [ ! -e /tmp/stop ]; do
		[ ! -e /tmp/enough ] || [ $walks -lt 20 ] || [ "$(wc -l </tmp/rounds)" -lt 5 ] ||
			: >/tmp/stop
		cat /proc/$reader/stack >/tmp/walk
		! grep -q vfs_read /tmp/walk || walks=$((walks + 1))
		# It may be awake, and in the trampoline.
		! diverted /tmp/walk || { wrong=$((wrong + 1)); cp /tmp/walk /tmp/wrong; }
	done
	kill $timer
	wait
	rounds=$(wc -l </tmp/rounds)
	echo "    $walks stacks inside the function, the probe came $rounds times"
	check "stacks are read while the probe comes and goes" \
		[ $walks -ge 20 -a "$rounds" -ge 5 ]
	[ $wrong -eq 0 ] || cat /tmp/wrong
	check "and show real addresses" [ $wrong -eq 0 ]
else
	skip "stacks while the probe comes and goes" "no /proc/PID/stack or kprobe events"
fi

# The first user of function graph tracing since boot is called at the returns of all hooked
# functions. A warning on the console fails this.
graph_after_fprobe() {
	local rc=1
	echo 1 >$TRACING/events/fprobes/first/enable && usleep 100000 &&
		echo function_graph >$TRACING/current_tracer && usleep 100000 && rc=0
	echo nop >$TRACING/current_tracer
	echo 0 >$TRACING/events/fprobes/first/enable
	echo >$TRACING/dynamic_events
	return $rc
}
if grep -qw function_graph $TRACING/available_tracers 2>/dev/null &&
   echo "f:fprobes/first $FUNC%return" 2>/dev/null >$TRACING/dynamic_events; then
	check "the graph tracer and an fprobe that came before it" graph_after_fprobe
else
	skip "an fprobe and the graph tracer" "no events of fprobe, or no function graph"
fi
check "the list is empty" no_probes
