# SPDX-License-Identifier: GPL-2.0-only
# A handler oopses in a breakpoint, which the kernel does not survive; there are
# probes all along the way of the crash. The kernel that comes after it ends this.
# append: crashkernel=192M
# timeout: 240
# needs: CONFIG_CRASH_DUMP CONFIG_KEXEC_FILE CONFIG_PROC_VMCORE CONFIG_KPROBES_TEST_MODULES CONFIG_KPROBE_EVENTS
. /guest/lib.sh

DRIVER=/sys/module/kprobe_test_driver/parameters
TARGET=/sys/module/kprobe_test_target/parameters

mkdir -p /tmp/after/bin /tmp/after/proc
cp /bin/busybox /tmp/after/bin/
cat >/tmp/after/init <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
echo "ok p_sys_04 the kernel after the crash has come"
# Of all memory, where the kernel is; once, since this takes a while.
head -c 50331648 /proc/vmcore | strings -n 12 | grep -e 'handler_pre: <machine_crash_shutdown>' \
	-e 'RIP: 0010:count_hit+' -e 'kprobe_test_no_trace+0x' >/said
said() {
	if grep -q -F -e "$2" /said; then
		echo "ok $1"
	else
		echo "not ok $1"
	fi
}
said "p_sys_04 a handler ran on the way" handler_pre
said "p_sys_05 the report names the handler" count_hit
said "p_sys_05 and the probed function" kprobe_test_no_trace
echo "guest: end crash"
echo "guest: end crash"
poweroff -f
END
chmod 755 /tmp/after/init
(cd /tmp/after && find . | cpio -o -H newc) >/tmp/after.cpio 2>/dev/null

check "the second kernel is loaded" client crash-load /boot/bzImage /tmp/after.cpio \
	"console=ttyS0 panic=-1 maxcpus=1 kunit.enable=0"
check "it is there" grep -q 1 /sys/kernel/kexec_crash_loaded
events=$TRACING/kprobe_events
nr=0
for fn in panic oops_enter oops_exit oops_end crash_kexec __crash_kexec crash_smp_send_stop \
	  crash_setup_regs native_machine_crash_shutdown crash_save_vmcoreinfo machine_kexec \
	  kmsg_dump_desc console_verbose lapic_shutdown disable_IO_APIC hpet_disable; do
	echo "p:crash/p_$nr $fn" 2>/dev/null >>$events && nr=$((nr + 1))
	echo "r:crash/r_$nr $fn" 2>/dev/null >>$events && nr=$((nr + 1))
done
check "p_sys_04 probes on the way of a crash ($nr)" [ $nr -ge 8 ]
check "they are enabled" sh -c "echo 1 >$TRACING/events/crash/enable"
check "one that prints" modprobe kprobe_example symbol=machine_crash_shutdown
check "the modules load" sh -c "modprobe kprobe_test_driver && modprobe kprobe_test_target"
check "a breakpoint" sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
# What it says does not come to the console any more.
echo 1 >$DRIVER/oops
echo 1 >$TARGET/call
check "the kernel did not survive" false
