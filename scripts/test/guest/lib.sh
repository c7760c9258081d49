# SPDX-License-Identifier: GPL-2.0-only
# For the test scripts of the guest. Each check prints one line, which the host
# counts: "ok NAME", "not ok NAME" or "ok NAME # SKIP why".
KPROBES=/sys/kernel/debug/kprobes
TRACING=/sys/kernel/tracing
# What the modules kprobe_test_driver and kprobe_test_target are told, and tell.
DRIVER=/sys/module/kprobe_test_driver/parameters
TARGET=/sys/module/kprobe_test_target/parameters

# What depends on the architecture:
# SYS		the prefix of the functions that are system calls
# AFTER_SITE	the offsets at which there may be the first instruction after an ftrace site, without
#		and with a landing pad; on powerpc, with and without the two instructions of the
#		global entry
# IP		how a report of the kernel begins the line that names the instruction, for grep and
#		for grep -E; on powerpc with its address
# ONE_SIZE	are all instructions of one size, so that a jump replaces exactly one?
# KEPT_PAGES	how many more pages of slots there may be when no probe is left: one empty page of
#		each kind is kept, on arm64 for each region of 64 MiB, of which the kernel is in one,
#		and its modules are in two; on powerpc for each region of 16 MiB, of which each is in
#		one
case $(uname -m) in
aarch64)	SYS=__arm64_sys_ AFTER_SITE="8 12" IP="pc : " ONE_SIZE=yes KEPT_PAGES=5 ;;
ppc*)		SYS=sys_ AFTER_SITE="16 8" IP="NIP \[[0-9a-f]*\] " ONE_SIZE=yes KEPT_PAGES=3 ;;
i?86)		SYS=__ia32_sys_ AFTER_SITE="5 9" IP="EIP: " ONE_SIZE='' KEPT_PAGES=1 ;;
*)		SYS=__x64_sys_ AFTER_SITE="5 9" IP="RIP: [0-9]*:" ONE_SIZE='' KEPT_PAGES=1 ;;
esac

# Do probes at the entries of functions use ftrace?
ON_FTRACE=$(grep -m1 ' kprobe_ftrace_arm$' /proc/kallsyms)

# first_after FUNCTION - the offset of that instruction in a function that has a site.
first_after() {
	local at
	for at in $AFTER_SITE; do
		if echo "p:after_site $1+$at" >>$TRACING/kprobe_events; then
			echo "-:after_site" >>$TRACING/kprobe_events
			echo "$at"
			return
		fi
	done 2>/dev/null
	return 1
}

# check NAME CMD... - CMD succeeds.
check() {
	local name=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		echo "ok $name"
	else
		sed 's/^/    /' /tmp/check.out
		echo "$name" >>/tmp/failed
		echo "not ok $name"
	fi
}

# Files of debugfs have no size, so they have to be read.
no_probes() { [ -z "$(cat $KPROBES/list)" ]; }

skip() {
	echo "ok $1 # SKIP $2"
}

# Is the init text of modules freed after it was run? On powerpc of 64 bits it is part of their
# other text.
frees_init() {
	case $(uname -m) in
	ppc64*)	return 1 ;;
	esac
}

# show CMD... - its output, indented, for the reader.
show() {
	"$@" 2>&1 | sed 's/^/    /'
}

# is PARAMETER VALUE - of the driver.
is() { [ "$(cat "$DRIVER/$1")" = "$2" ]; }

# ask PLACE - what the file "check" says: what is written to it determines what is read.
ask() { exec 7<>$KPROBES/check; echo "$1" >&7 && cat <&7; exec 7<&-; }

# mode_is MODE FILE - in the folder of kprobes.
mode_is() { [ "$(stat -c %a "$KPROBES/$2")" = "$1" ]; }

# The kernel log, which is easier to search than the console.
mark() { dmesg -c >/dev/null; }
said() { dmesg | grep -c "$1"; }
listed() { grep -q "$1" $KPROBES/list; }

# wait_for SECONDS CMD... - wait until CMD succeeds.
wait_for() {
	local left=$(($1 * 50))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		usleep 20000
	done
}

# unused MODULE - it can be removed. That of a livepatch is still in use for a moment after the
# directory of the patch has gone.
unused() { [ "$(cat "/sys/module/$1/refcnt")" = 0 ]; }

# Pages of slots and detours, of which no more than so many are left.
slots() { grep -c 'kprobe_insn_page\|kprobe_optinsn_page' /proc/kallsyms; }
few_slots() { [ "$(slots)" -le "$1" ]; }

# How many sites have a jump.
live() { grep -c 'opt=live' $KPROBES/sites; }

# settle - wait until the optimizer is idle.
idle() { ! grep -q 'opt=queued\|opt=waiting' $KPROBES/sites; }
settle() { wait_for 60 idle || :; }

# event_with_jump NAME FUNCTION - an event opt/NAME on the first instruction of the
# function, after its entry, that gets a jump; its place is written to /tmp/place.
event_with_jump() {
	local at=9 enable=$TRACING/events/opt/$1/enable before
	before=$(live)
	while [ $at -lt 200 ]; do
		if echo "p:opt/$1 $2+$at" >>$TRACING/kprobe_events; then
			echo 1 >"$enable" && settle
			if [ "$(live)" -gt "$before" ]; then
				echo "$2+$at" >/tmp/place
				return 0
			fi
			echo 0 >"$enable"
			echo "-:opt/$1" >>$TRACING/kprobe_events
		fi
		at=$((at + 1))
	done 2>/dev/null
	return 1
}

# How many KiB of freed memory are kept, at most. KASAN keeps a 32nd of all memory.
kept() {
	if grep -q ' kasan_report$' /proc/kallsyms; then
		awk '/^MemTotal:/ { print int($2 / 32) }' /proc/meminfo
	else
		echo 0
	fi
}

# check_leaks - if the kernel has kmemleak.
check_leaks() {
	local leaks=/sys/kernel/debug/kmemleak
	[ -e $leaks ] || return 0
	# The pointer to a new object may still be in a register.
	sleep 6
	echo scan >$leaks
	sleep 6
	echo scan >$leaks
	check "kmemleak finds nothing of ours" sh -c "cat $leaks; ! grep -q kprobe $leaks"
}

# on_console - wait until everything written to the console has been printed.
on_console() { stty -F /dev/console cs8; }

# kernel_after SCRIPT [NAME yes|no PATTERN]... - load the kernel that is booted after a
# crash. It ends SCRIPT, after checking for each NAME whether a line in the memory of
# the crashed kernel matches PATTERN, or none does. The patterns are in that memory,
# too: write them so that they do not match themselves, as in "[+]".
kernel_after() {
	local script=$1
	shift
	mkdir -p /tmp/after/bin /tmp/after/proc
	cp /bin/busybox /tmp/after/bin/
	set -- "$@" "patterns do not match themselves" no 'nobody says[ ]this'
	while [ $# -gt 0 ]; do
		echo "$2 $1" >>/tmp/after/wanted
		echo "$3" >>/tmp/after/patterns
		shift 3
	done
	cat >/tmp/after/init <<-END
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	export PATH=/bin
	mount -t proc proc /proc
	echo "ok the kernel after the crash has come"
	# The kernel and its log are in there. Once, because this takes a while.
	head -c 50331648 /proc/vmcore | strings -n 12 | grep -f /patterns >/said
	while read -r wanted name <&3 && read -r pattern <&4; do
		found=no
		grep -q -e "\$pattern" /said && found=yes
		if [ \$found = \$wanted ]; then
			echo "ok \$name"
		else
			echo "not ok \$name"
		fi
	done 3</wanted 4</patterns
	echo "guest: end $script"
	echo "guest: end $script"
	poweroff -f
	END
	chmod 755 /tmp/after/init
	(cd /tmp/after && find . | cpio -o -H newc) >/tmp/after.cpio 2>/dev/null
	check "a kernel for after the crash is loaded" client crash-load /boot/kernel \
		/tmp/after.cpio "$(grep -o 'console=[^ ]*' /proc/cmdline) panic=-1 maxcpus=1 kunit.enable=0"
	check "it is there" grep -q 1 /sys/kernel/kexec_crash_loaded
}
