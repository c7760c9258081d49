# SPDX-License-Identifier: GPL-2.0-only
# What lockdown leaves of probes, step by step: it can only become more. Also where it begins with
# the kernel, before there are any files or modules.
# checks: 41
# needs: CONFIG_SECURITY_LOCKDOWN_LSM CONFIG_KPROBE_EVENTS CONFIG_KPROBES_TEST_MODULES
# append: lsm=lockdown
# again: 30 lockdown=integrity
# again: 12 lockdown=confidentiality
. /guest/lib.sh

LOCKDOWN=/sys/kernel/security/lockdown
FN=vfs_statx

mount -t securityfs none /sys/kernel/security
is_at() { grep -q "\[$1\]" $LOCKDOWN; }
lock_down() { echo "$1" >$LOCKDOWN && is_at "$1"; }
event() { echo "p:locked $FN" >$TRACING/kprobe_events && echo 1 >$TRACING/events/kprobes/locked/enable; }
no_event() { echo 0 >$TRACING/events/kprobes/locked/enable && echo >$TRACING/kprobe_events; }
# In the middle of a function: the text of the kernel is written to.
probe() { echo $FN >$DRIVER/register && stat /init && [ "$(cat $DRIVER/hits)" -ge 1 ]; }
opens() { (exec 5<>"$KPROBES/$1"); }
in_tracefs() { (KPROBES=$TRACING/kprobes && "$@"); }
answers() { (exec 5<>$TRACING/kprobes/check && echo $FN >&5 && grep -q verdict=accepted <&5); }
not_opened() { ! opens "$1" 2>/dev/null; }
no_probe() { echo 1 >$DRIVER/unregister; }
# debugfs: what can be written is closed, what can only be read is not.
debugfs_is_closed() {
	local file
	check "the switch does not open" not_opened enabled
	check "not even to be read" sh -c "! cat $KPROBES/enabled"
	check "no question is answered" not_opened check
	for file in list sites probes blacklist available; do
		check "$file can be read" sh -c "cat $KPROBES/$file >/dev/null"
	done
}

from=$(sed -n 's/.* lockdown=\([a-z]*\).*/\1/p' /proc/cmdline)
check "the kernel has begun with ${from:-no} lockdown" is_at "${from:-none}"

if [ ! "$from" ]; then
	check "the driver loads" modprobe kprobe_test_driver
	check "the switch opens" opens enabled
	check "questions are answered" opens check
	check "integrity" lock_down integrity
elif ! modprobe kprobe_test_driver 2>/dev/null; then
	skip "the driver loads" "it has no signature"
fi

if [ "$from" != confidentiality ]; then
	debugfs_is_closed
	check "the switch opens in tracefs" in_tracefs opens enabled
	check "the limit of pools, too" in_tracefs opens pools_limit
	check "questions are answered there" answers
	check "events are allowed" event
	stat /init >/dev/null
	check "and hit" grep -q 'locked: (' $TRACING/trace
	check "and go" no_event
	if [ -e $DRIVER ]; then
		check "probes of modules, too" probe
		check "and go" no_probe
	fi
	check "confidentiality" lock_down confidentiality
	for file in check enabled; do
		check "$file does not open in tracefs" in_tracefs not_opened $file
	done
	check "nor can the limit of pools be written" \
		sh -c "! echo 0 >$TRACING/kprobes/pools_limit"
	for dir in $KPROBES $TRACING/kprobes; do
		for file in list sites probes blacklist available; do
			check "$dir/$file can be read" sh -c "cat $dir/$file >/dev/null"
		done
	done
	check "no event any more" sh -c "! echo p:locked $FN >$TRACING/kprobe_events"
else
	# Nothing is created in tracefs then, neither by others.
	check "there is nothing in tracefs" [ ! -e $TRACING/kprobes/list ]
	check "nor are there events" [ ! -e $TRACING/kprobe_events ]
	debugfs_is_closed
fi
check "it does not become less" sh -c "! echo integrity >$LOCKDOWN"
check "it is confidentiality" is_at confidentiality
if [ -e $DRIVER ]; then
	check "probes of modules are allowed still" probe
	check "and go" no_probe
fi
check "the list is empty" no_probes
