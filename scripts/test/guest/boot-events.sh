# SPDX-License-Identifier: GPL-2.0-only
# Events of the kernel command line: one in init text, whose memory was freed
# while it was enabled, one in text that stays. With DEBUG_PAGEALLOC, what is freed
# is not even mapped.
# checks: 12
# append: debug_pagealloc=on kprobe_event=p:boot_init,console_on_rootfs;p:boot_text,$SYS_getsid
# needs: CONFIG_KPROBE_EVENTS CONFIG_FTRACE_SYSCALLS
. /guest/lib.sh

EVENTS=$TRACING/events/kprobes

gone() { [ "$(grep -c GONE $KPROBES/list)" -eq 1 ]; }
in_trace() { grep -q "$1: (" $TRACING/trace; }

check "both events are defined" sh -c "[ -d $EVENTS/boot_init ] && [ -d $EVENTS/boot_text ]"
check "the one in init text was hit" in_trace boot_init
check "it is gone" gone
check "the other one is not" sh -c "grep getsid $KPROBES/list | grep -qv GONE"
client call
check "the other one is hit" in_trace boot_text
# Nobody writes to the freed memory, which would fault.
check "the global switch leaves it alone" sh -c \
	"echo 0 >$KPROBES/enabled && echo 1 >$KPROBES/enabled"
check "so do those of its event" sh -c "cd $EVENTS &&
	echo 0 >boot_init/enable && echo 1 >boot_init/enable && echo 0 >enable"
check "the other one can be switched on" sh -c \
	"echo 1 >$EVENTS/boot_text/enable && echo >$TRACING/trace"
client call
check "and is hit again" in_trace boot_text
check "no new one in what is freed" sh -c \
	"! echo 'p:again console_on_rootfs' >>$TRACING/kprobe_events"
check "all are removed" sh -c \
	"echo 0 >$EVENTS/enable; echo >$TRACING/kprobe_events"
check "the list is empty" no_probes
