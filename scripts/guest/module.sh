# SPDX-License-Identifier: GPL-2.0-only
# Probes in a module that comes and goes, with the modules kprobe_test_target
# and kprobe_test_driver (CONFIG_KPROBES_TEST_MODULES).
# timeout: 240
. /guest/lib.sh

DRIVER=/sys/module/kprobe_test_driver/parameters
TARGET=/sys/module/kprobe_test_target/parameters

is() { [ "$(cat "$DRIVER/$1")" = "$2" ]; }
refused() { ! echo "$2" >"$DRIVER/$1"; }
call() { echo 1 >$TARGET/call; }

if ! modprobe kprobe_test_driver 2>/dev/null; then
	skip "p_mod modules" "no CONFIG_KPROBES_TEST_MODULES"
	return 0 2>/dev/null || exit 0
fi

check "p_reg_03 a symbol of a module that is not there is refused" \
	refused register kprobe_test_target:kprobe_test_fn
listed=$(wc -l <$KPROBES/blacklist)
check "the target loads" modprobe kprobe_test_target
check "a probe in the module registers" \
	sh -c "echo kprobe_test_target:kprobe_test_fn >$DRIVER/register"
call
call
check "it is hit" is hits 2
check "it is not gone" is gone 0
check "p_blk_05 NOKPROBE_SYMBOL() of the module is refused" sh -c \
	". /guest/lib.sh; echo 1 >$DRIVER/unregister;
	 ! echo kprobe_test_target:kprobe_test_nokprobe >$DRIVER/register"
check "p_blk_05 __kprobes of the module is refused" \
	refused register kprobe_test_target:kprobe_test_in_section
check "p_blk_05 the blacklist shows both" sh -c \
	"[ \$(grep -cE 'kprobe_test_(nokprobe|in_section)' $KPROBES/blacklist) -eq 2 ]"
# Nor a third that had been there for its init text: this has no name any more.
check "p_blk_05 and no more than both" \
	[ $(($(wc -l <$KPROBES/blacklist) - listed)) -eq 2 ]
check "p_mod_02 init text of a loaded module is refused" \
	refused register kprobe_test_target:kprobe_test_init_fn
if [ -e $TRACING/kprobe_events ]; then
	check "p_blk_12 no event in what must not be traced" sh -c \
		"! echo p:untraced kprobe_test_target:kprobe_test_no_trace >$TRACING/kprobe_events"
	check "p_blk_12 but one in what may be" sh -c \
		"echo p:traced kprobe_test_target:kprobe_test_fn >$TRACING/kprobe_events"
	echo >$TRACING/kprobe_events
fi
check "p_blk_12 a probe in what must not be traced" \
	sh -c "echo kprobe_test_target:kprobe_test_no_trace >$DRIVER/register"
call
check "p_blk_12 is hit" is hits 1
echo 1 >$DRIVER/unregister

check "the probe registers again" \
	sh -c "echo kprobe_test_fn >$DRIVER/register"
call
check "it is hit again" is hits 1
check "p_mod_01 the module goes with the probe in it" rmmod kprobe_test_target
check "p_mod_01 the probe is gone" is gone 1
check "p_mod_01 the list says so" sh -c "grep -q 'GONE' $KPROBES/list"
check "p_mod_01 it cannot be enabled" refused enable 1
# Its symbol is gone, but that is no reason to tell its address instead.
echo 2 >/proc/sys/kernel/kptr_restrict
for file in list sites; do
	check "its address is not in $file either" sh -c \
		"grep -q . $KPROBES/$file && ! grep -q 'ffffffff[0-9a-f]' $KPROBES/$file"
done
echo 0 >/proc/sys/kernel/kptr_restrict
check "p_blk_05 the blacklist has forgotten the module" sh -c \
	"! grep -qE 'kprobe_test_(nokprobe|in_section)' $KPROBES/blacklist &&
	 [ \$(wc -l <$KPROBES/blacklist) -eq $listed ]"

# P-MOD-03: again and again, so that addresses are used a second time.
ok=y
for i in 1 2 3 4 5 6 7 8 9 10; do
	modprobe kprobe_test_target || ok=
	# The first time around, the old probe is still registered.
	echo 1 >$DRIVER/unregister
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || ok=
	call
	is hits 1 || ok=
	rmmod kprobe_test_target || ok=
	is gone 1 || ok=
done
check "p_mod_03 p_mod_04 ten reloads with the probe registered" [ "$ok" ]
check "unregistered when it is long gone" sh -c \
	"echo 1 >$DRIVER/unregister && ! grep -q GONE $KPROBES/list"

check "p_mod_02 init text can be probed as the module comes" sh -c \
	"echo kprobe_test_target:kprobe_test_init_fn >$DRIVER/on_coming &&
	 modprobe kprobe_test_target"
check "p_mod_02 it was hit once" is coming_hits 1
check "p_mod_02 it is gone when the module is live" is coming_gone 1
check "p_mod_04 it dies only once" rmmod kprobe_test_target
echo none >$DRIVER/on_coming

# A new probe where one is gone and still registered.
echo kprobe_test_target:kprobe_test_fn >$DRIVER/on_coming
modprobe kprobe_test_target
rmmod kprobe_test_target
two_at_once() { awk '{ n[$1]++ } END { for (a in n) if (n[a] > 1) exit 0; exit 1 }' $KPROBES/list; }
ok=y same=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	modprobe kprobe_test_target || ok=
	echo kprobe_test_target:kprobe_test_fn >$DRIVER/register || ok=
	call
	is hits 1 && is coming_gone 1 || ok=
	! two_at_once || same=$((same + 1))
	rmmod kprobe_test_target || ok=
	echo 1 >$DRIVER/unregister || ok=
done 2>/dev/null
check "p_mod_03 a new probe where one is gone is hit" [ "$ok" ]
check "p_mod_03 some were at its address" [ $same -ge 1 ]
echo none >$DRIVER/on_coming

event_dies() {
	modprobe kprobe_test_target &&
		echo p:off kprobe_test_target:kprobe_test_fn >$TRACING/kprobe_events &&
		$1 && rmmod kprobe_test_target && grep -q GONE $KPROBES/list
}
on_and_off() {
	echo 1 >$TRACING/events/kprobes/off/enable && echo 0 >$TRACING/events/kprobes/off/enable
}
for what in true on_and_off; do
	check "p_mod_05 a probe that is switched off dies with its module ($what)" event_dies $what
	echo >$TRACING/kprobe_events
done
check "p_mod_05 so does one when all are switched off" sh -c \
	"modprobe kprobe_test_target &&
	 echo kprobe_test_target:kprobe_test_fn >$DRIVER/register &&
	 echo 0 >$KPROBES/enabled && rmmod kprobe_test_target &&
	 echo 1 >$KPROBES/enabled && grep -q 1 $DRIVER/gone"

# Its text is not yet freed, but the core has forgotten it.
check "p_agg_05 no probe in a module that is going" sh -c \
	"modprobe kprobe_test_target && echo 1 >$DRIVER/unregister &&
	 echo kprobe_test_target:kprobe_test_fn >$DRIVER/on_going &&
	 echo 1 >$DRIVER/going_error && rmmod kprobe_test_target &&
	 [ \$(cat $DRIVER/going_error) -eq -2 ]"
echo none >$DRIVER/on_going

# P-AGG-05, P-BLK-03: the module and its part of the blacklist come and go while
# a probe is registered on its function, and is sometimes right.
rmmod kprobe_test_target 2>/dev/null
echo 1 >$DRIVER/unregister
(while :; do modprobe kprobe_test_target; usleep 1000; rmmod kprobe_test_target; done) 2>/dev/null &
loop=$!
(sleep 20; : >/tmp/stop) &
there=0 away=0
while [ ! -e /tmp/stop ]; do
	if echo kprobe_test_target:kprobe_test_fn 2>/dev/null >$DRIVER/register; then
		there=$((there + 1))
		echo 1 >$DRIVER/unregister
	else
		away=$((away + 1))
	fi
done 2>/dev/null
kill $loop
wait $loop 2>/dev/null
echo "    the module was there $there times, and $away times not"
check "p_agg_05 p_blk_03 register while the module comes and goes" \
	[ $there -ge 20 -a $away -ge 20 ]
rmmod kprobe_test_target 2>/dev/null
check "all is taken back" rmmod kprobe_test_driver
check "the list is empty" no_probes
