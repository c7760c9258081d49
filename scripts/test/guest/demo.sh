# SPDX-License-Identifier: GPL-2.0-only
# The demonstration of "make run": the sample modules put probes on functions of the
# running kernel, and each effect is shown and checked.
# checks: 28
. /guest/lib.sh

work() { for i in 1 2 3 4 5; do /bin/busybox true; done; }
has_sample() { grep -q "/$1.ko" "/lib/modules/$(uname -r)/modules.dep"; }
# exits SAMPLE MESSAGE - its last message is that, where N stands for a number.
exits() {
	rmmod "$1" && dmesg | grep -o "$1: .*" | tail -n 1 |
		grep -x "$1: $(echo "$2" | sed 's/\<N\>/[0-9][0-9]*/g')"
}

echo "-- A probe on kernel_clone(), registered by the sample module kprobe_example"
mark
check "kprobe_example loads" modprobe kprobe_example
work
show sh -c 'dmesg | grep kernel_clone | head -n 4'
check "its handler runs on every hit" [ "$(said kernel_clone)" -ge 5 ]

echo "-- A return probe, by kretprobe_example"
mark
check "kretprobe_example loads" modprobe kretprobe_example
work
show sh -c 'dmesg | grep returned | head -n 4'
check "its handler sees the return value" [ "$(said 'returned')" -ge 5 ]

if has_sample kprobe_batch_example; then
	echo "-- Many probes registered in one call, by kprobe_batch_example"
	mark
	check "kprobe_batch_example loads" modprobe kprobe_batch_example
	work
	check "kprobe_batch_example unloads" exits kprobe_batch_example "vfs_open: N calls, N missed"
	show sh -c 'dmesg | grep kprobe_batch_example | head -n 6'
	check "it has counted calls" [ "$(said '[1-9][0-9]* calls')" -ge 1 ]
	mark
	check "it loads for one function" modprobe kprobe_batch_example symbols=vfs_read
	check "and probes only that" [ "$(grep -c ' k ' $KPROBES/list)" -eq 2 ]
	check "and says so" [ "$(said 'probes registered: 1$')" -eq 1 ]
	work
	check "it unloads" rmmod kprobe_batch_example
	check "only that function was counted" sh -c \
		"[ \$(dmesg | grep -c '[0-9]* calls, ') -eq 1 ] &&
		 dmesg | grep -q 'vfs_read: [1-9]'"
fi

if has_sample kprobe_fault_example && command -v client >/dev/null; then
	echo "-- A fault handler, by kprobe_fault_example"
	mark
	check "kprobe_fault_example loads" modprobe kprobe_fault_example
	work
	check "a write from nowhere fails" [ "$(client bad-write /tmp/check.out)" = 14 ]
	show sh -c 'dmesg | grep "fault_example: fault" | head -n 2'
	check "its handler sees the fault of its read" \
		[ "$(said 'fault 0x[0-9a-f]* at .*: client')" -ge 1 ]
	check "the others succeed" exits kprobe_fault_example \
		"probe removed, N reads, 1 failed, N faults, N hits missed"
	show sh -c 'dmesg | grep "reads, " | head -n 1'
fi

echo "-- $KPROBES/list"
show cat $KPROBES/list
check "list shows the probe" listed ' k  *kernel_clone'
check "list shows the return probe" listed ' r  *kernel_clone'

echo "-- $KPROBES/enabled: all probes off, and on again"
mark
work
before=$(said kernel_clone)
echo 0 >$KPROBES/enabled
mark
work
off=$(said 'kernel_clone')
echo 1 >$KPROBES/enabled
mark
work
after=$(said kernel_clone)
echo "    handler lines for the same work: on $before, off $off, on $after"
check "enabled=0 switches every probe off" [ "$off" -eq 0 ]
check "enabled=1 switches them on again" [ "$after" -ge 5 ]

echo "-- Kprobe events through $TRACING/kprobe_events"
cd $TRACING || exit
check "events are defined" sh -c \
	"echo 'p:demo kernel_clone' >kprobe_events &&
	 echo 'r:demo_ret kernel_clone pid=\$retval' >>kprobe_events"
echo 1 >events/kprobes/enable
work
echo 0 >events/kprobes/enable
show sh -c "grep -v '^#' trace | head -n 4"
check "the trace has the probe's event" sh -c \
	"[ \$(grep -c ' demo: (kernel_clone' trace) -ge 5 ]"
check "the trace has the return value" sh -c \
	"[ \$(grep -c ' demo_ret: .*pid=0x' trace) -ge 5 ]"
check "events are removed" sh -c "echo >kprobe_events && ! grep -q . kprobe_events"
cd /

echo "-- Clean unload"
check "rmmod kretprobe_example" exits kretprobe_example \
	"return probe removed, N calls not followed, N hits missed"
check "rmmod kprobe_example" exits kprobe_example "probe removed, N hits missed"
mark
work
check "no handler runs any more" [ "$(said kernel_clone)" -eq 0 ]
check "list is empty" no_probes
