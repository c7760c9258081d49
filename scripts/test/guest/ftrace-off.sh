# SPDX-License-Identifier: GPL-2.0-only
# Probes at function entries that come and go while ftrace is switched off and on by
# kernel.ftrace_enabled. A warning on the console fails this, too. The module kprobe_test_orders
# says which orders it runs. Those of probes on their own are the same with the two exchanged.
# checks: 40
# needs: CONFIG_KPROBES_TEST_MODULES CONFIG_KPROBES_ON_FTRACE CONFIG_SYSCTL
# timeout: 900
. /guest/lib.sh

ORDERS=/sys/module/kprobe_test_orders/parameters
SWITCH=/proc/sys/kernel/ftrace_enabled
ENABLED=$TRACING/enabled_functions

# orders COUNT FIRST SECOND WHERE HOW
orders() {
	local count=$1
	shift
	echo "$*" >$ORDERS/run
	head $ORDERS/orders $ORDERS/wrong $ORDERS/off
	[ "$(cat $ORDERS/orders)" -eq "$count" ] && [ "$(cat $ORDERS/wrong)" -eq 0 ] &&
		[ "$(cat $ORDERS/off)" -eq $((count * can_be_off)) ] && cmp $ENABLED /tmp/before
}

# event NAME FUNCTION - define and enable one.
event() {
	echo "p:off/$1 $2" >$TRACING/kprobe_events && echo 1 >$TRACING/events/off/$1/enable
}
end_event() {
	echo 0 >"$TRACING/events/off/$1/enable" && echo >$TRACING/kprobe_events
}
# One event goes while ftrace is off, another one comes and goes. The end of the next one was
# the end of ftrace.
events_across_off() {
	event first vfs_write && [ "$(set_switch 0)" = "$can_be_off" ] || return
	end_event first && event second vfs_open && end_event second || return
	set_switch 1 >/dev/null
	for next in third fourth; do
		event $next vfs_open && cat /proc/version $TRACING/kprobe_profile &&
			grep -q "$next  *[1-9]" $TRACING/kprobe_profile && end_event $next || return
	done
}

# set_switch ON - print whether that could be done. Linux 7.3 cannot switch it off.
set_switch() {
	if echo "$1" 2>/dev/null >$SWITCH; then
		echo 1
	else
		echo 0
	fi
}

cat $ENABLED >/tmp/before
can_be_off=$(set_switch 0)
set_switch 1 >/dev/null
show echo "ftrace can be switched off: $can_be_off"
check "the module loads" modprobe kprobe_test_orders
for where in one two; do
	for kinds in "kprobe kprobe" "post post" "return return" "kprobe return" "post kprobe" \
		     "post return"; do
		check "$kinds, on $where, each on its own" orders 133 $kinds $where each
	done
	for kinds in "kprobe kprobe" "post post" "return return" "post kprobe" "kprobe post"; do
		check "$kinds, on $where, in step" orders 20 $kinds $where step
		check "$kinds, on $where, a batch" orders 51 $kinds $where batch
	done
done
for kinds in "return kprobe" "kprobe return" "return post" "post return"; do
	check "$kinds, in step" orders 20 $kinds one step
done
check "events that come and go while ftrace is off" events_across_off
check "nothing is left in enabled_functions" cmp $ENABLED /tmp/before
check "the module goes" rmmod kprobe_test_orders
check "the list is empty" no_probes
