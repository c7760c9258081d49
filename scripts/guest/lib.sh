# SPDX-License-Identifier: GPL-2.0-only
# For the test scripts of the guest. Each check prints one line, which the host
# counts: "ok NAME", "not ok NAME" or "ok NAME # SKIP why".
KPROBES=/sys/kernel/debug/kprobes
TRACING=/sys/kernel/tracing

# check NAME CMD... - CMD succeeds.
check() {
	local name=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		echo "ok $name"
	else
		sed 's/^/    /' /tmp/check.out
		echo "not ok $name"
	fi
}

# Files of debugfs have no size: what is in them has to be read.
no_probes() { [ -z "$(cat $KPROBES/list)" ]; }

skip() {
	echo "ok $1 # SKIP $2"
}

# show CMD... - its output, indented, for the reader.
show() {
	"$@" 2>&1 | sed 's/^/    /'
}

# kernel_after SCRIPT NAME PATTERN [NAME PATTERN]... - loads the kernel that comes
# after a crash. That one ends SCRIPT, after it has said for each NAME whether a line
# in the memory of the crashed kernel matches. The patterns are in that memory, too:
# write them such that they do not match themselves, as in "[+]".
kernel_after() {
	local script=$1
	shift
	mkdir -p /tmp/after/bin /tmp/after/proc
	cp /bin/busybox /tmp/after/bin/
	while [ $# -gt 0 ]; do
		echo "$1" >>/tmp/after/names
		echo "$2" >>/tmp/after/patterns
		shift 2
	done
	cat >/tmp/after/init <<-END
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	export PATH=/bin
	mount -t proc proc /proc
	echo "ok the kernel after the crash has come"
	# Where the kernel and its log are; once, since this takes a while.
	head -c 50331648 /proc/vmcore | strings -n 12 | grep -e 'nobody says[ ]this' -f /patterns >/said
	said() {
		if grep -q -e "\$2" /said; then
			echo "ok \$1"
		else
			echo "not ok \$1"
		fi
	}
	while read -r name <&3 && read -r pattern <&4; do
		said "\$name" "\$pattern"
	done 3</names 4</patterns
	if grep -q 'nobody says[ ]this' /said; then
		echo "not ok the patterns do not match themselves"
	else
		echo "ok the patterns do not match themselves"
	fi
	echo "guest: end $script"
	echo "guest: end $script"
	poweroff -f
	END
	chmod 755 /tmp/after/init
	(cd /tmp/after && find . | cpio -o -H newc) >/tmp/after.cpio 2>/dev/null
	check "a kernel for after the crash is loaded" client crash-load /boot/bzImage \
		/tmp/after.cpio "console=ttyS0 panic=-1 maxcpus=1 kunit.enable=0"
	check "it is there" grep -q 1 /sys/kernel/kexec_crash_loaded
}
