# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest of scripts/measure/bench; the module prints what it measures. The kernel passes
# what=: the name of a guest there.
. /guest/lib.sh

optimization=/proc/sys/debug/kprobes-optimization

# jumps 0|1 - switch them; fails where there are none.
jumps() { [ -e $optimization ] && echo "$1" >$optimization; }

measure() { check "measured: $*" insmod /bin/kprobe_bench.ko "$@"; }

# both PARAM... - measure, and if there are jumps, also optimized probes.
both() {
	measure "$@"
	check "rmmod" rmmod kprobe_bench
	! jumps 1 || measure "$@" optimized=1
}

jumps 0
case $what in
letters)
	both letters=1
	exit ;;
traced)
	both traced=1
	exit ;;
among | together)
	measure "$what=1"
	exit ;;
memory-optimized)
	# Not every kernel has them.
	! jumps 1 || measure memory=mid optimized=1
	[ -e $optimization ] || skip "memory with jumps" "the kernel has none"
	exit ;;
memory-*)
	# No probe has been before. The module stays, as its probes do.
	measure "memory=${what#memory-}"
	exit ;;
esac

measure "$(cat /bin/bench.param)"
check "rmmod" rmmod kprobe_bench
if jumps 1; then
	measure optimized=1
	check "rmmod" rmmod kprobe_bench
fi

# Time since boot, in hundredths of a second.
now()
{
	read -r up rest </proc/uptime
	echo "${up%.*}${up#*.}"
}

# row NAME TIMES COMMAND... - run it so often, print how long it takes each time, in ns
row()
{
	local row=$1 repeat=$2 start
	shift 2
	start=$(now)
	for _ in $(seq "$repeat"); do
		"$@" || return
	done
	echo "kprobe_bench: row $row $((($(now) - start) * 10000000 / repeat))" >/dev/console
}

load()
{
	insmod /bin/kprobe_bench_load.ko && rmmod kprobe_bench_load
}

read_list()
{
	cat /sys/kernel/debug/kprobes/list >/dev/null
}

check "modules without probes" row load-0 50 load
for n in 5000 10000 20000; do
	check "$n probes" insmod /bin/kprobe_bench.ko hold=$n
	check "list of $n" row list-$n 10 read_list
	[ $n != 20000 ] || check "modules with $n probes" row load-$n 50 load
	check "rmmod" rmmod kprobe_bench
done
