# SPDX-License-Identifier: GPL-2.0-only
# Probes in modules when ftrace has found itself broken and does nothing any
# more, for good: this needs a guest of its own.
# checks: 18
# needs: CONFIG_KPROBES_TEST_MODULES CONFIG_KPROBES_ON_FTRACE
. /guest/lib.sh

add() { echo "$1" >$DRIVER/register; }
refused() { ! add "$1"; }
warnings() { dmesg | grep -c 'cut here'; }

check "the modules load" sh -c "modprobe kprobe_test_driver && modprobe kprobe_test_target"
check "a probe on an ftrace site of the target" add kprobe_test_target:kprobe_test_fn
check "it is one" grep -q FTRACE $KPROBES/list
echo 1 >$TARGET/call
check "it is hit" is hits 1
check "ftrace is killed" sh -c "echo 1 >$DRIVER/kill_ftrace"

check "the target goes with the probe in it" rmmod kprobe_test_target
check "the probe is gone" is gone 1
check "the target comes again" modprobe kprobe_test_target
echo 1 >$TARGET/call
check "it is unregistered" sh -c "echo 1 >$DRIVER/unregister"
before=$(warnings)
check "no probe on an ftrace site any more" refused kernel_clone
check "which is no reason to warn" [ "$(warnings)" -eq "$before" ]
check "nothing is left of it" no_probes
# What ftrace does not know in a module that came later can be anything.
add kprobe_test_target:kprobe_test_fn
echo 1 >$TARGET/call
echo 1 >$DRIVER/unregister
check "but on others" add kprobe_test_target:kprobe_test_no_trace
echo 1 >$TARGET/call
check "which are hit" is hits 1
check "the target goes again" rmmod kprobe_test_target
check "and the driver" rmmod kprobe_test_driver
check "the list is empty" no_probes
check "a question has the answer that ftrace is broken" sh -c \
	"exec 7<>$KPROBES/check; echo vfs_statx >&7; grep -q 'verdict=refused .* reason=ftrace' <&7"
