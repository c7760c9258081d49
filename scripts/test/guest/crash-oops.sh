# SPDX-License-Identifier: GPL-2.0-only
# A handler oopses in a breakpoint, which the kernel does not survive. The kernel
# that comes after it ends this.
# checks: 10
# append: crashkernel=192M
# timeout: 240
# needs: CONFIG_CRASH_DUMP CONFIG_KEXEC_FILE CONFIG_PROC_VMCORE CONFIG_KPROBES_TEST_MODULES
. /guest/lib.sh

kernel_after crash-oops "the report names the handler" yes 'RIP: 0010[:]count_hit[+]0x' \
	"and the probed function" yes 'kprobe_test_no_trace[+]0x' \
	"no handler ran within that one" no 'before machine_crash_shutdown[+]0x'
# In a detour, it would be the end of a process only.
echo 0 >/proc/sys/debug/kprobes-optimization
check "the modules load" sh -c "modprobe kprobe_test_driver && modprobe kprobe_test_target"
check "a breakpoint" sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
check "another one on the way of the crash" modprobe kprobe_example symbol=machine_crash_shutdown
echo 1 >$DRIVER/oops
# Newer kernels print the report before the other kernel takes over.
echo "allow splat: NULL pointer dereference"
echo "allow splat: Oops:"
on_console
echo 1 >$TARGET/call
check "the kernel did not survive" false
