# SPDX-License-Identifier: GPL-2.0-only
# The files in debugfs: who may read what, and what is made of junk.
. /guest/lib.sh

FN=vfs_statx
KPTR=/proc/sys/kernel/kptr_restrict

mode_is() { [ "$(stat -c %a "$KPROBES/$2")" = "$1" ]; }
# All lines of the file begin with an address, and all of these are (not) zero.
zeros() { grep -q ^ "$KPROBES/$1" && ! grep -qv '^\(0x\)\?0000000000000000' "$KPROBES/$1"; }
addresses() { grep -q ^ "$KPROBES/$1" && ! grep -q '^\(0x\)\?0000000000000000' "$KPROBES/$1"; }
refused() { ! echo "$1" >$KPROBES/enabled; }
enabled_is() { [ "$(cat $KPROBES/enabled)" = "$1" ]; }
# As often as the function is called, if the probe is at work.
counts() {
	echo >$TRACING/trace
	ls / >/dev/null
	stat /init >/dev/null
	test "$(grep -c files_probe $TRACING/trace)" "$1" 0
}

for file in list sites blacklist; do
	check "p_sys_06 only root reads $file" mode_is 400 $file
done
check "only root writes enabled" mode_is 600 enabled

check "a probe is set" sh -c "echo p:files_probe $FN >$TRACING/kprobe_events"
check "and enabled" sh -c "echo 1 >$TRACING/events/kprobes/files_probe/enable"
before=$(cat $KPTR)
for file in list sites blacklist; do
	echo 0 >$KPTR
	check "p_sys_06 $file shows addresses" addresses $file
	echo 2 >$KPTR
	check "p_sys_06 $file shows none where nobody may see any" zeros $file
done
echo "$before" >$KPTR

check "the probe is at work" counts -gt
for junk in "" junk 2 -1 +1 enabled; do
	check "p_sys_08 '$junk' is refused" refused "$junk"
	check "p_sys_08 '$junk' changes nothing" enabled_is 1
done
for off in 0 n N off f; do
	check "p_sys_08 '$off' switches off" sh -c "echo $off >$KPROBES/enabled"
	check "p_sys_08 '$off' is off" enabled_is 0
	check "p_sys_08 junk changes nothing then, either" refused junk
	check "p_sys_08 '$off': no hits" counts -eq
	check "p_sys_08 on again" sh -c "echo y >$KPROBES/enabled"
	check "p_sys_08 is on" enabled_is 1
done
check "the probe is at work again" counts -gt

echo 0 >$TRACING/events/kprobes/files_probe/enable
check "the probe goes" sh -c "echo >$TRACING/kprobe_events"
check "the list is empty" no_probes
