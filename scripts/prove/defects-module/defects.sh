# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/prove/defects; the kernel passes defect=NAME.
pages() { grep -c kprobe_insn_page /proc/kallsyms; }

echo 1 >/sys/kernel/rcu_expedited
before=$(pages)
insmod /bin/kprobe_defects.ko "defect=$defect"
rmmod kprobe_defects
# Some pages are kept for later allocations.
if [ "$defect" = twice ] && [ "$(pages)" -gt $((before + 2)) ]; then
	echo "kprobe_defects: twice wrong: $(pages) pages of slots, before $before" >/dev/console
fi
