# SPDX-License-Identifier: GPL-2.0-only
# What lockdown leaves of probes, step by step: it can only become more.
# checks: 38
# needs: CONFIG_SECURITY_LOCKDOWN_LSM CONFIG_KPROBE_EVENTS CONFIG_KPROBES_TEST_MODULES
# append: lsm=lockdown
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

check "the driver loads" modprobe kprobe_test_driver
check "there is no lockdown" is_at none
check "the switch opens" opens enabled
check "questions are answered" opens check
check "integrity" lock_down integrity
# debugfs: what can be written is closed, what can only be read is not.
check "the switch does not open any more" not_opened enabled
check "not even to be read" sh -c "! cat $KPROBES/enabled"
check "no question is answered" not_opened check
for file in list sites probes blacklist available; do
	check "$file can be read" sh -c "cat $KPROBES/$file >/dev/null"
done
check "the switch opens in tracefs" in_tracefs opens enabled
check "the limit of pools, too" in_tracefs opens pools_limit
check "questions are answered there" answers
check "events are allowed" event
stat /init >/dev/null
check "and hit" grep -q 'locked: (' $TRACING/trace
check "and go" no_event
check "probes of modules, too" probe
check "and go" no_probe
check "confidentiality" lock_down confidentiality
for file in check enabled; do
	check "$file does not open in tracefs" in_tracefs not_opened $file
done
check "nor can the limit of pools be written" sh -c "! echo 0 >$TRACING/kprobes/pools_limit"
for dir in $KPROBES $TRACING/kprobes; do
	for file in list sites probes blacklist available; do
		check "$dir/$file can be read" sh -c "cat $dir/$file >/dev/null"
	done
done
check "no event any more" sh -c "! echo p:locked $FN >$TRACING/kprobe_events"
check "probes of modules are allowed still" probe
check "and go" no_probe
check "the list is empty" no_probes
