# SPDX-License-Identifier: GPL-2.0-only
# Probes in a livepatch, whose text is relocated when the module that it patches is
# loaded: kprobe_test_relocated, for kprobe_test_target.
# checks: 16
# needs: CONFIG_LIVEPATCH CONFIG_KPROBES_TEST_MODULES CONFIG_X86_64|CONFIG_PPC64|CONFIG_ARM64
. /guest/lib.sh

RESULT=/sys/module/kprobe_test_relocated/parameters/result
PATCH=/sys/kernel/livepatch/kprobe_test_relocated
# What is relocated, and the results with operands that have been.
case $(uname -m) in
ppc*)	OPERANDS="call nop" RESULTS="7 9" ;;
aarch64) OPERANDS="call adrp add movz movk2" RESULTS="7 1 6" ;;
*)	OPERANDS="call lea mov movabs" RESULTS="7 1 9" ;;
esac

add() { echo "kprobe_test_klp_$1" >$DRIVER/register; }
# refused NAME - with "Invalid argument"; a probe that is accepted stays.
refused() {
	local said
	! said=$(add "$1" 2>&1) && echo "$said" | grep -qi invalid
}
works() {
	local got
	got=$(cat $RESULT)
	[ "$got" = "$RESULTS" ] && return
	echo "'$got', not '$RESULTS'"
	return 1
}

check "the modules load" sh -c "modprobe kprobe_test_driver && modprobe kprobe_test_relocated"
check "its operands are not relocated yet" sh -c "! grep -q '^7' $RESULT"
for what in $OPERANDS; do
	check "no probe on $what before it is relocated" refused at_$what
	# Where one is: it is there when the relocation comes.
	modprobe kprobe_test_target
	check "and $what does what it should afterwards" works
	check "no probe on $what then" refused at_$what
	echo 1 >$DRIVER/unregister
	rmmod kprobe_test_target
done

check "a probe on what is not relocated" add plain
modprobe kprobe_test_target
check "which works" works
check "it is hit" is hits 1
settle
check "it gets no jump" grep -q 'kprobe_test_klp_plain.*why=livepatch' $KPROBES/sites
echo 1 >$DRIVER/unregister

check "the livepatch is switched off" sh -c "echo 0 >$PATCH/enabled"
check "it goes" wait_for 30 [ ! -e $PATCH ]
wait_for 30 unused kprobe_test_relocated
check "the modules go" sh -c \
	"rmmod kprobe_test_relocated && rmmod kprobe_test_target && rmmod kprobe_test_driver"
check "the list is empty" no_probes
