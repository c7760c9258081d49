# SPDX-License-Identifier: GPL-2.0-only
# A livepatched function with all that calls users at its entry, or diverts its return. On
# powerpc, ftrace keeps the return address of such a call on a stack of its own.
# checks: 11
# needs: CONFIG_LIVEPATCH_64 CONFIG_SAMPLE_LIVEPATCH CONFIG_KPROBE_EVENTS CONFIG_FPROBE_EVENTS CONFIG_FUNCTION_GRAPH_TRACER
. /guest/lib.sh

FN=cmdline_proc_show
ORIGINAL=guest=
PATCHED="this has been live patched"
PATCH=/sys/kernel/livepatch/livepatch_sample
CALLS=500

others() {
	echo "p:klp/entry $FN" >>$TRACING/kprobe_events
	echo "r:klp/return $FN" >>$TRACING/kprobe_events
	echo "f:klp/starts $FN" >>$TRACING/dynamic_events
	echo "f:klp/ends $FN%return" >>$TRACING/dynamic_events
	echo 1 >$TRACING/events/klp/enable
	echo $FN >$TRACING/set_ftrace_filter
	echo function_graph >$TRACING/current_tracer
}
no_others() {
	echo nop >$TRACING/current_tracer
	echo >$TRACING/set_ftrace_filter
	echo 0 >$TRACING/events/klp/enable
	echo >$TRACING/dynamic_events
}
# says TEXT - this process reads the file, again and again.
says() {
	local i=0 line
	while [ $i -lt $CALLS ]; do
		read -r line </proc/cmdline
		case $line in
		*"$1"*)	;;
		*)	echo "$line"
			return 1 ;;
		esac
		i=$((i + 1))
	done
}
# all_see TEXT - the others see each of these calls.
all_see() {
	local event ok=0
	echo >$TRACING/trace
	says "$1" || return 1
	for event in entry return starts ends; do
		echo "$event: $(grep -c " $event: (" $TRACING/trace)"
		[ "$(grep -c " $event: (" $TRACING/trace)" -eq $CALLS ] || ok=1
	done
	echo "graph: $(grep -c "|  *$FN.*[;{]" $TRACING/trace)"
	[ "$(grep -c "|  *$FN.*[;{]" $TRACING/trace)" -eq $CALLS ] || ok=1
	return $ok
}
unpatch() {
	local left=300
	echo 0 >$PATCH/enabled
	while [ -e $PATCH ] && [ $left -gt 0 ]; do
		usleep 100000
		left=$((left - 1))
	done
	wait_for 30 unused livepatch_sample && rmmod livepatch_sample
}

check "a probe, a return probe, fprobe and the graph tracer come" others
check "they see the function" all_see $ORIGINAL
check "a livepatch comes" modprobe livepatch-sample
check "they see the function, which is patched" all_see "$PATCHED"
no_others
check "the patch is in effect without them" says "$PATCHED"
check "they come to the patched function" others
check "and see it" all_see "$PATCHED"
check "the livepatch goes" unpatch
check "they see the original function" all_see $ORIGINAL
no_others
check "which is still there without them" says $ORIGINAL
check "the list is empty" no_probes
