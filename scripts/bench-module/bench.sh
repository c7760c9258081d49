# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/bench; the module prints what it measures.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

if [ -e $optimization ]; then
	echo 0 >$optimization
fi
check "measured" insmod /bin/kprobe_bench.ko "$(cat /bin/bench.param)"
check "rmmod" rmmod kprobe_bench
if [ -e $optimization ]; then
	echo 1 >$optimization
	check "measured optimized" insmod /bin/kprobe_bench.ko optimized=1
fi
