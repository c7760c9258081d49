# SPDX-License-Identifier: GPL-2.0-only
# Everything at once, for as many seconds as "stress=" on the command line says:
# probes of all kinds come and go on functions that are busy on all CPUs, with pools
# that run out and tasks that die inside; modules with probes, and with returns that
# are still to come, are unloaded; switches are flipped, and a CPU comes and goes.
# In the end all has to be as before, and the load must have computed the right thing.
# checks: 18
# needs: CONFIG_KPROBES_TEST_MODULES CONFIG_KPROBE_EVENTS
# timeout: 240
. /guest/lib.sh

STRESS=/sys/module/kprobe_test_stress/parameters
SWITCH=/proc/sys/debug/kprobes-optimization
CPU=/sys/devices/system/cpu/cpu1/online
SECONDS_=$(sed -n 's/.*stress=\([0-9]*\).*/\1/p' /proc/cmdline)
: "${SECONDS_:=12}"
HOT="vfs_read vfs_write vfs_statx vfs_open do_sys_openat2 path_openat link_path_walk
     kmem_cache_alloc_noprof kfree schedule try_to_wake_up handle_mm_fault do_exit
     kernel_clone wake_up_new_task hrtimer_nanosleep do_nanosleep pipe_read pipe_write
     mutex_lock mutex_unlock _raw_spin_lock ktime_get copy_process begin_new_exec
     exit_mm do_group_exit release_task free_task __put_task_struct dput"

mkdir -p /tmp/stress
: >/tmp/stress/wrong
on() { [ ! -e /tmp/stress/stop ]; }
# Once around a loop: each has to get there.
lap() { echo >>/tmp/stress/laps."$1"; }
laps() { [ -e /tmp/stress/laps."$1" ] && wc -l </tmp/stress/laps."$1" || echo 0; }

# What the load works on is the same each time.
seq 1 8000 >/tmp/stress/data
sum=$(md5sum </tmp/stress/data)
sorted=$(sort -n -r /tmp/stress/data | md5sum)
load() {
	while on; do
		cp /tmp/stress/data /tmp/stress/copy.$1
		[ "$(cat /tmp/stress/copy.$1 | md5sum)" = "$sum" ] &&
			[ "$(sort -n -r /tmp/stress/copy.$1 | md5sum)" = "$sorted" ] ||
			echo "load $1" >>/tmp/stress/wrong
		# Some die while they sleep.
		/bin/busybox sleep 100 &
		kill -9 $!
		usleep 500
		ls -lR /proc/self >/dev/null 2>&1
		lap load$1
	done
}
switches() {
	while on; do
		echo 0 >$KPROBES/enabled
		usleep 20000
		echo 1 >$KPROBES/enabled
		usleep 100000
		lap switches
	done
}
sysctl_flips() {
	while on; do
		echo 0 >$SWITCH
		usleep 30000
		echo 1 >$SWITCH
		usleep 150000
		lap sysctl_flips
	done
}
hotplug() {
	while on; do
		echo 0 >$CPU
		usleep 50000
		echo 1 >$CPU
		usleep 300000
		lap hotplug
	done
}
# A module with a probe in it goes; so does one whose handlers others wait to call.
modules() {
	while on; do
		modprobe kprobe_test_target
		echo kprobe_test_target:kprobe_test_fn >$DRIVER/register
		echo 1 >$TARGET/call
		modprobe kretprobe_example func=hrtimer_nanosleep
		/bin/busybox usleep 60000 &
		usleep 20000
		rmmod kprobe_test_target
		rmmod kretprobe_example
		echo 1 >$DRIVER/unregister
		wait $!
		lap modules
	done 2>/dev/null
}
events() {
	while on; do
		echo 'p:stress/p vfs_read' >>$TRACING/kprobe_events
		echo 'r:stress/r vfs_statx' >>$TRACING/kprobe_events
		echo 1 >$TRACING/events/stress/enable
		usleep 50000
		echo 0 >$TRACING/events/stress/enable
		echo '-:stress/p' >>$TRACING/kprobe_events
		echo '-:stress/r' >>$TRACING/kprobe_events
		lap events
	done
}

# Only what can be probed here.
symbols=
check "the driver loads" modprobe kprobe_test_driver
for fn in $HOT; do
	if echo $fn 2>/dev/null >$DRIVER/register; then
		symbols=$symbols${symbols:+,}$fn
		echo 1 >$DRIVER/unregister
	fi
done
LOOPS="load1 load2 switches modules events"
[ ! -e $SWITCH ] || LOOPS="$LOOPS sysctl_flips"
[ ! -e $CPU ] || LOOPS="$LOOPS hotplug"
# Its messages are many, and slow.
dmesg -n 5
check "it begins" modprobe kprobe_test_stress symbols="$symbols"
for loop in $LOOPS; do
	case $loop in
	load*)	load "${loop#load}" & ;;
	*)	$loop & ;;
	esac
done
sleep "$SECONDS_"
: >/tmp/stress/stop
wait
[ ! -e $CPU ] || echo 1 >$CPU 2>/dev/null
for count in rounds busy errors hits returns missed ghosts; do
	eval "$count=$(cat $STRESS/$count)"
done
echo "    $rounds rounds, $busy busy, $hits hits, $returns returns, $missed missed"
for loop in $LOOPS; do
	echo "    $loop: $(laps $loop)"
	check "$loop got around" [ "$(laps $loop)" -ge 1 ]
done
check "probes came and went" [ "$rounds" -ge 10 ]
check "and were hit" [ "$hits" -ge 100 ]
check "so were returns" [ "$returns" -ge 10 ]
check "some were missed" [ "$missed" -ge 1 ]
check "no registration failed" [ "$errors" -eq 0 ]
check "no handler ran without its probe" [ "$ghosts" -eq 0 ]
check "the load computed the right thing" [ ! -s /tmp/stress/wrong ]
check "it ends" rmmod kprobe_test_stress
rmmod kprobe_test_target 2>/dev/null
rmmod kretprobe_example 2>/dev/null
check "the driver goes" rmmod kprobe_test_driver
check "the list is empty" no_probes
check "no slot is left" wait_for 30 few_slots $((2 + KEPT_PAGES))
