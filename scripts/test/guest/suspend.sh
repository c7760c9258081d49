# SPDX-License-Identifier: GPL-2.0-only
# The machine goes to sleep, as far as to where only the firmware is left to be called,
# and wakes up: with probes of all kinds, some of which the optimizer still has to see to.
# checks: 24
# needs: CONFIG_PM_SLEEP_DEBUG CONFIG_OPTPROBES CONFIG_KPROBE_EVENTS
# append: suspend.pm_test_delay=1 no_console_suspend
. /guest/lib.sh

EVENTS=$TRACING/kprobe_events
OPT=$TRACING/events/opt
states() { sed 's/^[0-9a-f]* \([^ ]*\) .*\(kind=[^ ]*\) .*\(opt=[^ ]* why=[^ ]*\)$/\1 \2 \3/' $KPROBES/sites | sort; }
nr_slept() { dmesg | grep -c 'suspend debug: Waiting for 1 second'; }
sleep_once() {
	slept=$(nr_slept)
	echo core >/sys/power/pm_test && echo "$1" >/sys/power/state || return 1
	grep -c 'opt=queued\|opt=waiting' $KPROBES/sites >>/tmp/pending
	[ "$(nr_slept)" -eq $((slept + 1)) ]
}
# Each event has been hit since the trace was emptied.
each_is_hit() {
	local name
	echo >$TRACING/trace
	stat /init >/dev/null
	cat /init >/dev/null
	echo x >/tmp/written
	for name in $1; do
		grep -q " $name: (" $TRACING/trace || { echo "$name was not hit"; return 1; }
	done
}

check "the machine can sleep" grep -q mem /sys/power/state
check "with its memory alone" grep -q deep /sys/power/mem_sleep
echo deep >/sys/power/mem_sleep
check "one has a jump" event_with_jump jump vfs_read
check "another, too" event_with_jump queued vfs_write
check "and there are others" sh -c "echo 'p:opt/entry vfs_statx' >>$EVENTS &&
	echo 'r:opt/returns vfs_open' >>$EVENTS && echo 1 >$OPT/entry/enable && echo 1 >$OPT/returns/enable"
names="jump queued entry returns"
round=1
: >/tmp/pending
# Until the optimizer had something to do, which is a matter of chance.
while [ $round -le 3 ] || { [ $round -le 15 ] && ! grep -q '[1-9]' /tmp/pending; }; do
	settle
	states >/tmp/before
	# Until it is frozen: then one is queued, or waits.
	touch /tmp/go
	while [ -e /tmp/go ]; do echo 0 >$OPT/queued/enable; echo 1 >$OPT/queued/enable; done &
	check "$round: the machine sleeps, and wakes up" sleep_once mem
	rm /tmp/go
	wait
	check "$round: with both CPUs" grep -qx 0-1 /sys/devices/system/cpu/online
	settle
	states >/tmp/after
	check "$round: each probe is what it was" cmp /tmp/before /tmp/after
	check "$round: each is hit" each_is_hit "$names"
	round=$((round + 1))
done
show cat /tmp/pending
check "the optimizer had still to see to some" grep -q '[1-9]' /tmp/pending
# On its way down it is watched.
check "what suspends can be probed" sh -c "echo 'p:opt/suspend suspend_devices_and_enter' >>$EVENTS &&
	echo 'p:opt/cpus freeze_secondary_cpus' >>$EVENTS &&
	echo 'r:opt/core syscore_suspend' >>$EVENTS &&
	for e in suspend cpus core; do echo 1 >$OPT/\$e/enable || exit 1; done"
echo >$TRACING/trace
check "and it sleeps" sleep_once mem
for name in suspend cpus core; do
	check "a handler ran in it: $name" grep -q " $name: (" $TRACING/trace
done
show states
echo 0 >$OPT/enable
echo >$EVENTS
check "no probe is left" no_probes
