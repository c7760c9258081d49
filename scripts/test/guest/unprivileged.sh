# SPDX-License-Identifier: GPL-2.0-only
# What a user without privileges learns about probes.
# checks: 100
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
FILES="list sites probes blacklist enabled check available"
[ ! -e $KPROBES/pools_limit ] || FILES="$FILES pools_grown pools_limit"
limit() { cat $TRACING/kprobes/pools_limit 2>/dev/null; }
limit=$(limit)
# In tracefs, there are the same ones.
for dir in $KPROBES $TRACING/kprobes; do
	for file in $FILES; do
		check "the root reads $dir/$file" sh -c "cat $dir/$file >/dev/null"
		check "the user does not" denied "cat $dir/$file"
		check "nor does he write it" denied "echo 1 >$dir/$file"
	done
	check "$dir is closed" denied "ls $dir"
done
check "no other files are there" test "$(ls $KPROBES)" = "$(ls $TRACING/kprobes)"

# The files stay closed, even if the permissions of the file system have been opened.
stays_closed() {
	local dir=$1 file
	for file in $FILES; do
		check "the user does not read $dir/$file, although the directory is open" \
			denied "cat $dir/$file"
		check "nor does he write $dir/$file" denied "echo 1 >$dir/$file"
	done
}
mount -o remount,mode=755 /sys/kernel/debug
stays_closed $KPROBES
mount -o remount,mode=700 /sys/kernel/debug
# That of the root alone is changed there, at least on some kernels.
before=$(stat -c %a $TRACING)
if mount -o remount,mode=755 $TRACING; then
	check "tracefs is open" [ "$(stat -c %a $TRACING)" = 755 ]
	check "also to the user" user "ls $TRACING >/dev/null"
	stays_closed $TRACING/kprobes
	check "the limit of pools is what it was" test "$(limit)" = "$limit"
	mount -o remount,mode="$before" $TRACING
else
	skip "tracefs is open" "it cannot be remounted"
fi

# The files in tracefs need no debugfs. Inside of it, tracefs may be mounted once more.
ask_in_tracefs() { (KPROBES=$TRACING/kprobes && ask "$1"); }
without_debugfs() { ! [ -e $KPROBES ]; }
umount /sys/kernel/debug/tracing 2>/dev/null
if umount /sys/kernel/debug; then
	check "debugfs is gone" without_debugfs
	for file in $FILES; do
		check "the root reads $file in tracefs alone" \
			sh -c "cat $TRACING/kprobes/$file >/dev/null"
		check "the user does not even then" denied "cat $TRACING/kprobes/$file"
	done
	check "the probe is listed" grep -q ' k *vfs_open+' $TRACING/kprobes/list
	check "questions are answered" sh -c "echo '$(ask_in_tracefs vfs_statx)' |
		grep -q 'verdict=accepted errno=0'"
	check "the switch works" sh -c "echo 0 >$TRACING/kprobes/enabled &&
		grep -qx 0 $TRACING/kprobes/enabled && echo 1 >$TRACING/kprobes/enabled"
	check "it is on again" grep -qx 1 $TRACING/kprobes/enabled
	mount -t debugfs debugfs /sys/kernel/debug
	check "debugfs is back" [ -e $KPROBES/list ]
else
	skip "debugfs is gone" "it is in use"
fi

check "the sysctl is readable" [ "$(user "cat $SYSCTL")" = 1 ]
check "but not writable" denied "echo 0 >$SYSCTL"
check "nothing has changed" [ "$(cat $SYSCTL)" = 1 ]
check "the slots of the probe are symbols" sh -c "cat /proc/kallsyms | grep -q kprobe_insn_page"
user 'cat /proc/kallsyms' >/tmp/symbols
check "the user sees them, too" slots </tmp/symbols
check "without addresses" sh -c "! grep kprobe_insn_page /tmp/symbols | grep -q -v '^0* '"
check "no events are created" denied "echo 'p vfs_read' >>$TRACING/kprobe_events"
check "no probe is left" sh -c "rmmod kprobe_example && [ -z \"\$(cat $KPROBES/list)\" ]"
