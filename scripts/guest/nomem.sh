# SPDX-License-Identifier: GPL-2.0-only
# Registrations whose allocations fail, one after the other: they return -ENOMEM
# and leave nothing behind. The module kprobe_test_nomem says how it goes about it.
# timeout: 600
# needs: CONFIG_FAILSLAB CONFIG_FAIL_PAGE_ALLOC CONFIG_KPROBES_TEST_MODULES
. /guest/lib.sh

NOMEM=/sys/module/kprobe_test_nomem/parameters
LEAKS=/sys/kernel/debug/kmemleak

for kind in failslab fail_page_alloc; do
	echo N >/sys/kernel/debug/$kind/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/$kind/verbose
done
echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >/sys/kernel/debug/fail_page_alloc/min-order

check "the module loads" modprobe kprobe_test_nomem
# Once without counting: tables grow, and stay.
echo many >$NOMEM/run
[ ! -e $LEAKS ] || echo clear >$LEAKS
for what in plain traced post many return return_traced many_returns; do
	row=p_mem_12
	case $what in *return*) row=p_ret_29 ;; esac
	check "$row $what: each failure is clean" sh -c "echo $what >$NOMEM/run"
	echo "    $(cat $NOMEM/failures) failed, $(cat $NOMEM/survived) did without"
	check "$row $what: there were some" [ "$(cat $NOMEM/failures)" -ge 1 ]
	check "$row $what: the list is empty" no_probes
done
check "p_mem_12 leaving: nobody notices" sh -c "echo leaving >$NOMEM/run"
check "p_mem_12 leaving: it was tried" [ "$(cat $NOMEM/survived)" -ge 1 ]
check "p_mem_12 leaving: the list is empty" no_probes
before=$(awk '/^Slab:/ { print $2 }' /proc/meminfo)
for i in 1 2 3 4 5 6 7 8 9 10; do
	echo many >$NOMEM/run
	echo many_returns >$NOMEM/run
done
after=$(awk '/^Slab:/ { print $2 }' /proc/meminfo)
echo "    slabs: $before kB, ten times later $after kB"
check "p_mem_12 p_ret_29 nothing leaks" [ $((after - before)) -lt $((1000 + $(kept))) ]
check_leaks
check "the module goes" rmmod kprobe_test_nomem
