# SPDX-License-Identifier: GPL-2.0-only
# The kernel panics with probes all along the way. The kernel that comes after it
# ends this.
# checks: 9
# append: crashkernel=192M
# timeout: 240
# needs: CONFIG_CRASH_DUMP CONFIG_KEXEC_FILE CONFIG_PROC_VMCORE CONFIG_MAGIC_SYSRQ CONFIG_KPROBE_EVENTS
. /guest/lib.sh

# Said early, since what the kernel says does not wait for it.
echo "expect splat: Kernel panic"

kernel_after crash "a handler ran on the way" yes 'before machine_crash_shutdown[+]0x' \
	"after its instruction, too" yes 'after machine_crash_shutdown[+]0x'
events=$TRACING/kprobe_events
nr=0
for fn in panic sysrq_handle_crash crash_kexec __crash_kexec crash_smp_send_stop \
	  crash_setup_regs native_machine_crash_shutdown crash_save_vmcoreinfo machine_kexec \
	  kmsg_dump_desc console_verbose lapic_shutdown disable_IO_APIC hpet_disable; do
	echo "p:crash/p_$nr $fn" 2>/dev/null >>$events && nr=$((nr + 1))
	echo "r:crash/r_$nr $fn" 2>/dev/null >>$events && nr=$((nr + 1))
done
check "probes on the way of a crash ($nr)" [ $nr -ge 8 ]
check "they are enabled" sh -c "echo 1 >$TRACING/events/crash/enable"
check "one that prints" modprobe kprobe_example symbol=machine_crash_shutdown
# What it says does not come to the console any more.
on_console
echo c >/proc/sysrq-trigger
check "the kernel did not survive" false
