# SPDX-License-Identifier: GPL-2.0-only
# What a user without privileges learns about probes.
# checks: 29
# needs: CONFIG_KPROBE_EVENTS CONFIG_SAMPLE_KPROBES CONFIG_OPTPROBES
. /guest/lib.sh

SYSCTL=/proc/sys/debug/kprobes-optimization

mkdir -p /etc
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
echo 'user:x:1000:1000::/:/bin/sh' >>/etc/passwd
chmod 755 /
user() { su user -s /bin/sh -c "$1"; }
denied() { ! user "$1" 2>/tmp/why && grep -q 'ermission denied' /tmp/why; }
slots() { grep -E -q ' kprobe_(opt)?insn_page'; }

check "the user has no privileges" [ "$(user 'id -u')" = 1000 ]
# In the middle of the function: a breakpoint, whose instruction has a copy in a slot.
probe()
{
	local at=9
	until modprobe kprobe_example symbol=vfs_open offset=$at; do
		at=$((at + 1))
		[ $at -lt 40 ] || return
	done 2>/dev/null
}
check "there is a probe" probe
for file in list sites probes blacklist enabled check available; do
	check "the root reads $file" sh -c "cat $KPROBES/$file >/dev/null"
	check "the user does not" denied "cat $KPROBES/$file"
done
check "the directory is closed" denied "ls $KPROBES"

# The files stay closed, even if the permissions of debugfs have been opened.
mount -o remount,mode=755 /sys/kernel/debug
for file in list sites probes blacklist enabled check available; do
	check "the user does not read $file, although the directory is open" \
		denied "cat $KPROBES/$file"
done
mount -o remount,mode=700 /sys/kernel/debug

check "the sysctl is readable" [ "$(user "cat $SYSCTL")" = 1 ]
check "but not writable" denied "echo 0 >$SYSCTL"
check "nothing has changed" [ "$(cat $SYSCTL)" = 1 ]
check "the slots of the probe are symbols" sh -c "cat /proc/kallsyms | grep -q kprobe_insn_page"
user 'cat /proc/kallsyms' >/tmp/symbols
check "the user sees them, too" slots </tmp/symbols
check "without addresses" sh -c "! grep kprobe_insn_page /tmp/symbols | grep -q -v '^0* '"
check "no events are created" denied "echo 'p vfs_read' >>$TRACING/kprobe_events"
check "no probe is left" sh -c "rmmod kprobe_example && [ -z \"\$(cat $KPROBES/list)\" ]"
