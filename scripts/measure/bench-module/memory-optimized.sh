# SPDX-License-Identifier: GPL-2.0-only
# Like memory-mid.sh, with jumps. Not every kernel has them.
. /guest/lib.sh

if [ -e /proc/sys/debug/kprobes-optimization ]; then
	check "memory with jumps" insmod /bin/kprobe_bench.ko memory=mid optimized=1
else
	skip "memory with jumps" "the kernel has none"
fi
