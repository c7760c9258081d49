# SPDX-License-Identifier: GPL-2.0-only
# The base's own selftests of kprobe events and of the other dynamic events. The
# table selftests.expected says what becomes of each; what it does not say, or
# says of a case that does not exist, fails as well. Lines of selftests-7.3.expected come after
# these on that base.
# checks: 42
# timeout: 900
# needs: CONFIG_UPROBE_EVENTS CONFIG_FTRACE_SYSCALLS CONFIG_HIST_TRIGGERS CONFIG_STACK_TRACER CONFIG_SAMPLE_TRACE_PRINTK CONFIG_SAMPLE_TRACE_EVENTS
. /guest/lib.sh

DIR=/selftests/ftrace
TABLE=/guest/selftests.expected

# One case looks for a shell by the name of its program.
ln -f /bin/busybox /bin/sh
# One probes a function of the network, which these kernels do not have.
sed -i s/inet_csk_accept/vfs_read/ $DIR/test.d/kprobe/kretprobe_maxactive.tc

# PASS, FAIL, UNRESOLVED, ...
outcome() {
	rm -rf /tmp/log
	(cd $DIR && ./ftracetest --fail-unsupported --fail-unresolved -l /tmp/log "test.d/$1" </dev/null) |
		sed -n 's/^\[1\].*\[\([A-Z]*\)\]$/\1/p'
}

# said CASE - the last line of the table that is about the case on this machine.
said() { sed -n "s|^$1\(:$(uname -m)\)\?  *||p" $TABLE | tail -n 1; }

fprobe=$(grep -m1 ' register_fprobe$' /proc/kallsyms)
cases=$(cd $DIR/test.d && find kprobe dynevent -name '*.tc' | sort)
for case in $cases; do
	name=${case%.tc}
	read -r wanted without why <<-END
		$(said "$name")
	END
	[ "$fprobe" ] || wanted=$without
	if [ "$wanted" = SKIP ]; then
		skip "selftest $name" "$why"
		continue
	fi
	got=$(outcome "$case")
	if [ "$got" = "$wanted" ]; then
		echo "ok selftest $name: $got"
	else
		cat /tmp/log/1-* 2>/dev/null | tail -n 20 | sed 's/^/    /'
		echo "not ok selftest $name: ${got:-no outcome}, not ${wanted:-in the table}"
	fi
done
for name in $(sed -n 's/^\([^#: ]*\)[: ].*/\1/p' $TABLE | sort -u); do
	[ -e "$DIR/test.d/$name.tc" ] || [ "$(said "$name" | cut -c1)" = - ] ||
		echo "not ok selftest $name: no such case"
done
check "the selftests leave no probe" no_probes
