# SPDX-License-Identifier: GPL-2.0-only
# Jumps of probes in the kernel and in a module, wherever both are. "reach=near" or
# "reach=far" on the command line says where the module has to be: in reach of a branch
# from the kernel, or beyond it, as it always is on 64-bit powerpc.
# needs: CONFIG_RANDOMIZE_BASE|CONFIG_PPC64 CONFIG_KPROBES_TEST_MODULES CONFIG_KPROBE_EVENTS
. /guest/lib.sh

EVENTS=$TRACING/kprobe_events
REACH=$(sed -n 's/.*reach=\([a-z]*\).*/\1/p' /proc/cmdline)

address() { sed -n "s/^\([0-9a-f]*\) . $1\([[:space:]].*\)\?$/\1/p" /proc/kallsyms | head -n 1; }
# How many MiB the module is away from the end of the kernel that is farther.
apart() {
	local module begin end
	module=0x$(address kprobe_test_fn) begin=0x$(address _text) end=0x$(address _end)
	if [ $((module < begin)) = 1 ]; then
		echo $(((end - module) >> 20))
	else
		echo $(((module - begin) >> 20))
	fi
}
# probe_all FUNCTION SIZE - one enabled event for each instruction that can be probed.
probe_all() {
	local i=0
	while [ $i -lt "$2" ]; do
		if echo "p:reach/e$i $1+$i" >>$EVENTS; then
			echo 1 >$TRACING/events/reach/e$i/enable || echo "-:reach/e$i" >>$EVENTS
		fi
		i=$((i + 4))
	done 2>/dev/null
}
off() {
	echo 0 >$TRACING/events/reach/enable
	echo >$EVENTS
	echo >$TRACING/trace
}
sites() { grep -c "$1" $KPROBES/sites; }
# Nearly each of them; what keeps the others from a jump is not the distance.
jumps() {
	settle
	show cat $KPROBES/sites
	[ "$(sites opt=)" -ge "$1" ] && [ "$(live)" -ge $(($(sites opt=) - 2)) ] &&
		[ "$(sites why=out-of-reach)" -eq 0 ]
}
hit() { grep -q ": ($1+" $TRACING/trace; }

check "the module loads" modprobe kprobe_test_target
echo 0 >/proc/sys/kernel/kptr_restrict
apart=$(apart)
echo "    the module is $apart MiB from the kernel, which is at $(address _text)"
case $REACH in
near)	check "the kernel is in reach of the module" [ "$apart" -lt 128 ] ;;
far)	check "the module is somewhere else" [ "$apart" -ge 1 ] ;;
esac

probe_all kprobe_test_target:call_set 64
check "probes in the module have jumps" jumps 8
echo 1 >/sys/module/kprobe_test_target/parameters/call
check "and are hit" hit call_set
check "the module goes with these" rmmod kprobe_test_target
check "which are gone" grep -q GONE $KPROBES/list
off
modprobe kprobe_test_target
probe_all vfs_read 64
check "probes in the kernel have jumps" jumps 8
cat /proc/version >/tmp/version
check "and are hit, too" hit vfs_read
off

# Both at once.
probe_all vfs_statx 32
echo "p:reach/module kprobe_test_target:kprobe_test_fn+8" >>$EVENTS
echo "r:reach/return kprobe_test_target:kprobe_test_fn" >>$EVENTS
check "a probe and a return probe in the module" sh -c "echo 1 >$TRACING/events/reach/enable"
settle
stat /init >/dev/null
echo 1 >/sys/module/kprobe_test_target/parameters/call
check "the return is seen" grep -q ' return: (' $TRACING/trace
check "and the probe" hit kprobe_test_fn
off
rmmod kprobe_test_target
check "the list is empty" no_probes
