# SPDX-License-Identifier: GPL-2.0-only
# Return probes of a module while calls of user processes are in flight, with
# the sample kretprobe_example.
. /guest/lib.sh

FUNC=hrtimer_nanosleep

said() { dmesg | grep -c "$1"; }
sleeping() { grep -q $FUNC "/proc/$1/stack"; }
# Unwound to the end, and past the return address that was replaced.
unwound() {
	cat "/proc/$1/stack"
	! grep -q trampoline "/proc/$1/stack" && grep -q syscall "/proc/$1/stack"
}

/bin/busybox sleep 1000 &
before=$!
check "kretprobe_example loads" modprobe kretprobe_example func=$FUNC
/bin/busybox sleep 4 &
inside=$!
/bin/busybox sleep 1000 &
killed=$!
/bin/busybox sleep 1
if [ -e /proc/$inside/stack ]; then
	check "a process sleeps in the probed function" sleeping $inside
	check "p_ret_18 its stack shows real addresses" unwound $inside
	check "p_ret_18 so does that of one that came before the probe" unwound $before
else
	skip "p_ret_18 stacks" "no /proc/PID/stack"
fi
check "the sleep that is over was reported" [ "$(said "$FUNC returned")" -eq 1 ]
kill -9 $killed
wait $killed
check "p_ret_06 so was the one that was killed" [ "$(said "$FUNC returned")" -eq 2 ]

check "p_ret_16 the module goes while a call is in flight" rmmod kretprobe_example
if [ -e /proc/$inside/stack ]; then
	check "p_ret_18 the stack shows real addresses still" unwound $inside
fi
check "p_ret_15 the call returns as usual" wait $inside
check "p_ret_16 no handler was called for it" [ "$(said "$FUNC returned")" -eq 2 ]
kill -9 $before
check "the list is empty" no_probes
