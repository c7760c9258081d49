# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench-where.
optimization=/proc/sys/debug/kprobes-optimization

[ ! -e $optimization ] || echo 0 >$optimization
insmod /bin/kprobe_bench.ko traced=1
rmmod kprobe_bench
[ ! -e $optimization ] || echo 1 >$optimization
insmod /bin/kprobe_bench.ko traced=1 optimized=1
