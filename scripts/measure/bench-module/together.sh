# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench, with four CPUs.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

[ ! -e $optimization ] || echo 0 >$optimization
check "measured together" insmod /bin/kprobe_bench_together.ko
