# SPDX-License-Identifier: GPL-2.0-only
# Registrations whose allocations fail, one after the other: they return -ENOMEM
# and leave nothing behind. The module kprobe_test_nomem says how it goes about it.
# checks: 69
# timeout: 600
# needs: CONFIG_FAILSLAB CONFIG_FAIL_PAGE_ALLOC CONFIG_KPROBES_TEST_MODULES
. /guest/lib.sh

AFTER=$(first_after vfs_statx)
NOMEM=/sys/module/kprobe_test_nomem/parameters
LEAKS=/sys/kernel/debug/kmemleak

for kind in failslab fail_page_alloc; do
	echo N >/sys/kernel/debug/$kind/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/$kind/verbose
done
echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >/sys/kernel/debug/fail_page_alloc/min-order

# fprobe warns that it has no memory to forget a module that goes.
echo "allow splat: fprobe_addr_list"
check "the module loads" modprobe kprobe_test_nomem
# Once without counting: tables grow, and stay.
echo many >$NOMEM/run
[ ! -e $LEAKS ] || echo clear >$LEAKS
for what in plain traced post many mixed return return_traced many_returns; do
	check "$what: each failure is clean" sh -c "echo $what >$NOMEM/run"
	echo "    $(cat $NOMEM/failures) failed, $(cat $NOMEM/survived) did without"
	check "$what: there were some" [ "$(cat $NOMEM/failures)" -ge 1 ]
	check "$what: the list is empty" no_probes
done
# Only ftrace needs memory for these.
OTHERS=upgrading
if [ "$ON_FTRACE" ]; then
	OTHERS="enabling disabling upgrading"
	check "leaving: nobody notices" sh -c "echo leaving >$NOMEM/run"
	check "leaving: it was tried" [ "$(cat $NOMEM/survived)" -ge 1 ]
	check "leaving: the list is empty" no_probes
fi
for what in $OTHERS; do
	check "$what: each failure is clean" sh -c "echo $what >$NOMEM/run"
	echo "    $(cat $NOMEM/failures) failed, $(cat $NOMEM/survived) did without"
	check "$what: it was tried" \
		[ $(($(cat $NOMEM/failures) + $(cat $NOMEM/survived))) -ge 1 ]
	check "$what: the list is empty" no_probes
done

# The global switch, with an allocation failing at each place in turn. What did not
# follow must follow the next time, and nothing may be called twice.

hits_of_call() {
	local before
	before=$(cat $DRIVER/hits)
	echo 1 >$TARGET/call
	echo $(($(cat $DRIVER/hits) - before))
}

# nth_fails NTH COMMAND... - says whether an allocation failed (none: ends the loop).
nth_fails() {
	client nomem "$@" >/tmp/nomem.out 2>&1
	grep -q 'failed=1' /tmp/nomem.out
}

# each COMMAND... - COMMAND NTH... until no allocation has failed, in which nothing is wrong.
each() {
	local what=$1 nth=1
	shift
	bad=0
	while [ $nth -lt 500 ] && $what $nth "$@"; do
		nth=$((nth + 1))
	done
	echo "    $((nth - 1)) allocations failed, $bad times something was wrong"
	[ $nth -gt 1 ] && [ $nth -lt 500 ] && [ $bad -eq 0 ]
}
wrong() { bad=$((bad + 1)); }
calls() { [ "$(hits_of_call)" -eq "$1" ] || wrong; }

# Questions, and opening the files that answer.
check "a question: each failure is survived" each nth_fails write $KPROBES/check vfs_statx+$AFTER
for file in check available probes sites list; do
	check "opening $file: each failure is survived" each nth_fails open $KPROBES/$file
done
check "an answer, if there is memory" sh -c \
	"exec 7<>$KPROBES/check; echo vfs_statx+$AFTER >&7; grep -q verdict=accepted <&7"

# switching NTH STATE HITS - a failure while switching to STATE.
switching() {
	echo $((1 - $2)) >$KPROBES/enabled
	nth_fails "$1" write $KPROBES/enabled "$2" || return
	[ "$(hits_of_call)" -le "$full" ] || wrong
	# From the other state, and without a failure.
	echo $((1 - $2)) >$KPROBES/enabled
	echo "$2" >$KPROBES/enabled
	calls "$3"
}

check "the driver and its target load" sh -c "modprobe kprobe_test_driver && modprobe kprobe_test_target"
check "a probe on the target" sh -c "echo kprobe_test_target:kprobe_test_fn >$DRIVER/register"
for fn in ${SYS}getsid ${SYS}getpgid; do
	check "others in the same filter: $fn" sh -c "echo p:nomem/$fn $fn >>$TRACING/kprobe_events"
done
check "they are enabled" sh -c "echo 1 >$TRACING/events/nomem/enable"
full=$(hits_of_call)
check "it is hit" [ "$full" -ge 1 ]
if [ "$ON_FTRACE" ]; then
	check "switching off: each failure is made up for" each switching 0 0
	check "switching on: each failure is made up for" each switching 1 "$full"
fi
check "it is hit as before" [ "$(hits_of_call)" -eq "$full" ]

# The module goes with a probe in it.
killing() {
	nth_fails "$1" unload kprobe_test_target || return
	if [ -d /sys/module/kprobe_test_target ]; then
		calls "$full"
		rmmod kprobe_test_target
	fi
	[ "$(grep -c GONE $KPROBES/list)" -eq 1 ] || wrong
	modprobe kprobe_test_target
	# Nothing of the old one is in the new text.
	calls 0
	echo 1 >$DRIVER/unregister
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register
	calls "$full"
}
for post in 0 1; do
	echo 1 >$DRIVER/unregister
	rmmod kprobe_test_target 2>/dev/null
	modprobe kprobe_test_target
	echo $post >$DRIVER/post
	check "a probe on the target, with post=$post" \
		sh -c "echo kprobe_test_target:kprobe_test_fn >$DRIVER/register"
	check "killing: no failure is seen, post=$post" each killing
done
echo 1 >$DRIVER/unregister
echo 0 >$DRIVER/post
modprobe kprobe_test_target

# The probe leaves, its address stays in the filter, and then the module goes.
leaving() {
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || wrong
	nth_fails "$1" write $DRIVER/unregister 1 || return
	# If the write itself failed, the driver has not seen it.
	echo 1 >$DRIVER/unregister
	rmmod kprobe_test_target
	modprobe kprobe_test_target
	echo 1 >$TARGET/call
}
check "leaving a module that goes: no failure is seen" each leaving

# From here on, all allocations below one function fail, also those that are made
# instead of others.

# fail_in FUNCTION... - fail allocations in these functions and in all that are linked
# between them, as the compiler may have inlined one. Or none. A function that ends with
# a call is no longer on the stack then, so the one that it calls has to be named, too.
# KINDS selects which kinds of allocations.
KINDS='failslab fail_page_alloc'
fail_in() {
	local kind range
	range=$(awk -v names=" $* " '
		found { end = $1; found = 0 }
		{ sub(/\..*/, "", $3) }
		index(names, " " $3 " ") && $2 ~ /^[Tt]$/ {
			if (!start)
				start = $1
			found = 1
		}
		END { if (end) print "0x" start, "0x" end }' /proc/kallsyms)
	for kind in failslab fail_page_alloc; do
		cd /sys/kernel/debug/$kind || return 1
		echo 0 >probability
		if [ "$1" != none ] && [ -z "${KINDS##*$kind*}" ]; then
			echo -1 >./times
			echo "${range% *}" >require-start
			echo "${range#* }" >require-end
			echo 100 >probability
		fi
		cd /
	done
	[ "$1" = none ] || [ -n "$range" ]
}

says() { dmesg | grep -q "$1"; }
# Those of ftrace, since breakpoints cannot fail.
armed() { grep -c 'kind=ftrace state=armed' $KPROBES/sites; }
traced() { echo "$1" >>$TRACING/kprobe_events; }

claiming() {
	modprobe kprobe_test_target
	calls 0
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || wrong
	calls "$full"
	nth_fails "$1" write $DRIVER/unregister 1 || return
	# If the write itself failed, the driver has not seen it.
	echo 1 >$DRIVER/unregister
	fail_in $FTRACE_ROOM || wrong
	rmmod kprobe_test_target
	fail_in none
}

FTRACE_ROOM='kprobe_ftrace_kill kprobe_ftrace_arm kprobe_ftrace_disarm kprobe_ftrace_purge
	kprobe_ftrace_settle arm_picked'
DETOURS='arch_prepare_optimized_kprobe arch_optimizer_begin arch_remove_optimized_kprobe'
rmmod kprobe_test_target 2>/dev/null
if [ -e /sys/kernel/debug/failslab/require-start ]; then
	check "allocations for a module's blacklist fail" fail_in kprobe_blacklist_add_module
	check "the module comes" modprobe kprobe_test_target
	check "what is not protected is reported" \
		says 'functions of module kprobe_test_target are not protected: -12'
	fail_in none
	rmmod kprobe_test_target
	check "the module comes with memory" modprobe kprobe_test_target
	check "its functions are protected again" \
		sh -c "! echo kprobe_test_target:kprobe_test_nokprobe >$DRIVER/register"
	check "allocations fail as they are forgotten" fail_in kprobe_blacklist_remove_range
	check "the module goes" rmmod kprobe_test_target
	fail_in none

	# Until it is live, the module is on a list of those that are coming.
	check "allocations fail as the module comes" fail_in kprobe_module_event
	check "it comes all the same" modprobe kprobe_test_target
	check "that it cannot be probed meanwhile is reported" \
		says 'no probes in module kprobe_test_target while it is being loaded'
	fail_in none
	check "it can be probed now" \
		sh -c "echo kprobe_test_target:kprobe_test_fn >$DRIVER/register"
	check "the probe is hit" [ "$(hits_of_call)" -ge 1 ]
	echo 1 >$DRIVER/unregister
	check "it goes as usual" rmmod kprobe_test_target

	check "allocations for return probes fail" fail_in register_kprobe
	check "a return probe is refused" sh -c \
		"! echo r:nomem/ret ${SYS}getsid >>$TRACING/kprobe_events"
	fail_in none
	check "with memory it is not" traced "r:nomem/ret ${SYS}getsid"
	check "it goes" traced "-:nomem/ret"

	if [ "$ON_FTRACE" ]; then
		# Several at once: their addresses are collected first. Breakpoints cannot fail.
		modprobe kprobe_test_target
		check "a breakpoint, too" \
			sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
		check "allocations fail as probes are switched off" fail_in $FTRACE_ROOM
		echo 0 >$KPROBES/enabled
		fail_in none
		check "that is reported" says 'Kprobes globally disabled, but [0-9]* of [0-9]* failed'
		check "the breakpoint is off" [ "$(hits_of_call)" -eq 0 ]
		echo 1 >$KPROBES/enabled
		echo 0 >$KPROBES/enabled
		check "none is armed then" [ "$(armed)" -eq 0 ]
		check "allocations fail as probes are switched on" fail_in $FTRACE_ROOM
		echo 1 >$KPROBES/enabled
		fail_in none
		check "that is reported, too" says 'Kprobes globally enabled, but [0-9]* of [0-9]* failed'
		check "none has been armed" [ "$(armed)" -eq 0 ]
		echo 0 >$KPROBES/enabled
		echo 1 >$KPROBES/enabled
		check "with memory all are" [ "$(armed)" -eq "$(grep -c kind=ftrace $KPROBES/sites)" ]
		check "and on again" [ "$(hits_of_call)" -ge 1 ]
		echo 1 >$DRIVER/unregister

		# A user with a claim on the function leaves, which cannot always be given up, and
		# then the module goes.
		rmmod kprobe_test_target 2>/dev/null
		modprobe kprobe_test_target
		check "an event in the module" traced "p:nomem/both kprobe_test_target:kprobe_test_fn"
		check "it is enabled" sh -c "echo 1 >$TRACING/events/nomem/both/enable"
		rmmod kprobe_test_target
		echo 1 >$DRIVER/post
		check "leaving with a claim, and the module goes: no failure is seen" each claiming
		rmmod kprobe_test_target
		echo 0 >$DRIVER/post
		modprobe kprobe_test_target
		check "nothing is called there" [ "$(hits_of_call)" -eq 0 ]
		rmmod kprobe_test_target
		check "the event goes" sh -c "echo 0 >$TRACING/events/nomem/both/enable"
		check "it is removed" traced "-:nomem/both"
	fi

	# A jump in a module of x86 needs to know where the module's branches lead.
	check "the module comes for a jump" modprobe kprobe_test_target
	if [ -e /proc/sys/debug/kprobes-optimization ] && [ ! "$ONE_SIZE" ]; then
		before=$(live)
		check "allocations for a jump fail" fail_in $DETOURS
		check "a breakpoint is made all the same" \
			sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
		settle
		check "there is no jump" [ "$(live)" -eq "$before" ]
		check "but hits" [ "$(hits_of_call)" -ge 1 ]
		fail_in none
		echo 1 >$DRIVER/unregister

		# Small objects can be had, but not the pages of a map.
		KINDS=fail_page_alloc
		check "pages for a jump fail" fail_in $DETOURS
		KINDS='failslab fail_page_alloc'
		check "again a breakpoint" \
			sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
		settle
		check "and no jump" [ "$(live)" -eq "$before" ]
		fail_in none
		echo 1 >$DRIVER/unregister
		check "with memory" \
			sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
		settle
		check "there is one" [ "$(live)" -gt "$before" ]
		echo 1 >$DRIVER/unregister
	fi
fi
echo 0 >$TRACING/events/nomem/enable
echo >$TRACING/kprobe_events
check "the driver goes" rmmod kprobe_test_driver
rmmod kprobe_test_target 2>/dev/null
check "the list is empty after all that" no_probes

# What is freed after a grace period may take megabytes for a moment, with large pages.
slabs() {
	for i in 1 2 3 4 5; do
		sleep 1
		awk '/^Slab:/ { print $2 }' /proc/meminfo
	done | sort -n | head -n 1
}

before=$(slabs)
for i in 1 2 3 4 5 6 7 8 9 10; do
	echo many >$NOMEM/run
	echo many_returns >$NOMEM/run
done
after=$(slabs)
echo "    slabs: $before kB, ten times later $after kB"
check "nothing leaks" [ $((after - before)) -lt $((1000 + $(kept))) ]
check_leaks
check "the module goes" rmmod kprobe_test_nomem
