# SPDX-License-Identifier: GPL-2.0-only
# The files that answer whether something may be probed.
# checks: 145
# timeout: 900
# needs: CONFIG_KPROBE_EVENTS CONFIG_KPROBES_TEST_MODULES CONFIG_KUNIT_DEBUGFS
# append: kunit.enable=1 kunit.filter_glob=kprobes_check
. /guest/lib.sh

CHECK=$KPROBES/check
# Where a probe at an entry is a breakpoint, it may get a jump.
KIND='\(boosted\|emulated\)' ENTRY=jump
[ ! "$ON_FTRACE" ] || KIND=ftrace ENTRY=ftrace
AFTER=vfs_statx+$(first_after vfs_statx)
# What is executed when there is a breakpoint, and an address that no probe can have.
HANDLER=exc_int3 MIDDLE="middle of an instruction"
case $(uname -m) in
aarch64)	HANDLER=el1h_64_sync_handler ;;
ppc*)		HANDLER=program_check_exception ;;
esac
[ ! "$ONE_SIZE" ] || MIDDLE="aligned to their size"
KPTR=/proc/sys/kernel/kptr_restrict
LOG=$TRACING/error_log

field() { ask "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }
says() { [ "$(field "$1" "$2")" = "$3" ]; }
junk() { ! echo "$1" >$CHECK; }
long() { ! head -c "$1" /dev/zero | tr '\0' a >$CHECK; }

check "only root asks" mode_is 600 check
check "only root reads the catalogue" mode_is 400 available

check "nothing is read before a question" sh -c "! grep -q . $CHECK"
check "a function is accepted" says vfs_statx verdict accepted
check "it has no error" says vfs_statx errno 0
check "nor a reason" says vfs_statx reason -
kind_is_known() { field vfs_statx kind | grep -qx "$KIND"; }
check "its kind is known" kind_is_known
check "and whether there would be a jump" says vfs_statx jump $ENTRY
check "a return is accepted" says "r vfs_statx" verdict accepted
check "but not in the middle" says "r vfs_statx+0x20" verdict refused
check "because that is no entry" says "r vfs_statx+0x20" reason not-entry
check "an unknown function is refused" says no_such_function verdict refused
check "as an unknown symbol" says no_such_function reason no-symbol
check "with its error" says no_such_function errno -2
check "a marked one is refused" says kprobe_busy_begin reason marked
if grep -q ' cpuhp_report_idle_dead$' /proc/kallsyms; then
	check "what runs where no probe can is refused" says cpuhp_report_idle_dead reason reached
	check "with the function where that starts" \
		says cpuhp_report_idle_dead from cpuhp_report_idle_dead
	check "which the blacklist names, too" \
		grep -q "	cpuhp_report_idle_dead	cpuhp_report_idle_dead\$" $KPROBES/blacklist
fi
# Of the functions found from another one, any whose name is that of no other.
found=$(awk -F '\t' 'NR == FNR { split($0, f, " "); nr[f[3]]++; next }
	$3 != "" && $3 != $2 && nr[$2] == 1 { print $2, $3; exit }' /proc/kallsyms $KPROBES/blacklist)
if [ "$found" ]; then
	check "so is what it calls" says "${found% *}" reason reached
	check "with the function from which it was found" says "${found% *}" from "${found#* }"
fi
check "an unknown module is one, too" says nomod:vfs_statx reason no-symbol

# What the user may have meant.
KPTR_BEFORE=$(cat $KPTR)
logged() { ! echo "p:tried $1" >$TRACING/kprobe_events && tail -n3 $LOG | grep -q "$2"; }
means() { field "$1" candidates | tr ',' '\n' | grep -qx "$2"; }
check "a wrong name has candidates" means vfs_sattx vfs_statx
check "also with the offset" means vfs_sattx+4 vfs_statx
check "and for a return" means "r vfs_sattx" vfs_statx
many=$(field "${SYS}getxid" candidates | tr ',' '\n')
check "there are at most eight" test "$(echo "$many" | wc -l)" = 8
check "those that differ least come first" sh -c "echo '$many' | head -n4 | grep -qx ${SYS}getpid"
check "a right name has none" says vfs_statx candidates ""
check "nor has one that is similar to none" says no_such_function candidates -
inlined() { ask no_such_function | tail -n1 | grep -q 'may be inlined'; }
check "which may have been inlined" inlined
# Functions whose name the compiler has changed, and of whose own name there is none. Those of init
# text are gone.
echo 0 >$KPTR
awk '{ nr[$3]++ }
     NF == 3 { at[$3] = $1 }
     NF == 3 && $2 ~ /[tT]/ && $3 !~ /^__pfx_/ &&
     $3 ~ /^[^.]+\.(isra|constprop|part|cold)(\.[0-9]+)*$/ { found[$3] = $1 }
     END { for (name in found) {
		base = name
		sub(/\..*/, "", base)
		if (!(base in nr) && nr[name] == 1 && !seen[base]++ &&
		    found[name] "" >= at["_stext"] "" && found[name] "" < at["_etext"] "")
			print base, name } }' /proc/kallsyms | sort | head -n6 >/tmp/suffixed
echo "$KPTR_BEFORE" >$KPTR
if [ -s /tmp/suffixed ]; then
	show cat /tmp/suffixed
	# all_suffixed CMD... - CMD BASE NAME succeeds for all of them.
	all_suffixed() {
		local base name
		while read -r base name <&3; do
			"$@" "$base" "$name" || { echo "$base: $(ask "$base")"; return 1; }
		done 3</tmp/suffixed
	}
	unknown() { says "$1" reason no-symbol && says "$1" verdict refused; }
	check "names without the suffix of the compiler are unknown" all_suffixed unknown
	check "those with it are candidates" all_suffixed means
	and_return() { means "r $1" "$2"; }
	check "and for returns" all_suffixed and_return
	known() { [ "$(field "$2" reason)" != no-symbol ]; }
	check "they can be asked about" all_suffixed known
	logs_suffixed() { logged "$1" "symbol: .*$2"; }
	check "error_log names them, too" all_suffixed logs_suffixed
else
	skip "names without the suffix of the compiler" "there are none"
fi
# Static functions of the same name.
twin=$(awk '$2 ~ /[tTwW]/ { n[$3]++ } END { for (i in n) if (n[i] == 2) print i }' /proc/kallsyms |
	while read -r fn; do
		both=$(field "$fn" candidates)
		says "${both#*,}" verdict accepted && says "${both%,*}" verdict accepted &&
			echo "$fn" && break
	done)
check "some name is that of two functions" test "$twin"
twins=$(field "$twin" candidates)
check "both are candidates" sh -c "echo '$twins' | grep -qx '_text+0x[0-9a-f]*,_text+0x[0-9a-f]*'"
echo 2 >$KPTR
check "whoever asks" says "$twin" candidates "$twins"
echo "$KPTR_BEFORE" >$KPTR
check "by addresses that can be probed" says "${twins#*,}" verdict accepted
event_at() { echo "p:tried/twin $1" >$TRACING/kprobe_events && echo >$TRACING/kprobe_events; }
check "also in events" event_at "${twins%,*}"
check "a function that never returns is accepted" says "r do_exit" verdict accepted
check "but its return is not expected" says "r do_exit" returns never
check "unlike that of others" says "r vfs_statx" returns ""

for what in "" " " "a b" "+4" "vfs_statx+" "vfs_statx+x" 0x "0xzz" "vfs_statx+-1"; do
	check "'$what' is no question" junk "$what"
done
check "nor are 513 bytes" long 513
check "nor is a page" long 5000
check "512 bytes are" sh -c "head -c 512 /dev/zero | tr '\0' a >$CHECK"

# Long names, and names that are none.
a300=$(head -c 300 /dev/zero | tr '\0' a)
check "a name of 300 bytes is an unknown symbol" says "$a300" reason no-symbol
check "similar to no other" says "$a300" candidates -
check "also for a return" says "r $a300" reason no-symbol
check "with an offset" says "$a300+4" reason no-symbol
check "in a module" says "kernel:$a300" reason no-symbol
check "and as that of a module" says "$a300:vfs_statx" reason no-symbol
check "which has no candidates, either" says "$a300:vfs_statx" candidates -
# answer_to FORMAT - what is said of the bytes that printf writes.
answer_to() {
	local ret=0
	exec 7<>$CHECK
	# In one write, of which the shell keeps nothing if it fails.
	# shellcheck disable=SC2059 # escapes
	printf "$1" | dd bs=512 count=1 >&7 2>/tmp/why || ret=1
	cat <&7
	exec 7<&-
	return $ret
}
no_symbol() { answer_to "$1" | grep -q 'verdict=refused errno=-2 reason=no-symbol'; }
no_answer() { ! answer_to "$1"; }
check "bytes that no name has are an unknown symbol" no_symbol 'vfs_\377\200\001statx'
check "also the first and the last one" no_symbol '\376vfs_statx\377'
check "and others than of text" no_symbol '\001\002\003\033[1m%%s%%n\177'
check "a byte of 0 is refused" no_answer 'vfs_statx\000'
check "wherever it is" no_answer '\000vfs_statx'
check "so is a tab in the middle" no_answer 'vfs\tstatx'
# Each is either refused or about no symbol.
noise() {
	local i
	for i in $(seq 1 30); do
		exec 7<>$CHECK
		if head -c 300 /dev/urandom | dd bs=300 count=1 >&7 &&
		   ! grep -q reason=no-symbol <&7; then
			exec 7<&-
			return 1
		fi
		exec 7<&-
		# Without what may not be in a name, all of it is one.
		exec 7<>$CHECK
		head -c 600 /dev/urandom | tr -d '\000-\040+:\240' | head -c 300 |
			dd bs=300 count=1 >&7
		if ! grep -q reason=no-symbol <&7; then
			exec 7<&-
			return 1
		fi
		exec 7<&-
	done 2>/tmp/why
}
check "300 random bytes are no symbol" noise
check "a good question is still answered" says vfs_statx verdict accepted

addr=$(grep ' t vfs_statx$' /proc/kallsyms | cut -d' ' -f1)
before=$(cat $KPTR)
echo 0 >$KPTR
check "an address is accepted" says "0x$addr" verdict accepted
check "a user's is refused" says 0x1000 reason no-symbol
echo 2 >$KPTR
check "not by one who may see none" junk "0x$addr"
check "nor what is far from a symbol" junk vfs_statx+0x100000
check "but what is in it" says "$AFTER" verdict accepted
check "who is shown none" sh -c "echo $(field vfs_statx address) | grep -q '^00000000'"
echo "$before" >$KPTR

# The first instructions of functions have obstacles to a jump, or room for a short one.
SYSCTL=/proc/sys/debug/kprobes-optimization
finds() {
	local fn at
	for fn in $(sed -n 's/ ftrace$//p' $KPROBES/available | grep -v '\[' | awk 'NR % 37 == 1'); do
		for at in 9 10 12 13 14 16 19 22; do
			# shellcheck disable=SC2254 # a pattern
			case $(field "$fn+$at" jump) in
			$1)
				echo "$fn+$at: $(field "$fn+$at" jump)"
				return 0 ;;
			esac
		done
	done
	return 1
}
if [ -e $SYSCTL ]; then
	check "a breakpoint would get a jump" says "$AFTER" jump jump
	echo 0 >$SYSCTL
	check "but not while that is switched off" says "$AFTER" jump switched-off
	echo 1 >$SYSCTL
	if [ "$(uname -m)" = x86_64 ]; then
		check "obstacles to a jump have an offset" finds '*+*'
		check "there are short jumps" finds short-jump
	fi
fi

# At an offset past its end a file ends, and an answer is still there at its start.
beyond() { [ "$(dd if="$1" bs=65536 skip=100000 count=1 2>/tmp/why | wc -c)" = 0 ]; }
for file in check available probes sites; do
	check "nothing is beyond the end of $file" beyond $KPROBES/$file
done
asks_beyond() {
	exec 7<>$CHECK
	echo vfs_statx >&7
	dd bs=1 skip=100000 count=1 <&7 >/tmp/far 2>/tmp/why
	echo vfs_statx >&7
	head -c 8 <&7 >/tmp/near
	exec 7<&-
	[ ! -s /tmp/far ] && [ "$(cat /tmp/near)" = address= ]
}
check "nothing is beyond the end of an answer" asks_beyond

# What is found by trying is what was said before.
error_text() {
	case $1 in
	0) echo none ;;
	-2) echo "No such file or directory" ;;
	-22) echo "Invalid argument" ;;
	-84) echo "Invalid or incomplete multibyte or wide character" ;;
	*) echo "another: $1" ;;
	esac
}
agrees() {
	said=$(error_text "$(field "$1" errno)")
	found=none
	if ! sh -c "echo 'p:tried $1' >$TRACING/kprobe_events" 2>/tmp/why; then
		found=$(sed 's/.*: //' /tmp/why)
	fi
	echo >$TRACING/kprobe_events
	echo "said: $said, found: $found"
	[ "$said" = "$found" ]
}
for what in vfs_statx vfs_statx+1 vfs_statx+4 vfs_statx+9 vfs_statx+10 vfs_statx+11 \
	    kprobe_busy_begin $HANDLER; do
	check "$what: said and done" agrees "$what"
done

# error_log says why.
echo >$LOG
# A marked function that is traced; others are refused by the tracer.
marked=$(sed -n 's/ - marked$//p' $KPROBES/available | grep -Fx -m1 -f - $TRACING/available_filter_functions)
check "error_log knows marked functions" logged "$marked" "marked as one that"
check "error_log knows middles" logged vfs_statx+2 "$MIDDLE"
check "error_log names candidates" logged vfs_sattx "symbol: .*vfs_statx"
check "and those of the same name" logged "$twin" "not unique: $twins"
check "and says when there are none" logged no_such_function "may be inlined"
# points_at PLACE TEXT - the caret is below the first character of the text.
points_at() {
	! echo "p:tried $1" >$TRACING/kprobe_events && tail -n2 $LOG >/tmp/caret || return
	cat /tmp/caret
	awk -v text="$2" 'NR == 1 { at = index($0, text) }
			  NR == 2 { good = at && index($0, "^") == at }
			  END { exit !good }' /tmp/caret
}
check "its caret points at an unknown symbol" points_at vfs_sattx vfs_sattx
check "also with an offset" points_at vfs_sattx+4 vfs_sattx+4
check "and arguments" points_at "vfs_sattx a=\$stack b=\$stack" vfs_sattx
check "and at one that is not unique" points_at "$twin" "$twin"
check "or is similar to none" points_at no_such_function no_such_function
# It keeps eight entries, each with its own text.
for i in 1 2 3 4 5 6 7 8 9 10; do
	! echo "p:tried vfs_statx$i" >$TRACING/kprobe_events
done 2>/dev/null
check "as for each of the last eight" test "$(grep -c 'symbol: .*vfs_statx' $LOG)" = 8

# Built in are the addresses in the text that have a name, other than pages of detours, which
# powerpc has there.
built_in() { grep -v '\[' $KPROBES/available; }
named() {
	awk '$3 == "kprobe_optinsn_page" { next }
	     { at[$3] = at[$3] ? at[$3] : $1; addr[NR] = $1 }
	     END { for (i in addr)
			if (addr[i] "" >= at["_stext"] "" && addr[i] "" < at["_etext"] "")
				print addr[i] }' /proc/kallsyms | sort -u | wc -l
}
echo 0 >$KPTR
built_in >/tmp/built-in
check "the catalogue has all functions, each once" test "$(wc -l </tmp/built-in)" = "$(named)"
echo "$before" >$KPTR
check "with their kind" grep -q "^vfs_statx $KIND\$" $KPROBES/available
check "or the reason of their refusal" grep -q '^kprobe_busy_begin - marked$' $KPROBES/available
# Names in a module, by the suite of this when it is run again.
suite_finds_names() {
	echo now >$SUITE/run
	cat $SUITE/results
	grep -q 'the module is there' $SUITE/results &&
		grep -q '^ *ok .* check_names_in_a_module$' $SUITE/results
}
SUITE=/sys/kernel/debug/kunit/kprobes_check
if modprobe kprobe_test_target; then
	check "names in the module are found" suite_finds_names
	check "those of modules, too" \
		grep -q '^kprobe_test_no_trace \[kprobe_test_target\] ' $KPROBES/available
	check "which can be asked about" says kprobe_test_no_trace verdict accepted
	# While modules come and go.
	(for i in 1 2 3 4 5; do
		until rmmod kprobe_test_target; do usleep 10000; done
		modprobe kprobe_test_target
	done) 2>/tmp/why &
	for i in 1 2 3; do built_in >/tmp/built-in.$i & done
	wait
	for i in 1 2 3; do
		check "they may go meanwhile, reader $i" cmp /tmp/built-in /tmp/built-in.$i
	done
	rmmod kprobe_test_target
	# Questions meanwhile: a module that comes or goes is a reason; or it has gone while the
	# answer was written, which then is an error.
	(for i in 1 2 3 4 5 6 7 8; do
		modprobe kprobe_test_target
		usleep 100000
		until rmmod kprobe_test_target; do usleep 10000; done
		usleep 100000
	done; touch /tmp/over) 2>/tmp/why &
	n=0
	for what in kprobe_test_no_trace "r kprobe_test_target:kprobe_test_no_trace" \
		    kprobe_test_init_fn; do
		n=$((n + 1))
		(until [ -e /tmp/over ]; do ask "$what"; done) >/tmp/answers.$n 2>/tmp/why.$n &
	done
	wait
	show sh -c "cat /tmp/answers.* | sed 's/^address=[^ ]* //; s/ candidates=.*//' | sort |
		uniq -c"
	no_other() {
		! grep -h '^address=' /tmp/answers.* |
			grep -v -E ' verdict=accepted | reason=(no-symbol|module)( |$)'
	}
	check "questions about a module that comes and goes are answered" \
		sh -c "cat /tmp/answers.* | grep -q verdict=accepted"
	check "also when it is not there" sh -c "cat /tmp/answers.* | grep -q reason=no-symbol"
	check "in no other way" no_other
	check "and are gone" sh -c "! grep -q '\[kprobe_test_target\]' $KPROBES/available"
fi

# Whose probe is that?
PROBES=$KPROBES/probes
KSYM=vfs_statx
probe_of() { grep " $KSYM+0x[0-9a-f]*/" $PROBES; }
shown() { probe_of | grep -q "$1"; }
check "only root reads whose probes there are" mode_is 400 probes
echo "p:whose/entry $KSYM" >$TRACING/kprobe_events
echo "r:whose/ret $KSYM" >>$TRACING/kprobe_events
check "an event and a return event are shown" [ "$(probe_of | wc -l)" = 2 ]
check "disabled at first" [ "$(probe_of | grep -c ' state=disabled ')" = 2 ]
echo 1 >$TRACING/events/whose/enable
check "the kprobe with its handler" shown " k $KSYM.* handler=kprobe_dispatcher module=- "
check "the return probe with its own" shown " r $KSYM.* handler=kretprobe_dispatcher module=- "
check "their state" shown ' state=enabled nmissed=0 '
check "and this shell" [ "$(probe_of | grep -c " pid=$$ comm=$(cat /proc/$$/comm)$")" = 2 ]
echo 0 >$TRACING/events/whose/entry/enable
check "only one of them is disabled again" shown " k $KSYM.* state=disabled "
check "and not the other" shown " r $KSYM.* state=enabled "
echo 0 >$TRACING/events/whose/enable
echo >$TRACING/kprobe_events
# Each user has its own misses, the same everywhere.
KSYM=hrtimer_nanosleep
echo "r1:whose/slow $KSYM" >$TRACING/kprobe_events
echo "r2:whose/slow2 $KSYM" >>$TRACING/kprobe_events
echo 1 >$TRACING/events/whose/enable
# Long enough to sleep all at once, even if a busy machine is slow to start them.
for i in 1 2 3 4; do usleep 2000000 & done
wait
profile() { awk -v e="$1" -v what="${2:-misses}" '$1 == e { print what == "hits" ? $2 : $3 }' \
	$TRACING/kprobe_profile; }
missed() { probe_of | tr ' ' '\n' | sed -n "s/^$1=//p" | sort -n | xargs; }
check "more instances miss less" test "$(profile slow2)" -lt "$(profile slow)"
check "which each user sees" test "$(missed nmissed)" = "$(profile slow2) $(profile slow)"
check "with the cause" test "$(missed missed_pool)" = "$(missed nmissed)"
check "and no other" test "$(missed missed_nested) $(missed missed_rcu)" = "0 0 0 0"
check "sites has the sum" grep -q "$KSYM.* missed_nested=0 missed_pool=$(($(profile slow) + \
	$(profile slow2))) missed_rcu=0" $KPROBES/sites
check "probes tells them apart" test "$(missed probe | tr ' ' '\n' | sort -u | wc -l)" = 2
echo 0 >$TRACING/events/whose/enable
# The pool of a return probe: three instances, and as many tasks asleep as are started here. Whoever
# waits must not sleep.
echo "r3:whose/three $KSYM" >$TRACING/kprobe_events
echo 1 >$TRACING/events/whose/enable
asleep=
nap() {
	local i
	for i in $(seq 1 "$1"); do
		usleep 600000000 &
		asleep="$asleep $!"
	done
}
soon() {
	local left=3000
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || { probe_of; return 1; }
	done
}
pool() { probe_of | grep -q " instances=$1 in_flight=$2 most=$3 grown=0 "; }
misses() { probe_of | grep -q " nmissed=$1 missed_nested=0 missed_pool=$1 missed_rcu=0 "; }
if probe_of | grep -q ' instances='; then
	check "three instances are three" pool 3 0 0
	nap 2
	check "two tasks are in flight" soon pool 3 2 2
	check "none is missed" misses 0
	nap 3
	check "of five, three are" soon pool 3 3 3
	check "two are missed, for lack of instances" soon misses 2
	# shellcheck disable=SC2086 # a list
	kill $asleep
	wait
	check "none is in flight any more, and what has been remains" soon pool 3 0 3
	check "as do the misses" misses 2
	check "kprobe_profile agrees" test "$(profile three hits) $(profile three)" = "3 2"
else
	skip "three instances are three" "there are no pools"
fi
echo 0 >$TRACING/events/whose/enable
# A handler that runs into a probe.
echo 'p:whose/outer do_sys_openat2 name=+0($arg2):ustring' >$TRACING/kprobe_events
KSYM=strncpy_from_user_nofault
echo "p:whose/inner $KSYM" >>$TRACING/kprobe_events
echo 1 >$TRACING/events/whose/enable
cat /dev/null /dev/null /dev/null
echo 0 >$TRACING/events/whose/enable
check "hits in handlers are missed" test "$(profile inner)" -ge 3
check "which is another cause" test "$(missed missed_nested)" = "$(profile inner)"
check "and the only one" test "$(missed missed_pool) $(missed missed_rcu)" = "0 0"
check "also in sites" grep -q "$KSYM.* missed_nested=$(profile inner) " $KPROBES/sites
echo >$TRACING/kprobe_events
# What perf counts and what it does not: nothing else calls getsid(), and nothing else opens files.
if [ -e /sys/bus/event_source/devices/kprobe/type ] && type client >/dev/null; then
	echo "p:whose/same ${SYS}getsid" >$TRACING/kprobe_events
	echo 1 >$TRACING/events/whose/enable
	check "perf counts each hit" test "$(client perf -n 100 ${SYS}getsid)" = 100
	# The client calls it again when its event has gone.
	check "as kprobe_profile does" test "$(profile same hits) $(profile same)" = "200 0"
	check "none is missed" grep -q " ${SYS}getsid+.* nmissed=0 missed_nested=0 " $PROBES
	echo 0 >$TRACING/events/whose/enable
	echo 'p:whose/outer do_sys_openat2 name=+0($arg2):ustring' >$TRACING/kprobe_events
	echo 1 >$TRACING/events/whose/enable
	client perf -n 100 -p $PROBES do_sys_openat2 >/tmp/outer.perf
	client perf -n 100 -p $PROBES $KSYM >/tmp/inner.perf
	echo 0 >$TRACING/events/whose/enable
	show grep ' comm=client$' /tmp/outer.perf /tmp/inner.perf
	of_client() {
		grep " $2+.* comm=client\$" "/tmp/$1.perf" |
			grep -q " nmissed=$3 missed_nested=$3 missed_pool=0 missed_rcu=0 "
	}
	check "perf counts each time that a file is opened" test "$(tail -n1 /tmp/outer.perf)" = 101
	check "has no misses in probes" of_client outer do_sys_openat2 0
	check "of what handlers call, perf counts nothing" test "$(tail -n1 /tmp/inner.perf)" = 0
	check "and probes has all as missed" of_client inner $KSYM 101
	echo >$TRACING/kprobe_events
else
	skip "perf counts each hit" "there is no client"
fi
KSYM=vfs_statx
# A process may give itself any name. The driver registers for the writer.
modprobe kprobe_test_driver
named() { sh -c "printf 'x y\\n\\\\' >/proc/self/comm; echo $KSYM >$DRIVER/register"; }
check "a process with a strange name" named
check "does not break the line" [ "$(probe_of | sed 's/.* comm=//')" = 'x\040y\n\\' ]
check "the module of its handler is shown" shown 'module=kprobe_test_driver '
check "it has ended" shown ' pid=0 comm='
echo 1 >$DRIVER/unregister
# A process is in a PID namespace, which its probe must not keep. There can only be one at a time.
SPACES=/proc/sys/user/max_pid_namespaces
in_space() { unshare -p -f sh -c "$1"; }
if in_space : 2>/dev/null; then
	limit=$(cat $SPACES)
	echo 1 >$SPACES
	check "a namespace goes with its process" wait_for 30 in_space :
	check "while there is one, there cannot be another one" \
		wait_for 30 in_space "! unshare -p true 2>/dev/null"
	check "a process in one has a probe, and is the first in there" wait_for 30 in_space \
		"echo $KSYM >$DRIVER/register && grep -q ' $KSYM+0x.* pid=1 comm=' $PROBES"
	check "it has ended, too" shown ' pid=0 comm='
	check "its namespace goes while the probe stays" wait_for 30 in_space :
	check "which is still there" shown 'module=kprobe_test_driver '
	echo "$limit" >$SPACES
	echo 1 >$DRIVER/unregister
else
	skip "a process in a namespace" "no CONFIG_PID_NS"
fi
echo 0 >$DRIVER/pre
echo 1 >$DRIVER/post
check "a probe with nothing but a post handler" sh -c "echo $KSYM >$DRIVER/register"
check "is shown with that" shown ' handler=count_post_hit '
echo 1 >$DRIVER/unregister
echo 0 >$DRIVER/post
echo 1 >$DRIVER/fault
# Probes at ftrace sites have none.
if echo do_sys_openat2 >$DRIVER/register || [ "$(uname -m)" = x86_64 ]; then
	check "so is a fault handler" grep -q ' handler=pass_fault ' $PROBES
	echo 1 >$DRIVER/unregister
fi
rmmod kprobe_test_driver

# Readers while a module with a probe comes and goes.
(for i in 1 2 3 4 5 6 7 8; do
	modprobe kprobe_test_driver
	echo $KSYM >$DRIVER/register
	rmmod kprobe_test_driver
done; touch /tmp/gone) &
for file in list sites probes; do
	(until [ -e /tmp/gone ]; do cat $KPROBES/$file || touch /tmp/unread; done) >/dev/null &
done
wait
check "the files can be read while probes come and go" [ ! -e /tmp/unread ]
check "nothing is registered" no_probes
