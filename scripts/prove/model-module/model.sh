# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/prove/model: the sequences of /bin/model.list, one a line as
# "SEED OPS THREADS [KEEP...]", until one is different.
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

run() {
	echo "$1" >$PARAM/seed
	echo "$2" >$PARAM/ops
	echo "$3" >$PARAM/threads
	shift 3
	echo none >$PARAM/keep
	for range; do
		echo "$range" >$PARAM/keep
	done
	echo 1 >$PARAM/run
}

check "the module loads" insmod /bin/kprobe_model.ko
number=0
while read -r sequence; do
	# shellcheck disable=SC2086 # several words
	run $sequence || break
	number=$((number + 1))
	echo "model: $number as predicted"
done </bin/model.list
check "all are as predicted" [ $number -eq "$(wc -l </bin/model.list)" ]
check "the module goes" rmmod kprobe_model
check "no probe is left" no_probes
check_leaks
