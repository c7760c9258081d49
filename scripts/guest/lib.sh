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
