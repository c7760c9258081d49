# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

[ ! -e $optimization ] || echo 0 >$optimization
check "measured among others" insmod /bin/kprobe_bench.ko among=1
