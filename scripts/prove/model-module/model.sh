# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/prove/model: the sequences of /bin/model.list. Its lines say what is
# written to which parameter of the module. After each round, what debugfs and ftrace show is printed.
. /guest/lib.sh

PARAM=/sys/module/kprobe_model/parameters

for kind in failslab fail_page_alloc; do
	[ -e /sys/kernel/debug/$kind ] || continue
	echo N >/sys/kernel/debug/$kind/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/$kind/verbose
done
[ ! -e /sys/kernel/debug/fail_page_alloc ] || {
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

# A thread that loops in a corrupted list would take until the guest's timeout.
echo 1 >/proc/sys/kernel/panic_on_rcu_stall

echo on >/proc/sys/kernel/printk_devkmsg

# Each line with the name of its file, but only sums of the crowd: lines, those that are armed, how
# many ftrace_ops its functions have together, and how many of these are claimed. They go into the log
# of the kernel, after the lines of the module. Newer kernels may print these later.
faces() {
	awk '
	function say(line) { print line >"/dev/kmsg"; fflush("/dev/kmsg") }
	{ name = FILENAME; sub(".*/", "", name) }
	name == "list" && / model_crowd_/ { lines++; next }
	name == "sites" && / model_crowd_/ { armed += / state=armed /; next }
	name == "enabled_functions" && !/^model_/ { next }
	/^model_crowd_/ {
		sub("\t.*", "")
		exclusive += / I/
		sub(".*[(]", "")
		ops += $0
		next
	}
	{ say(name ": " $0) }
	END { say("crowd: " lines + 0 " " armed + 0 " " ops + 0 " " exclusive + 0) }' \
		$KPROBES/enabled $KPROBES/list $KPROBES/sites $TRACING/enabled_functions
}

check "the module loads" insmod /bin/kprobe_model.ko
while read -r what numbers; do
	echo "$numbers" >"$PARAM/$what" || break
	[ "$what" != round ] || faces
done </bin/model.list
check "the module goes" rmmod kprobe_model
check "no probe is left" no_probes
check_leaks
