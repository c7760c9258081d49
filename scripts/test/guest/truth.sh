# SPDX-License-Identifier: GPL-2.0-only
# The measure of truth in modules: what is foreseen for one address in EVERY, and what
# happens when there is a probe. At boot the same suite takes a sample of the kernel.
# A pass takes about a second, as it waits for the optimizer.
# checks: 7
# needs: CONFIG_KUNIT_DEBUGFS CONFIG_KPROBES_TEST_MODULES
# append: kunit.enable=1 kunit.filter_glob=kprobes_truth truth_kunit.bytes=100000
# timeout: 600
. /guest/lib.sh

PARAM=/sys/module/truth_kunit/parameters
SUITE=/sys/kernel/debug/kunit/kprobes_truth

# With KCSAN, decoding takes a hundred times as long.
if grep -q ' kcsan_setup_watchpoint$' /proc/kallsyms; then
	EVERY=${EVERY:-997}
fi

# What was counted in all passes.
total() {
	sed -n 's/^ *# .*: byte [0-9]*: \([0-9]* accepted\)/\1/p' "$1" | tr -d ',;' |
		awk '{ a += $1; j += $5; r += $9; d += $11 }
		     END { print a " accepted, of these " j " with a jump; " r " refused; " d " differences" }'
}

check "the suite can be run again" [ -e $SUITE/run ]
echo 0 >$PARAM/bytes
for module in kprobe_test_target kprobe_test_driver; do
	check "$module: loaded" modprobe $module
	# Without a newline, as that would become part of the name.
	printf %s $module >$PARAM/module
	echo ${EVERY:-43} >$PARAM/passes
	echo now >$SUITE/run
	show total $SUITE/results
	check "$module: nothing happens but what was said" grep -q '^ok 1 kprobes_truth' $SUITE/results
	rmmod $module
done
check "nothing is registered" no_probes
