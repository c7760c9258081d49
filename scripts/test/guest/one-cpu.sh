# SPDX-License-Identifier: GPL-2.0-only
# A kernel that has begun with one of its CPUs. In Linux 6.12, x86 then has no lock prefixes, and
# puts them back as a second CPU comes up.
# checks: 6
# needs: CONFIG_HOTPLUG_CPU CONFIG_KPROBE_EVENTS
# append: maxcpus=1
# cpus: 1
. /guest/lib.sh

FN=vfs_statx

# patched - a place in one of these functions where an instruction is patched.
patched() {
	local fn at
	for fn in fput iput dput ihold igrab mntget path_get get_task_cred do_dentry_open; do
		at=5
		while [ $at -lt 200 ]; do
			case $(ask $fn+$at) in
			*reason=patched*)
				echo $fn+$at
				return 0 ;;
			esac
			at=$((at + 1))
		done
	done
	return 1
}
cpu() { echo "$1" >/sys/devices/system/cpu/cpu1/online && [ "$(nproc)" = $(($1 + 1)) ]; }
hit() {
	echo >$TRACING/trace
	taskset "$1" stat /init >/dev/null
	grep -q "one_cpu" $TRACING/trace
}

check "there is one CPU" [ "$(nproc)" = 1 ]
case $(uname -m):$(uname -r) in
x86_64:6.12.*)
	place=$(patched)
	check "a lock prefix that is missing is known" [ "$place" ]
	check "and cannot be probed" sh -c "! echo p:lock $place >$TRACING/kprobe_events" ;;
*)
	skip "lock prefixes that are missing" "none is" ;;
esac
check "an event at an entry, and one after it" sh -c "
	echo p:one_cpu $FN >$TRACING/kprobe_events &&
	echo p:one_cpu_after $FN+$(first_after $FN) >>$TRACING/kprobe_events &&
	echo 1 >$TRACING/events/kprobes/enable"
check "they are hit" hit 1
check "a second CPU comes up" cpu 1
check "they are hit there, too" hit 2
echo 0 >$TRACING/events/kprobes/enable
echo >$TRACING/kprobe_events
check "the list is empty" no_probes
