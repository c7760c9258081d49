# SPDX-License-Identifier: GPL-2.0-only
# Jump optimization as userland sees it, and of probes in a module.
# checks: 43
# needs: CONFIG_OPTPROBES CONFIG_KPROBE_EVENTS CONFIG_KPROBES_TEST_MODULES
# timeout: 900
. /guest/lib.sh

SWITCH=/proc/sys/debug/kprobes-optimization
EVENTS=$TRACING/kprobe_events

# until_live COUNT - that many sites have a jump when the optimizer is idle.
until_live() {
	settle
	[ "$(live)" -eq "$1" ]
}
# One event for each instruction of the first 64 bytes of a function.
probe_all() {
	local i=0 nr=0
	while [ $i -lt 64 ]; do
		if echo "p:opt/e${2}_$i $1+$i" 2>/dev/null >>$EVENTS; then
			if echo 1 2>/dev/null >$TRACING/events/opt/e${2}_$i/enable; then
				nr=$((nr + 1))
			else
				echo "-:opt/e${2}_$i" >>$EVENTS
			fi
		fi
		i=$((i + 1))
	done
	echo $nr
}
off() {
	echo 0 >$TRACING/events/opt/enable
	echo >$EVENTS
}

check "it is switched on at boot" grep -qx 1 $SWITCH
probe_all vfs_read a >/tmp/nr
echo "    $(cat /tmp/nr) probes"
show cat $KPROBES/sites
check "several instructions can be probed" [ "$(cat /tmp/nr)" -ge 8 ]
if [ "$ON_FTRACE" ]; then
	check "sites says that ftrace calls the one at the entry" \
		grep -q 'vfs_read+.*kind=ftrace .* opt=none why=ftrace$' $KPROBES/sites
fi
# Each is in the range of another one's jump, which is known once there is a detour.
settle
if [ ! "$ONE_SIZE" ]; then
	check "sites says so" grep -q 'vfs_read+.* why=other-probe$' $KPROBES/sites
fi
off
check "one of them gets a jump" event_with_jump one vfs_read
check "list shows it" grep -q 'OPTIMIZED' $KPROBES/list
check "sites shows it" grep -q 'kind=optimized.*opt=live why=-' $KPROBES/sites
check "2 is refused" sh -c "! echo 2 >$SWITCH"
check "and changes nothing" grep -qx 1 $SWITCH
check "it is switched off" sysctl -w debug.kprobes-optimization=0
check "no jump is left" [ "$(live)" -eq 0 ]
check "sites shows the reason" grep -q 'opt=prepared why=switched-off' $KPROBES/sites
check "reading changes nothing" sh -c "grep -qx 0 $SWITCH && grep -qx 0 $SWITCH"
echo 1 >$SWITCH
check "the jump comes back" until_live 1
# A name with an underscore would be another file, which other programs would find, too.
check "it has only one name" sh -c \
	"! sysctl -w debug.kprobes_optimization=0 && sysctl -a | grep -c kprobes.optimization | grep -qx 1"
check "which the manual tells to type" sh -c \
	"sysctl debug.kprobes-optimization | grep -qx 'debug.kprobes-optimization = 1'"
echo 0 >$KPROBES/enabled
check "there is none while all probes are switched off" [ "$(live)" -eq 0 ]
echo 1 >$KPROBES/enabled
check "it comes back afterwards" until_live 1
modprobe kprobe_test_driver fault=1
modprobe kprobe_test_target
echo kprobe_test_no_trace >$DRIVER/register
settle
check "a probe with a fault handler keeps its breakpoint" \
	grep -q 'kprobe_test_no_trace+.* why=fault-handler$' $KPROBES/sites
echo 1 >$DRIVER/unregister
rmmod kprobe_test_driver kprobe_test_target
check "the pages have a symbol" grep -q kprobe_optinsn_page /proc/kallsyms

# The same function with a tracer on it, which changes the text before the probe.
PLACE=$(cat /tmp/place)
live_and_hit() {
	echo >$TRACING/trace
	cat /proc/version >/dev/null
	until_live 1 && grep -q 'one: (vfs_read+' $TRACING/trace
}
echo vfs_read >$TRACING/set_ftrace_filter
for round in 1 2 3 4; do
	echo function >$TRACING/current_tracer
	check "$round: with the tracer" live_and_hit
	echo nop >$TRACING/current_tracer
	check "$round: without" live_and_hit
done
echo >$TRACING/set_ftrace_filter
off

# while_doing NAME... - repeat these in the background until stop_doing, which checks
# that each of them completed at least once.
while_doing() {
	local what
	touch /tmp/go
	doing=$*
	for what; do
		while [ -e /tmp/go ]; do $what && echo >>/tmp/laps.$what; done >/dev/null 2>&1 &
	done
}
stop_doing() {
	local what
	rm /tmp/go
	wait
	for what in $doing; do
		check "meanwhile: $what" [ -s /tmp/laps.$what ]
	done
}
probe_comes_and_goes() {
	local i=0
	while [ $i -lt "$1" ]; do
		echo "p:opt/one $PLACE" >$EVENTS || return 1
		echo 1 >$TRACING/events/opt/one/enable || return 1
		[ $((i % 3)) -eq 0 ] || until_live 1
		[ $((i % 4)) -eq 0 ] && { echo 0 >$SWITCH; echo 1 >$SWITCH; }
		off
		i=$((i + 1))
	done
}

LINE='^[0-9a-f]* [^ ]*+0x[0-9a-f]*/0x[0-9a-f]* kind=[a-z]* state=[a-z]* .* opt=[a-z]* why=[a-z+0-9-]*$'
readers() { cat $KPROBES/sites | grep -v "$LINE" >>/tmp/bad; cat $KPROBES/list | grep .; }
: >/tmp/bad
while_doing readers
check "probes come and go while sites are read" probe_comes_and_goes 10
stop_doing
show cat /tmp/bad
check "each line was complete" [ ! -s /tmp/bad ]

CPU=/sys/devices/system/cpu/cpu1/online
hotplug() { echo 0 >$CPU && echo 1 >$CPU; }
tracepoints() { echo 1 >$TRACING/events/sched/enable && echo 0 >$TRACING/events/sched/enable; }
# Without a filter, arm64 takes very long: it changes one call site at a time.
[ "$(uname -m)" != aarch64 ] || echo '*vfs_*' >$TRACING/set_ftrace_filter
tracer() { echo function >$TRACING/current_tracer && echo nop >$TRACING/current_tracer; }
modules() { modprobe kprobe_test_target && rmmod kprobe_test_target; }
while_doing hotplug tracepoints tracer modules
check "probes come and go while the text is changed by others" probe_comes_and_goes 4
stop_doing
echo >$TRACING/set_ftrace_filter
hotplug
check "no probe is left" no_probes

# Every instruction of a function in a module, which is then unloaded.
modprobe kprobe_test_target
i=0 got=0 total=0
while [ $i -lt 48 ]; do
	if echo "p:opt/one kprobe_test_target:call_set+$i" 2>/dev/null >$EVENTS &&
	   echo 1 2>/dev/null >$TRACING/events/opt/one/enable; then
		total=$((total + 1))
		settle
		echo 1 >$TARGET/call
		if [ "$(live)" -eq 1 ] && [ $got -lt 3 ]; then
			got=$((got + 1))
			at=$i
			rmmod kprobe_test_target
			check "the module goes with a jump in it ($got)" \
				grep -q GONE $KPROBES/list
			off
			modprobe kprobe_test_target
		fi
		off
	fi
	i=$((i + 1))
done 2>/dev/null
check "probes in the module were optimized" [ $got -ge 1 ]

# The module is unloaded while its probe is queued, because no grace period ends; at other
# times; and in every eighth round, after the jump has been written.
HOLD=$DRIVER/hold
modprobe kprobe_test_driver
taskset -p 1 $$ >/dev/null
: >/tmp/states
ok=yes pages=$(slots) i=0
while [ $i -lt 24 ]; do
	[ -e /sys/module/kprobe_test_target ] || modprobe kprobe_test_target
	[ $((i % 4)) -ne 0 ] || echo 3000 >$HOLD || ok=
	echo "p:opt/one kprobe_test_target:call_set+$at" >$EVENTS &&
		echo 1 >$TRACING/events/opt/one/enable || ok=
	case $((i % 8)) in
	0 | 4)	;;
	6)	# The CPU of an earlier round may still be busy.
		echo 0 >$HOLD
		until_live 1 || ok= ;;
	*)	usleep $((i % 12 * 10000)) ;;
	esac
	sed -n 's/.* opt=\([a-z]*\) .*/\1/p' $KPROBES/sites >>/tmp/states
	# Before the module, or after it.
	[ $((i % 4)) -ne 3 ] || off
	rmmod kprobe_test_target || ok=
	[ $((i % 4)) -eq 3 ] || grep -q GONE $KPROBES/list || ok=
	# Let the worker run, which must not touch the memory that was the module's.
	[ $((i % 3)) -ne 0 ] || settle
	[ $((i % 2)) -ne 0 ] || modprobe kprobe_test_target
	off
	[ ! -e /sys/module/kprobe_test_target ] ||
		echo 1 >$TARGET/call || ok=
	i=$((i + 1))
done
show sh -c "sort /tmp/states | uniq -c"
check "the module unloads before and after the jump is written" [ "$ok" ]
# A jump that replaces one instruction waits for no grace period.
[ "$ONE_SIZE" ] || check "some probes were queued" grep -q 'queued\|waiting' /tmp/states
check "and some had a jump" grep -q live /tmp/states
settle
# Pages are freed after a grace period.
check "no page is left ($pages)" wait_for 30 few_slots "$pages"
taskset -p 3 $$ >/dev/null
rmmod kprobe_test_driver
[ -e /sys/module/kprobe_test_target ] || modprobe kprobe_test_target

# Branches into the middle of what a jump would overwrite.
if grep -q ' kprobe_test_into_nothing' /proc/kallsyms; then
	modprobe kprobe_test_driver
	for what in text rodata data fixup table split whole.cold whole nothing; do
		echo kprobe_test_into_$what >$DRIVER/register
		settle
		case $what in
		nothing) check "no branch in the module targets it" [ "$(live)" -eq 1 ] ;;
		whole*)	check "no branch targets $what, which was split" \
				[ "$(live)" -eq 1 ] ;;
		split)	check "a jump of the part split off may target it" \
				grep -q 'kprobe_test_into.*why=indirect-jump' $KPROBES/sites ;;
		table)	check "the module's jump table may target it" \
				grep -q 'kprobe_test_into.*why=indirect-jump' $KPROBES/sites ;;
		*)	check "the module's $what targets it" \
				grep -q 'kprobe_test_into.*why=jump-target+1' $KPROBES/sites ;;
		esac
		echo 1 >$DRIVER/unregister
	done

	# The text of a module is scanned in pieces, once while the module is loaded.
	# map_of NAME - optimize a probe in the module, and count how often text was scanned.
	map_of() {
		echo >$TRACING/trace
		echo kprobe_test_into_nothing >$DRIVER/register
		until_live 1 || return 1
		echo 1 >$DRIVER/unregister
		cat $TRACING/trace >/tmp/map.$1
		grep -c ' scan: ' /tmp/map.$1 >/tmp/scans.$1 || :
	}
	reload() { rmmod kprobe_test_target && modprobe kprobe_test_target; }
	check "the module is reloaded" reload
	echo 'p:map/scan kprobe_map_scan locked=@text_mutex:x64' >>$EVENTS
	echo 'r:map/begin arch_optimizer_begin again=$retval:u8' >>$EVENTS
	echo 1 >$TRACING/events/map/enable
	check "the module's text is scanned for a jump" map_of first
	check "the scan covers 100 KiB" [ "$(cat /tmp/scans.first)" -ge 100 ]
	check "in more than one piece" grep -q 'begin: .* again=1' /tmp/map.first
	check "with text_mutex free" sh -c \
		"grep ' scan: ' /tmp/map.first >/tmp/held && ! grep -v 'locked=0x0' /tmp/held"
	map_of second
	check "the next jump needs no scan" [ "$(cat /tmp/scans.second)" -eq 0 ]
	check "the module is reloaded again" reload
	map_of third
	check "a module that was reloaded is scanned anew" \
		cmp /tmp/scans.first /tmp/scans.third
	echo 0 >$TRACING/events/map/enable
	echo >$EVENTS
	rmmod kprobe_test_driver
fi

# Every instruction of a function with a static key, which is switched in the meantime.
key=$TARGET/key
# shows 0|1 - the function returns what the key is set to.
shows() { [ "$(cat $key)" = "$(echo off on | cut -d ' ' -f $(($1 + 1)))" ]; }
wrong=0 total=0 got=0 i=0
while [ $i -lt 96 ]; do
	for first in 0 1; do
		echo $first >$key
		echo "p:opt/one kprobe_test_target:kprobe_test_keyed+$i" 2>/dev/null >$EVENTS &&
			echo 1 2>/dev/null >$TRACING/events/opt/one/enable || { off; continue; }
		total=$((total + 1))
		# While it waits, and when it has a jump.
		echo $((1 - first)) >$key
		shows $((1 - first)) || wrong=$((wrong + 1))
		settle
		got=$((got + $(live)))
		for on in $first $((1 - first)); do
			echo $on >$key
			shows $on || wrong=$((wrong + 1))
		done
		off
		[ "$(cat $key)" != wrong ] || wrong=$((wrong + 1))
	done
	i=$((i + 1))
done 2>/dev/null
echo "    $total probes, $got jumps, $wrong wrong results"
check "a static key of a module is switched under jumps" [ $wrong -eq 0 ]
check "some of them were jumps" [ $got -ge 4 ]
echo 0 >$key
rmmod kprobe_test_target
check "nothing is left" no_probes
