# SPDX-License-Identifier: GPL-2.0-only
# A handler that oopses at an ftrace site takes its process with it, and no more.
# checks: 13
# needs: CONFIG_KPROBES_ON_FTRACE CONFIG_KPROBES_TEST_MODULES CONFIG_FTRACE_SYSCALLS
. /guest/lib.sh

# Said early, since what the kernel says does not wait for it.
# KASAN looks first, at an address that nobody has.
grep -q ' kasan_report$' /proc/kallsyms || echo "expect splat: NULL pointer dereference"
echo "expect splat: Oops:"

# Only who calls it holds nothing that others need.
FN=${SYS}getsid

counts() {
	local before
	before=$(cat $DRIVER/hits)
	client call -c "$1"
	[ "$(cat $DRIVER/hits)" -eq $((before + $2)) ]
}

check "the driver loads" modprobe kprobe_test_driver
check "a probe on an ftrace site" sh -c "echo $FN >$DRIVER/register"
check "it is one" grep -q FTRACE $KPROBES/list
check "its handler is called" counts 1 1
echo 1 >$DRIVER/oops
client call -c 1
echo 0 >$DRIVER/oops
check "the whole report was printed" sh -c "dmesg | grep -q 'end trace'"
check "with the handler in its trace" sh -c "dmesg | grep -q '$IP.*count_hit'"
check "hits on other CPUs are handled" counts 0 1
check "so are those on this one" counts 1 1
check "no hit was missed" grep -q 'missed_nested=0' $KPROBES/sites
check "the probe goes" sh -c "echo 1 >$DRIVER/unregister"
check "another one comes" sh -c "echo vfs_statx >$DRIVER/register"
check "and goes" sh -c "echo 1 >$DRIVER/unregister"
check "the list is empty" no_probes
