# SPDX-License-Identifier: GPL-2.0-only
# Who watches registration must still see it: tools of security teams have probes on
# register_kprobe() and its like. For each way to set a probe, the table below says in which
# exported functions a watcher sees it, in the base and in ours, and this script looks.
# "make test ARCH=base-x86_64 SUITE=watch" does so on the base. The KUnit suite kprobes_register
# has the calls that need a module of their own. Not here are events of the kernel command line,
# which come before any watcher, and fprobes, which are no kprobes.
# checks: 55
# needs: CONFIG_KPROBE_EVENTS CONFIG_FAIL_FUNCTION
. /guest/lib.sh

OURS=
[ ! -e $KPROBES/sites ] || OURS=y
FN=${SYS}getsid
ADDR=$(awk -v fn=$FN '$3 == fn { print $1 }' /proc/kallsyms | sed 's/^0*//')
INJECT=/sys/kernel/debug/fail_function/inject
# The trace of other instances is cleared as events are removed.
WATCH=$TRACING/instances/watch
# Where a struct kprobe has the name of the symbol.
NAME=48
case $(uname -m) in
i?86)	NAME=24 ;;
esac

define() { echo "$1" >>$TRACING/kprobe_events; }
# From its definition to its end.
in_tracefs() {
	define "$1" && echo 1 >$TRACING/events/way/enable
	echo 0 >$TRACING/events/way/enable && define "-:way/event"
}
in_module() {
	define "p:way/event trace_events_sample:foo_bar_reg" &&
		echo 1 >$TRACING/events/way/enable
	modprobe trace-events-sample
	echo 0 >$TRACING/events/way/enable && define "-:way/event"
	rmmod trace-events-sample
}
module() { modprobe "$@" && rmmod "$1"; }
# An array of return probes; a probe that is not in an array comes and goes after it.
orders() {
	local dir=/sys/module/kprobe_test_orders/parameters
	modprobe kprobe_test_orders && echo "return return two batch RU" >$dir/run &&
		[ "$(cat $dir/orders $dir/wrong | xargs)" = "1 0" ] && rmmod kprobe_test_orders
}
inject() { echo $FN >$INJECT && echo "!$FN" >$INJECT; }
refused() { ! define "$1" 2>/dev/null; }

for fn in register_kprobe register_kretprobe enable_kprobe disable_kprobe unregister_kprobe \
	  unregister_kretprobe; do
	define "p:watch/$fn $fn p=\$arg1 sym=+0(+$NAME(\$arg1)):string"
done
# These are given an array.
for fn in register_kprobes register_kretprobes unregister_kprobes unregister_kretprobes; do
	define "p:watch/$fn $fn p=+0(\$arg1) sym=+0(+$NAME(+0(\$arg1))):string"
done
nr=11
# A jprobe begins with a kprobe.
if grep -q ' register_jprobe$' /proc/kallsyms; then
	for fn in register_jprobe unregister_jprobe; do
		define "p:watch/$fn $fn p=\$arg1 sym=+0(+$NAME(\$arg1)):string"
		define "p:watch/${fn}s ${fn}s p=+0(\$arg1) sym=+0(+$NAME(+0(\$arg1))):string"
	done
	nr=15
fi
define "r:watch/result register_kprobe ret=\$retval:s32"
mkdir $WATCH
check "each function of the API can be watched" \
	[ "$(ls -d $WATCH/events/watch/*/ | wc -l)" -eq $nr ]
check "each watcher is enabled" sh -c "echo 1 >$WATCH/events/watch/enable"

# "function structure symbol" of each call that was seen.
calls() {
	sed -n 's/.* \([a-z_]*\): (.* p=\([^ ]*\) sym=/\1 \2 /p' $WATCH/trace
}
seen() { calls | awk '{ printf "%s%s", sep, $1; sep = " " }'; }
# whole SYMBOL - each structure that is registered is unregistered, and is for that symbol.
whole() {
	calls | awk -v symbol="$1" '
		{ all[$2] = 1; print }
		/^register/ { came[$2] = 1 }
		/^unregister/ { went[$2] = 1 }
		symbol && $3 != "\"" symbol "\"" { wrong = 1 }
		END {
			for (p in all) {
				n++
				wrong += !came[p] || !went[p]
			}
			exit !n || wrong
		}'
}

# way NAME SYMBOL BASE OURS CMD... - what a watcher sees of CMD.
way() {
	local name=$1 symbol=$2 want=$3 got
	[ ! $OURS ] || want=$4
	shift 4
	echo >$WATCH/trace
	check "$name: the probe comes and goes" "$@"
	got=$(seen)
	if [ "$got" = "$want" ]; then
		echo "    seen in $got"
	else
		echo "    seen in $got, not in $want"
	fi
	check "$name: it is seen" [ "$got" = "$want" ]
	check "$name: with its own structure" whole "$symbol"
}

# What is seen of a probe, and of a return probe, if they are enabled and disabled.
PROBE="register_kprobe enable_kprobe disable_kprobe unregister_kprobe"
RETURN="register_kretprobe register_kprobe enable_kprobe disable_kprobe unregister_kretprobe"
# And if not.
ON="register_kprobe unregister_kprobe"
RETURN_ON="register_kretprobe register_kprobe unregister_kretprobe"
# A module that is not there is no error. When it comes, the event is enabled already.
LATER="register_kprobe register_kprobe disable_kprobe unregister_kprobe"

way "an event" $FN "$PROBE" "$PROBE" in_tracefs "p:way/event $FN"
way "a return event" $FN "$RETURN" "$RETURN" in_tracefs "r:way/event $FN"
way "an event on an address" "" "$PROBE" "$PROBE" in_tracefs "p:way/event 0x$ADDR"
way "an event in a module that comes later" trace_events_sample:foo_bar_reg \
	"$LATER" "$LATER" in_module
way "perf" $FN "$PROBE" "$PROBE" client perf $FN
way "perf, returns" $FN "$RETURN" "$RETURN" client perf -r $FN
way "perf, an address" "" "$PROBE" "$PROBE" client perf -a "$ADDR"
way "BPF" $FN "$PROBE" "$PROBE" client bpf $FN
way "BPF, returns" $FN "$RETURN" "$RETURN" client bpf -r $FN
way "a BPF link" $FN "$PROBE" "$PROBE" client bpf -l $FN
way "a BPF link, returns" $FN "$RETURN" "$RETURN" client bpf -l -r $FN
way "a module" $FN "$ON" "$ON" module kprobe_example symbol=$FN
way "a module, returns" $FN "$RETURN_ON" "$RETURN_ON" module kretprobe_example func=$FN
way "fail_function" $FN "$ON" "$ON" inject
# In the base, which has no module with an array, its elements are seen, too; in ours the array is.
has() { [ -n "$(find /lib/modules -name "$1.ko")" ]; }
if has kprobe_batch_example; then
	way "an array" $FN "" "register_kprobes unregister_kprobes" \
		module kprobe_batch_example symbols=$FN,vfs_statx
fi
if has kprobe_test_orders; then
	way "an array, returns" "" "" "register_kretprobes unregister_kretprobes $ON" orders
fi
if has jprobe_example; then
	way "a jprobe" vfs_write "" "register_jprobe register_kprobe unregister_jprobe" \
		module jprobe_example
fi
if has kprobe_test_jprobe; then
	way "an array of jprobes" kprobe_test_jprobe_target "" \
		"register_jprobes unregister_jprobes" module kprobe_test_jprobe
fi
if has lkdtm; then
	both="register_kprobe enable_kprobe register_kretprobe register_kprobe enable_kprobe"
	both="$both disable_kprobe unregister_kprobe disable_kprobe unregister_kretprobe"
	way "a module with events" do_sys_open "$both" "$both" \
		module kprobe_event_gen_test
	way "lkdtm" tasklet_action "$ON" "$ON" module lkdtm \
		cpoint_name=INT_TASKLET_ENTRY cpoint_type=WARNING cpoint_count=1000000
fi

echo >$WATCH/trace
check "a probe inside an instruction is refused" refused "p:way/event $FN+1"
check "the attempt is seen" [ "$(seen)" = register_kprobe ]
check "and its result" grep -q 'result: (.*<- register_kprobe) ret=-' $WATCH/trace

check "watchers that watch are removed" sh -c \
	"echo 0 >$WATCH/events/watch/enable; rmdir $WATCH; echo >$TRACING/kprobe_events"
check "the list is empty" no_probes
