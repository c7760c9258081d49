# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

[ ! -e $optimization ] || echo 0 >$optimization
check "measured by letter" insmod /bin/kprobe_bench_letters.ko
check "rmmod" rmmod kprobe_bench_letters
if [ -e $optimization ]; then
	echo 1 >$optimization
	check "measured optimized" insmod /bin/kprobe_bench_letters.ko optimized=1
fi
