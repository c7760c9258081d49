# SPDX-License-Identifier: GPL-2.0-only
# A probed instruction faults, and nothing handles that. The report is about the instruction,
# not about its copy, however that is executed. Later hits on the same CPU are handled.
# checks: 37
# needs: CONFIG_ARM64|CONFIG_PPC64 CONFIG_KPROBES_TEST_MODULES CONFIG_OPTPROBES
. /guest/lib.sh

# What is executed under a post handler; on powerpc, a load that faults is stepped after all.
STEPPED=stepped
[ "$(uname -m)" = aarch64 ] || STEPPED=emulated
# The first one is not probed.
MODES="boosted $STEPPED optimized"
# Said early, since what the kernel says does not wait for it: one report for each load.
for mode in none $MODES; do
	if [ "$(uname -m)" = aarch64 ]; then
		echo "expect splat: Unable to handle kernel paging request"
	else
		echo "expect splat: BUG: Unable to handle kernel data access"
	fi
	echo "expect splat: Oops:"
done

SYSCTL=/proc/sys/debug/kprobes-optimization
CPUS=$(nproc)

# counts N - one thread on each CPU loads a word, N of them successfully; all have hits.
counts() {
	local hits loaded
	hits=$(cat $DRIVER/hits)
	loaded=$(cat $TARGET/loaded)
	echo 1 >$TARGET/load
	[ "$(cat $DRIVER/hits)" -eq $((hits + CPUS)) ] &&
	[ "$(cat $TARGET/loaded)" -eq $((loaded + $1)) ]
}

# reported PATTERN - is it in what the kernel has said about this fault?
reported() { grep -q "$1" /tmp/report; }

check "the driver loads" modprobe kprobe_test_driver
check "the target loads" modprobe kprobe_test_target

# An exception may mask interrupts, which is noticed as its thread ends.
left() { sed -n 's/.* exited with/exited with/p' "$1"; }
echo Y >$TARGET/bad
echo 1 >$TARGET/load
echo N >$TARGET/bad
dmesg >/tmp/report
left /tmp/report >/tmp/left
check "a fault ends its thread without a probe, too" reported "${IP}kprobe_test_load+0x0/"

for mode in $MODES; do
	case $mode in
	boosted)	jumps=0 post=N ;;
	"$STEPPED")	jumps=0 post=Y ;;
	optimized)	jumps=1 post=N ;;
	esac
	echo $jumps >$SYSCTL
	echo $post >$DRIVER/post
	check "$mode: a probe on a load" \
		sh -c "echo kprobe_test_target:kprobe_test_load >$DRIVER/register"
	settle
	check "$mode: it is" grep -q "kprobe_test_load+0x0/.* kind=$mode " $KPROBES/sites
	check "$mode: loads" counts "$CPUS"
	echo Y >$TARGET/bad
	dmesg -c >/dev/null
	check "$mode: one of them ends its thread" counts $((CPUS - 1))
	echo N >$TARGET/bad
	dmesg >/tmp/report
	check "$mode: the report is complete" reported 'end trace'
	check "$mode: it names the instruction" reported "${IP}kprobe_test_load+0x0/"
	# Copies have no symbol.
	check "$mode: and no copy" sh -c "! grep -E '((pc|lr) :|(NIP|LR) .*]|^|^\[.*]) 0x' /tmp/report"
	left /tmp/report >/tmp/left.now
	check "$mode: nothing was left masked or disabled but by the fault" \
		cmp /tmp/left /tmp/left.now
	check "$mode: all CPUs go on" counts "$CPUS"
	check "$mode: no hit was missed" \
		grep -q "kprobe_test_load.*missed_nested=0 missed_[a-z]*=0" $KPROBES/sites
	check "$mode: the probe goes" sh -c "echo 1 >$DRIVER/unregister"
done
echo 1 >$SYSCTL
check "the list is empty" no_probes
check "the modules go" rmmod kprobe_test_target kprobe_test_driver
