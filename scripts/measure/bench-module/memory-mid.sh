# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench, where no probe has been before. The module stays, as
# its probes do.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

[ ! -e $optimization ] || echo 0 >$optimization
check "memory" insmod /bin/kprobe_bench.ko memory=mid
