# SPDX-License-Identifier: GPL-2.0-only
# A probed instruction faults, and nothing handles that. The report is about the instruction,
# not about its copy, however that is executed; and the CPU goes on to have hits.
# needs: CONFIG_ARM64 CONFIG_KPROBES_TEST_MODULES CONFIG_OPTPROBES
. /guest/lib.sh

# Said early, since what the kernel says does not wait for it: one report for each mode.
for mode in boosted stepped optimized; do
	echo "expect splat: Unable to handle kernel paging request"
	echo "expect splat: Internal error: Oops:"
done

DRIVER=/sys/module/kprobe_test_driver/parameters
TARGET=/sys/module/kprobe_test_target/parameters
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
for mode in boosted stepped optimized; do
	case $mode in
	boosted)	jumps=0 post=N ;;
	stepped)	jumps=0 post=Y ;;
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
	check "$mode: it names the instruction" reported 'pc : kprobe_test_load+0x0/'
	# Copies have no symbol.
	check "$mode: and no copy" sh -c "! grep -E '(pc|lr) : 0x|^ 0x' /tmp/report"
	check "$mode: nothing was left masked or disabled" \
		sh -c "! grep 'exited with' /tmp/report"
	check "$mode: all CPUs go on" counts "$CPUS"
	check "$mode: no hit was missed" \
		grep -q "kprobe_test_load.*missed_nested=0 missed_[a-z]*=0" $KPROBES/sites
	check "$mode: the probe goes" sh -c "echo 1 >$DRIVER/unregister"
done
echo 1 >$SYSCTL
check "the list is empty" no_probes
check "the modules go" rmmod kprobe_test_target kprobe_test_driver
