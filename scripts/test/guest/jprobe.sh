# SPDX-License-Identifier: GPL-2.0-only
# A jprobe of a module: what it logs, how it is listed, and what becomes of a process that
# calls jprobe_return() where it must not.
# checks: 22
# needs: CONFIG_SAMPLE_JPROBES CONFIG_KPROBES_TEST_MODULES
. /guest/lib.sh

DRIVER=/sys/module/kprobe_test_jprobe/parameters
LEFT="end of kprobe_test_jprobe"

work() { echo 12345678 >/tmp/written; }
value() { [ "$(cat $DRIVER/"$1")" = "$2" ]; }

mark
check "jprobe_example loads" modprobe jprobe_example
work
show sh -c 'dmesg | grep "writes 9 bytes" | head -n 2'
check "its handler sees the arguments" [ "$(said 'writes 9 bytes to written')" -ge 1 ]
check "list shows a jprobe" listed ' j  *vfs_write'
check "probes names its handler" grep -q 'j vfs_write.* handler=on_vfs_write module=jprobe_example ' $KPROBES/probes
check "the call went on" grep -q 12345678 /tmp/written

echo 0 >$KPROBES/enabled
mark
work
check "no hit while probes are off" [ "$(said 'writes 9 bytes')" -eq 0 ]
echo 1 >$KPROBES/enabled
work
check "hits again" [ "$(said 'writes 9 bytes')" -ge 1 ]
check "it unloads" rmmod jprobe_example
check "and says how many hits were missed" \
	sh -c "dmesg | grep 'jprobe_example: jprobe removed, [0-9]* hits missed$'"
mark
work
check "no hit without it" [ "$(said 'writes 9 bytes')" -eq 0 ]
check "the list is empty" no_probes

# The handler and the probed function are in a module, and old source compiles.
check "a module with jprobes loads" modprobe kprobe_test_jprobe
check "its functions are probed" [ "$(grep -c ' j .*kprobe_test_jprobe' $KPROBES/list)" -eq 2 ]
echo 7 >$DRIVER/call
check "both handlers have seen the arguments" value seen "7 8 9 56"
check "the function has its own" value result 504
echo 1 >$DRIVER/disable
echo 5 >$DRIVER/call
check "a disabled jprobe has no hits" value seen "7 8 9 56"
echo 0 >$DRIVER/disable
echo 5 >$DRIVER/call
check "until it is enabled" value seen "5 6 7 30"

# A tracer of the handler and of what it calls.
if [ -e $TRACING/set_graph_function ]; then
	echo "kprobe_test_jprobe_*" >$TRACING/set_ftrace_filter
	echo function_graph >$TRACING/current_tracer
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "$i" >$DRIVER/call
	done
	check "with a graph tracer" value seen "10 11 12 110"
	echo nop >$TRACING/current_tracer
	echo function >$TRACING/current_tracer
	echo 3 >$DRIVER/call
	check "with a function tracer" value seen "3 4 5 12"
	check "which sees the handler" grep -q kprobe_test_jprobe_handler $TRACING/trace
	echo nop >$TRACING/current_tracer
	echo >$TRACING/set_ftrace_filter
fi
if [ -e $TRACING/dynamic_events ] &&
   echo "f:fprobes/ends kprobe_test_jprobe_callee%return" >$TRACING/dynamic_events 2>/dev/null
then
	echo "f:fprobes/starts kprobe_test_jprobe_callee" >>$TRACING/dynamic_events
	echo >$TRACING/trace
	echo 1 >$TRACING/events/fprobes/enable
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "$i" >$DRIVER/call
	done
	echo 0 >$TRACING/events/fprobes/enable
	check "with events of fprobe" value seen "10 11 12 110"
	check "which see the entry" [ "$(grep -c 'starts: ' $TRACING/trace)" -eq 10 ]
	check "but no return" [ "$(grep -c 'ends: ' $TRACING/trace)" -eq 0 ]
	echo >$TRACING/dynamic_events
fi

# BPF on the functions that the handler skips: a return program is never called.
if command -v client >/dev/null && grep -q ' kprobe_multi_link_handler$' /proc/kallsyms; then
	check "BPF at the entry of the callee" \
		[ "$(client bpf-multi kprobe_test_jprobe_callee $DRIVER/call)" = 100 ]
	check "BPF at its return" \
		[ "$(client bpf-multi -r kprobe_test_jprobe_callee $DRIVER/call)" = 0 ]
	echo 4 >$DRIVER/call
	check "and the calls went on" value seen "4 5 6 20"
fi

echo "expect splat: kernel BUG at"
echo "expect splat: Oops"
mark
# To arm64, the breakpoint of a BUG is an NMI until its exception returns, which it never
# does. The next time that the CPU is idle, that is noticed.
[ "$(uname -m)" != aarch64 ] || echo "expect splat: ct_kernel_exit"
# Nor are debug exceptions unmasked before the next task runs, which newer kernels check.
[ "$(uname -m)" != aarch64 ] || echo "allow splat: Unexpected DAIF"
(echo 1 >$DRIVER/outside) 2>/dev/null
[ "$(uname -m)" != aarch64 ] || wait_for 30 sh -c "dmesg | grep -q ct_kernel_exit"
check "a call outside of a handler is a BUG" \
	sh -c "dmesg | grep -Eq '$IP.*jprobe_return'"
check "and nothing after it is executed" [ "$(said "$LEFT")" -eq 0 ]
