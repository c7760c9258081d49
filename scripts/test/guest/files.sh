# SPDX-License-Identifier: GPL-2.0-only
# The files in debugfs and tracefs: who may read what, and what is made of junk.
# checks: 89
. /guest/lib.sh

FN=vfs_statx
KPTR=/proc/sys/kernel/kptr_restrict

# All lines of the file begin with an address, and all of these are (not) zero.
zeros() { grep -q ^ "$KPROBES/$1" && ! grep -qv '^\(0x\)\?00000000' "$KPROBES/$1"; }
addresses() { grep -q ^ "$KPROBES/$1" && ! grep -q '^\(0x\)\?00000000' "$KPROBES/$1"; }
refused() { ! echo "$1" >$KPROBES/enabled; }
enabled_is() { [ "$(cat $KPROBES/enabled)" = "$1" ]; }
# As often as the function is called, if the probe is at work.
counts() {
	echo >$TRACING/trace
	ls / >/dev/null
	stat /init >/dev/null
	test "$(grep -c files_probe $TRACING/trace)" "$1" 0
}

for file in list sites probes blacklist; do
	check "only root reads $file" mode_is 400 $file
done
same() { cmp "$KPROBES/$1" "$TRACING/kprobes/$1"; }
same_mode() { [ "$(stat -c %a%u%g "$KPROBES/$1")" = "$(stat -c %a%u%g "$TRACING/kprobes/$1")" ]; }
zero_in_tracefs() { (KPROBES=$TRACING/kprobes && zeros "$1"); }
check "only root writes enabled" mode_is 600 enabled

check "a probe is set" sh -c "echo p:files_probe $FN >$TRACING/kprobe_events"
check "and enabled" sh -c "echo 1 >$TRACING/events/kprobes/files_probe/enable"
# It may get a jump, which must not come between reading a file and reading it again.
settle
before=$(cat $KPTR)
for file in list sites probes blacklist; do
	echo 0 >$KPTR
	check "$file shows addresses" addresses $file
	check "$file is the same in tracefs" same $file
	echo 2 >$KPTR
	check "$file shows none where nobody may see any" zeros $file
	check "nor does $file in tracefs" zero_in_tracefs $file
done
for file in "$KPROBES"/*; do
	check "${file##*/} has the same mode in tracefs" same_mode "${file##*/}"
done
echo "$before" >$KPTR

check "the probe is at work" counts -gt
for junk in "" junk 2 -1 +1 armed; do
	check "'$junk' is refused" refused "$junk"
	check "'$junk' changes nothing" enabled_is 1
done
for off in 0 n N off f; do
	check "'$off' switches off" sh -c "echo $off >$KPROBES/enabled"
	check "'$off' is off" enabled_is 0
	check "junk changes nothing then, either" refused junk
	check "'$off': no hits" counts -eq
	check "on again" sh -c "echo y >$KPROBES/enabled"
	check "is on" enabled_is 1
done
check "the probe is at work again" counts -gt

# What the pools of return probes may grow by: a small part of the memory.
LIMIT=$KPROBES/pools_limit
limit_is() { [ "$(cat $LIMIT)" = "$1" ]; }
limit=$(cat $LIMIT)
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
check "only root reads pools_grown" mode_is 400 pools_grown
check "only root writes pools_limit" mode_is 600 pools_limit
check "pools have grown by less than the limit" [ "$(cat $KPROBES/pools_grown)" -le "$limit" ]
check "the limit is some memory" [ "$limit" -gt 0 ]
check "the limit is below a hundredth of it" [ $((limit / 1024)) -lt $((memory / 100)) ]
check "the limit can be changed" sh -c "echo 4096 >$LIMIT"
check "and is what was written" limit_is 4096
echo "$limit" >$LIMIT

# In lines of ours, an address that is neither hashed nor part of a symbol.
hides_addresses() {
	! dmesg | grep -i 'kprobe' | grep -v 'Command line' |
		grep -E '(^|[^0-9a-z])(0x)?ffff[0-9a-f]{12}([^0-9a-z]|$)'
}
check "there are messages" sh -c "dmesg | grep -q 'kprobes: '"
check "none shows an address" hides_addresses

echo 0 >$TRACING/events/kprobes/files_probe/enable
check "the probe goes" sh -c "echo >$TRACING/kprobe_events"
check "the list is empty" no_probes

# Each line costs the same, however many there are: one look-up of a
# symbol, and at times another one, when a buffer was full.
lookups() { awk '$1 == "look_ups" { print $2 }' $TRACING/kprobe_profile; }
events=$TRACING/kprobe_events
functions=$(sed 's/ .*//' $TRACING/available_filter_functions |
	grep -E '^[a-z]*(vfs|seq|bio|page|file|inode|dentry)[a-z_]*$' | sort | uniq -u)
per_line() {
	local nr=0 before
	echo p:look_ups kallsyms_lookup >$events
	for fn in $functions; do
		[ $nr -lt "$1" ] || break
		echo "p:many/e$nr $fn" 2>/dev/null >>$events && nr=$((nr + 1))
	done
	echo 1 >$TRACING/events/kprobes/look_ups/enable
	before=$(lookups)
	lines=$(wc -l <$KPROBES/list)
	looked=$(($(lookups) - before))
	echo 0 >$TRACING/events/kprobes/look_ups/enable
	echo >$events
	echo "    $lines lines, $looked look-ups"
}
for nr in 60 240; do
	per_line $nr
	check "there are $nr probes" [ "$lines" -ge $nr ]
	check "each of $nr lines is made once" \
		sh -c "[ $looked -ge $lines ] && [ $looked -le $((lines + lines / 10 + 2)) ]"
done
check "the long list is empty again" no_probes
