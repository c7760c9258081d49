# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/sweep: a load whose results are known, and batch
# after batch of probes under it.
. /guest/lib.sh

module=/sys/module/kprobe_sweep/parameters
# A module that is probed, too.
zlib=/sys/module/kprobe_zlib/parameters/rounds
# One that comes and goes.
coming=trace-printk
grep -q "/$coming.ko" "/lib/modules/$(uname -r)/modules.dep" || coming=

# What is worked on: 256 KiB that are the same each time.
seq 1 40000 | head -c 262144 >/tmp/data
sum=$(md5sum </tmp/data)
sorted=$(sort -n -r /tmp/data | md5sum)

# Files, pipes, processes, signals, timers, page faults, modules.
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

# What became of the probes: how many were optimized, and why others were not.
fates() {
	if [ ! -e $KPROBES/sites ]; then
		sed -n 's/.*\[\(OPTIMIZED\|FTRACE\)\]$/\1/p' $KPROBES/list >>/tmp/counted
		return
	fi
	settle
	sed 's/^\([0-9a-f]*\) \([^ ]*\) .*kind=\([^ ]*\) .* opt=\([^ ]*\) why=\([^ ]*\)$/\1 \2 \3 \4 \5/' \
		$KPROBES/sites >/tmp/sites
	sed -n 's/.* \(optimized\|ftrace\) [a-z]* [^ ]*$/\1/p' /tmp/sites >>/tmp/counted
	grep -v ' \(optimized\|ftrace\) [a-z]* [^ ]*$' /tmp/sites >>/tmp/others
}

# What is free if nothing is kept for later, in KiB.
memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sed -n 's/^MemFree: *\([0-9]*\) .*/\1/p' /proc/meminfo
}
slots() { grep -c 'kprobe_insn_page\|kprobe_optinsn_page' /proc/kallsyms; }

: >/tmp/wrong
: >/tmp/counted
: >/tmp/others
check "the module to be probed loads" insmod /bin/kprobe_zlib.ko
work 1 &
work 2
wait
check "the load works without probes" [ ! -s /tmp/wrong ]
# shellcheck disable=SC2046 # several words
check "the module loads" insmod /bin/kprobe_sweep.ko $(cat /bin/sweep.param)
before=$(slots)
# What was done before may still be on its way back.
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
	sed 's/^/fate: /' /tmp/others
else
	show sh -c "sed 's/.* \([a-z]*\) \([a-z-]*\)[^ ]*$/\1 \2/' /tmp/others | sort | uniq -c | sort -rn"
fi
check "the last one is taken back" sh -c "echo -1 >$module/batch"
check "the results are right" [ ! -s /tmp/wrong ]
check "rmmod" rmmod kprobe_sweep
check "no probe is left" no_probes
# Slots are given back after a grace period.
t=0
while [ "$(slots)" -gt $((before + 1)) ] && [ $t -lt 30 ]; do
	sleep 1
	t=$((t + 1))
done
# The base keeps some.
[ ! -e $KPROBES/sites ] || check "no slot is left" [ "$(slots)" -le $((before + 1)) ]
# So is memory, but for what others keep. Files are memory, too.
rm -f /tmp/counted /tmp/others /tmp/sites
least=$((free - 4096 - $(kept)))
t=0
while [ "$(memory)" -lt $least ] && [ $t -lt 30 ]; do
	sleep 1
	t=$((t + 1))
done
echo "    $free KiB were free, now $(memory)"
check "the memory is back" [ "$(memory)" -ge $least ]
check_leaks
