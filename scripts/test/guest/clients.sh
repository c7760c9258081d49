# SPDX-License-Identifier: GPL-2.0-only
# Other users of probes: perf, BPF, error injection and livepatch, by means of
# scripts/test/clients/client.c, which describes its output.
# checks: 26
# needs: CONFIG_BPF_KPROBE_OVERRIDE CONFIG_FAIL_FUNCTION CONFIG_KPROBES_TEST_MODULES
. /guest/lib.sh

# The function that "client" calls. At the instruction after its ftrace site, a probe
# needs a breakpoint.
FN=${SYS}getsid
MID=$(first_after $FN)
ADDR=$(awk -v fn=$FN '$3 == fn { print $1 }' /proc/kallsyms | sed 's/^0*//')
# What bpf_get_func_ip() returns: on powerpc, where the probe is, which is the ftrace site.
IP_OF_BPF=$ADDR
case $(uname -m) in
ppc*)	IP_OF_BPF=$(ask $FN | sed 's/address=\([^ ]*\).*/\1/') ;;
esac

# says WANTED CMD... - CMD prints exactly that.
says() {
	local wanted=$1 got
	shift
	got=$("$@" 2>&1)
	[ "$got" = "$wanted" ] && return
	echo "'$got', not '$wanted'"
	return 1
}
# refused FILE TEXT ERROR - writing TEXT fails with that error.
refused() {
	local said
	! said=$(echo "$2" 2>&1 >"$1") && echo "$said" | grep -q "$3" && return
	echo "said: $said"
	return 1
}

sid=$(client call)
check "the client gets its session" [ "$sid" -ge 0 ]

check "perf counts each call" says 100 client perf $FN
check "perf counts each return" says 100 client perf -r $FN
check "perf counts by address" says 100 client perf -a "$ADDR"
check "perf counts in the middle of the function" says 100 client perf -o $MID $FN
check "perf does not probe an unknown symbol" \
	says "perf_event_open: error 2" client perf no_such_function
check "perf does not probe a function on the blacklist" \
	says "perf_event_open: error 22" client perf kprobe_busy_begin
check "perf does not accept a return probe in the middle" \
	says "perf_event_open: error 22" client perf -r -o $MID $FN

check "BPF sees each call, and the function's address" \
	says "100 $IP_OF_BPF $sid" client bpf $FN
check "BPF sees each return, and the function's address" \
	says "100 $IP_OF_BPF $sid" client bpf -r $FN
check "BPF also runs in the middle of the function" \
	says "100 0 $sid" client bpf -o $MID $FN
check "BPF makes the function fail" says "100 $IP_OF_BPF -12" client bpf -e -12 $FN
# What a hit leaves behind on a stack would be too much for it.
check "thousands of times" says "3000 $IP_OF_BPF -12" client bpf -e -12 -n 3000 $FN
check "only at the entry" \
	says "PERF_EVENT_IOC_SET_BPF: error 22" client bpf -e -12 -o $MID $FN
check "and only in functions that allow it" \
	says "PERF_EVENT_IOC_SET_BPF: error 22" client bpf -e -12 kernel_clone
check "afterwards it succeeds again" says "$sid" client call
check "no probe is left" no_probes

# A tool that decodes a processor trace has to know all text.
echo 0 >/proc/sys/debug/kprobes-optimization
client pokes -a -o $MID "$ADDR" >/tmp/pokes
sed 's/^/    /' /tmp/pokes
if [ "$(uname -m)" = x86_64 ]; then
	check "the breakpoint comes and goes" sh -c \
		"awk '/^site/ { n++; if (n == 1) first = \$2; if (n == 2) second = \$2 }
		      END { split(first, a, \">\"); split(second, b, \">\");
			    exit !(n == 2 && a[2] == \"cc\" && a[1] == b[2] && b[1] == \"cc\") }' \
			/tmp/pokes"
	check "the copy is written first" sh -c \
		"awk '/^slot 0>1/ { copy = NR } /^site/ && !site { site = NR }
		      END { exit !(copy && copy < site) }' /tmp/pokes"
else
	# The functions that change kernel text there tell perf nothing.
	check "the copy comes and goes" sh -c \
		"grep -q '^slot 0>1' /tmp/pokes && grep -q '^slot 1>0' /tmp/pokes"
fi
check "its page is a symbol" sh -c \
	"grep -q 'ksymbol kprobe_insn_page 0' /tmp/pokes || grep -q kprobe_insn_page /proc/kallsyms"
echo 1 >/proc/sys/debug/kprobes-optimization

# An event is complete before its first hit.
(while :; do client perf -n 1000 $FN; done) >/dev/null &
caller=$!
# On a busy machine, five seconds are not enough.
churn() {
	local got try=0 nr=0
	while [ $nr -lt 20 ] && [ $try -lt 12 ]; do
		got=$(client churn $FN 5) || { echo "$got"; return 1; }
		nr=$((nr + got)) try=$((try + 1))
	done
	[ $nr -ge 20 ]
}
check "events come and go while the function is called" churn
kill $caller
wait $caller 2>/dev/null
check "nothing is left" wait_for 20 no_probes

cd /sys/kernel/debug/fail_function || exit
check "fail_function takes the function" sh -c "echo $FN >inject && grep -q '^$FN' inject"
echo 100 >probability
echo -1 >./times
echo 0 >verbose
check "and a value" sh -c "printf %#x -12 >$FN/retval"
check "which it then returns" says -12 client call
check "together with a probe that counts" says "100" client perf $FN
check "the injection is removed" sh -c "echo '!$FN' >inject && ! grep -q . inject"
check "it succeeds again" says "$sid" client call
cd /

# Where probes at function entries are on ftrace sites, one with a post handler and a livepatch both
# claim the exclusive right to redirect the function.
case $(uname -m) in
aarch64) claims= ;;
*)	claims=y ;;
esac
if [ ! -d /sys/kernel/livepatch ]; then
	skip "livepatch" "no CONFIG_LIVEPATCH"
	check "the list is empty" no_probes
	exit
fi
check "the driver loads" modprobe kprobe_test_driver
check "livepatch loads" modprobe livepatch-sample
patched="this has been live patched"
# at_work COUNTER - the function is patched, and its calls are counted.
at_work() {
	local before
	before=$(cat "$DRIVER/$1")
	says "$patched" cat /proc/cmdline && says $((before + 1)) cat "$DRIVER/$1"
}
unpatched() { grep -q guest= /proc/cmdline; }
check "the livepatch is in effect" says "$patched" cat /proc/cmdline
echo 1 >$DRIVER/post
if [ $claims ]; then
	check "no probe with a post handler on a patched function" \
		refused $DRIVER/register cmdline_proc_show busy
else
	check "a probe with a post handler on a patched function" \
		sh -c "echo cmdline_proc_show >$DRIVER/register"
	check "the patch is in effect, and so is the probe" at_work post_hits
	echo 1 >$DRIVER/unregister
fi
echo 0 >$DRIVER/post
check "a probe without one is fine" sh -c "echo cmdline_proc_show >$DRIVER/register"
check "the patch is still in effect, and so is the probe" at_work hits
unpatch() {
	local patch=/sys/kernel/livepatch/livepatch_sample
	echo 0 >$patch/enabled && wait_for 30 [ ! -e $patch ] &&
		wait_for 30 unused livepatch_sample && rmmod livepatch_sample
}
check "the livepatch is removed, the probe stays" unpatch
check "the original function is executed again" unpatched
check "livepatch loads although there is such a probe" modprobe livepatch-sample
check "both are in effect" at_work hits
check "it is removed" unpatch
echo 1 >$DRIVER/unregister

echo 1 >$DRIVER/post
check "a probe with a post handler" sh -c "echo cmdline_proc_show >$DRIVER/register"
if [ $claims ]; then
	check "livepatch does not load where there is one" sh -c "! modprobe livepatch-sample"
	check "the original function is executed" unpatched
else
	check "livepatch loads where there is one" modprobe livepatch-sample
	check "both are in effect with a post handler" at_work post_hits
	check "it is removed, the probe with a post handler stays" unpatch
	check "the original function is executed" unpatched
fi
check "both of its handlers are called" sh -c \
	"[ \$(cat $DRIVER/hits) -gt 0 ] && [ \$(cat $DRIVER/hits) -eq \$(cat $DRIVER/post_hits) ]"
check "the probe is removed" sh -c "echo 1 >$DRIVER/unregister"
check "then livepatch loads" modprobe livepatch-sample
check "and is in effect" says "$patched" cat /proc/cmdline
check "and is removed" unpatch
check "the driver unloads" rmmod kprobe_test_driver
check "the list is empty" no_probes
