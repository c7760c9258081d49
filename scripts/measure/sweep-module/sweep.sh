# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/sweep: a load with known results, and one batch
# of probes after the other under it.
. /guest/lib.sh

module=/sys/module/kprobe_sweep/parameters
# A module that is also probed.
zlib=/sys/module/kprobe_zlib/parameters/rounds
# A module that is loaded and unloaded repeatedly.
coming=trace-printk
grep -q "/$coming.ko" "/lib/modules/$(uname -r)/modules.dep" || coming=

# With KASLR, how far the kernel is from where it was linked; addresses are reported as
# they were linked.
shift=0
if [ -e /bin/sweep.linked ]; then
	shift=$((0x$(sed -n 's/ . _text$//p' /proc/kallsyms) - $(cat /bin/sweep.linked)))
	echo "    the kernel has been moved by $((shift >> 20)) MiB"
fi
linked() {
	if [ "$shift" = 0 ]; then
		cat
	else
		while read -r addr rest; do
			printf '%x %s\n' $((0x$addr - shift)) "$rest"
		done
	fi
}

# The backend of the base on powerpc has probes of its own.
nr_probes() { wc -l <$KPROBES/list; }
nr_before=$(nr_probes)

# The data of the load: 256 KiB, the same each time.
seq 1 40000 | head -c 262144 >/tmp/data
sum=$(md5sum </tmp/data)
sorted=$(sort -n -r /tmp/data | md5sum)

# The load: files, pipes, processes, signals, timers, page faults, modules.
work() {
	cp /tmp/data /tmp/copy.$1 &&
		[ "$(cat /tmp/copy.$1 | md5sum)" = "$sum" ] &&
		[ "$(gzip -c /tmp/copy.$1 | gunzip | md5sum)" = "$sum" ] &&
		[ "$(sort -n -r /tmp/copy.$1 | md5sum)" = "$sorted" ] || echo "wrong $1" >>/tmp/wrong
	ls -lR /proc/self /sys/kernel >/dev/null 2>&1
	(sleep 10 & kill $!; wait) 2>/dev/null
	usleep 1000
	mkdir -p /tmp/dir.$1 && mount -t tmpfs none /tmp/dir.$1 &&
		echo x >/tmp/dir.$1/file && umount /tmp/dir.$1
	rm -f /tmp/copy.$1
	echo 2 >$zlib || echo "wrong zlib" >>/tmp/wrong
	[ "$1" -ne 1 ] || [ -z "$coming" ] || { modprobe $coming && rmmod $coming; } ||
		echo "wrong $coming" >>/tmp/wrong
}

# Collects the outcome of the probes: how many are optimized, and why others are not.
fates() {
	if [ ! -e $KPROBES/sites ]; then
		sed -n 's/.*\[\(OPTIMIZED\|FTRACE\)\]$/\1/p' $KPROBES/list >>/tmp/counted
		return
	fi
	settle
	cat $KPROBES/sites >/tmp/sites
	sed -n 's/.* kind=\(optimized\|ftrace\) .*/\1/p' /tmp/sites >>/tmp/counted
	grep -v ' kind=\(optimized\|ftrace\) ' /tmp/sites >>/tmp/others
}

# Free memory without caches, in KiB.
memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sed -n 's/^MemFree: *\([0-9]*\) .*/\1/p' /proc/meminfo
}
no_less_than() { [ "$(memory)" -ge "$1" ]; }

: >/tmp/wrong
: >/tmp/counted
: >/tmp/others
check "the module to be probed loads" insmod /bin/kprobe_zlib.ko
work 1 &
work 2
wait
check "the load works without probes" [ ! -s /tmp/wrong ]
# shellcheck disable=SC2046 # several words
check "the module loads" insmod /bin/kprobe_sweep.ko shift=$shift $(cat /bin/sweep.param)
before=$(slots)
# Earlier work may still be freeing memory.
free=0
t=0
while [ "$(memory)" -gt $((free + 256)) ] && [ $t -lt 10 ]; do
	free=$(memory)
	sleep 1
	t=$((t + 1))
done
i=0
n=$(cat $module/nr_batches)
while [ $i -lt "$n" ]; do
	echo $i >$module/batch
	work 1 &
	work 2
	wait
	fates
	i=$((i + 1))
done
check "all $n batches" [ $i -eq "$n" ]
show sh -c "sort /tmp/counted | uniq -c"
if [ "$(cat $module/each)" = Y ]; then
	# As comments, since names of functions may read like a complaint of the kernel.
	linked </tmp/others | sed 's/^/# fate: /'
else
	show sh -c "sed -n 's/.* opt=\([a-z]*\) why=\([a-z-]*\).*/\1 \2/p' /tmp/others |
		sort | uniq -c | sort -rn"
fi
check "the last one is taken back" sh -c "echo -1 >$module/batch"
check "the results are right" [ ! -s /tmp/wrong ]
check "rmmod" rmmod kprobe_sweep
check "no probe is left" [ "$(nr_probes)" -eq "$nr_before" ]
# Slots are given back after a grace period. The base keeps some.
[ ! -e $KPROBES/sites ] ||
	check "no slot is left" wait_for 30 few_slots $((before + KEPT_PAGES))
# Memory must be freed, too, except for what others keep. Files occupy memory.
rm -f /tmp/counted /tmp/others /tmp/sites
least=$((free - 4096 - $(kept)))
check "the memory is back" wait_for 30 no_less_than $least
echo "    $free KiB were free, now $(memory)"
check_leaks
