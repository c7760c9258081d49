# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Shared by all shell scripts here: where things are kept, and how progress and
# failures are shown. Source it, do not run it.
set -euo pipefail

# The variables of "make test ARCH=... V=1" are meant for us, not for kbuild; and
# scripts parse messages, so these must not be translated.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export LC_ALL=C

# The root of this repository, wherever the script was called from.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SCRIPTS=$TOP/scripts

say() { printf '%s\n' "$*"; }

# die CAUSE [LOG] - exit with one line: which script, why, and where to read more.
die() {
	printf '%s: %s%s\n' "${0##*/}" "$1" "${2:+ (log: $2)}" >&2
	exit 1
}

# table NAME - the lines of a table in scripts/build.
table() { sed '/^#/d; /^[[:space:]]*$/d' "$SCRIPTS/build/$1"; }

# chosen_base - the name, in scripts/build/bases, of the base that BASE chooses or else
# KPROBES_BASE, a tree or a tarball with a usual name. As in scripts/build/kerneltree.py.
chosen_base() {
	local given=${KPROBES_BASE:-} found=${BASE:-}
	given=${given%/}
	[ -n "$found" ] || [ ! -f "$given/Makefile" ] || found=$(
		awk '/^(VERSION|PATCHLEVEL) = / { printf "%s%s", dot, $3; dot = "." }' \
			"$given/Makefile")
	[ -n "$found" ] || found=$(
		sed -n 's/^linux[^0-9]*\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' <<<"${given##*/}")
	printf '%s' "${found:-$DEFAULT_BASE}"
}

# base_line NAME - read the line of the base NAME into the variables oldest, package, suite.
base_line() {
	# shellcheck disable=SC2034 # used by the caller
	read -r _ oldest package suite < <(table bases | awk -v name="$1" '$1 == name') ||
		die "no base $1 in scripts/build/bases, but $(table bases |
			awk '{ printf "%s%s.y from .%s on", and, $1, $2; and = " and " }')"
}

# moved PATH - the path of a file of ours in the tree. As in scripts/build/kerneltree.py.
moved() {
	local base here there
	while read -r base here there; do
		if [ "$base" = "$BASE" ] && [ "${1#"$here"}" != "$1" ]; then
			printf '%s' "$there${1#"$here"}"
			return
		fi
	done < <(table moved)
	printf '%s' "$1"
}

# for_base STEM SUFFIX - the file STEMSUFFIX and, if there is one, STEM-BASESUFFIX, whose lines add
# to those or replace them. As in scripts/build/kerneltree.py.
for_base() {
	printf '%s\n' "$1$2"
	[ ! -f "$1-$BASE$2" ] || printf '%s\n' "$1-$BASE$2"
}

DEFAULT_BASE=$(table bases | awk '{ print $1; exit }')
BASE=$(chosen_base)
base_line "$BASE"
export BASE

# All products are kept outside the work tree, so that a fresh clone reuses what an
# earlier one has built. Each base but the default one has a folder of its own in there.
OUT=${KPROBES_OUT:-${XDG_CACHE_HOME:-$HOME/.cache}/kprobes-linux}
[ "$BASE" = "$DEFAULT_BASE" ] || OUT=$OUT/$BASE
LOGS=$OUT/logs
mkdir -p "$LOGS" "$OUT/build"
export OUT

# cause LOG - the line of LOG that most likely names the cause. The lines of make
# itself only say that something failed, or what is built.
cause() {
	local line words
	words='[Ee]rror|ERROR|fatal|FAILED|undefined reference|No space left|No such file'
	line=$(grep -v -E '^(make(\[[0-9]+\])?:|  [A-Z]+ |[[:space:]]*$)' "$1" |
		grep -m1 -E "(^|[^_[:alnum:]])($words)") ||
	line=$(grep -m1 -E '^make.*(No rule to make|No such file)' "$1") ||
	line=$(grep -v '^[[:space:]]*$' "$1" | tail -n 1) || true
	printf '%s' "${line:-no output}" | cut -c1-200
}

# Is the output a terminal, on which a line can be overwritten?
terminal() { [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; }

# duration SECONDS - for humans.
duration() {
	if [ "$1" -lt 120 ]; then
		printf '%d s' "$1"
	else
		printf '%d min' $((($1 + 30) / 60))
	fi
}

# A step may set this to a function that prints, for the log so far, how much is done,
# how much there is in all (0 if that is not known), and of what.
step_progress=

# watch TEXT LOG - say what a step is doing until we are killed: on a terminal in one
# line that changes each second. Elsewhere a line is printed after 10 s, and then when
# at least 20 s and a tenth of the work, or 2 minutes, have passed.
watch() {
	local text=$1 log=$2 start=$SECONDS never last=0 next=10 tenth=0 now columns=80 line
	local begun='' first=0 made total unit
	# Nothing is ever written to this pipe, so that reading from it is a sleep
	# without a process, which would outlive us.
	exec {never}<> <(:)
	! terminal || columns=$(stty size </dev/tty 2>/dev/null | cut -d' ' -f2) || true
	while kill -0 $$ 2>/dev/null; do
		made='' total=0 unit='' line=
		now=$((SECONDS - start))
		[ -z "$step_progress" ] || read -r made total unit < <($step_progress "$log") || total=0
		if [ -n "$made" ] && [ "$total" -gt 0 ]; then
			[ -n "$begun" ] || begun=$now first=$made
			[ "$made" -lt "$total" ] || made=$total
			line="$made of $total $unit, $((100 * made / total)) %, "
		elif [ -n "$made" ]; then
			line="$made $unit, "
		fi
		line+=$(duration $now)
		# An estimate needs some seconds and some work.
		if [ -n "$begun" ] && [ $((now - begun)) -ge 5 ] && [ "$made" -gt "$first" ]; then
			line+=", about $(duration $(((now - begun) * (total - made) / (made - first)))) left"
		fi
		if terminal; then
			printf '\r\033[K%.*s' $((${columns:-80} - 1)) "$text: $line"
		elif [ $now -ge $next ] && { [ $next -eq 10 ] || [ $now -ge $((last + 120)) ] ||
		     { [ "$total" -gt 0 ] && [ $((10 * made / total)) -gt $tenth ]; }; }; then
			printf '%s: %s\n' "$text" "$line"
			last=$now next=$((now + 20))
			[ "$total" -eq 0 ] || tenth=$((10 * made / total))
		fi
		read -r -t 1 -u "$never" _ || true
	done
}

# step TEXT CMD... - run CMD with its output in a log, say what it is doing, and print
# TEXT with the seconds it took or, on the same line, what went wrong. Lines "note: ..."
# of the output are shown; after a line "nothing to do" TEXT is not printed at all. CMD
# may be a function; it stops at its first error.
step() {
	local text=$1 log start=$SECONDS rc=0 watcher
	shift
	log=$LOGS/$(printf '%s' "$text" | tr -cs '[:alnum:]_.-' '-' | cut -c1-60).log
	# shellcheck disable=SC2034 # CMD may read its own output
	step_log=$log
	: >"$log"
	watch "$text" "$log" &
	watcher=$!
	# Not "if cmd": that would switch "set -e" off inside functions.
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	kill $watcher 2>/dev/null
	wait $watcher 2>/dev/null
	set -e
	! terminal || printf '\r\033[K'
	if [ $rc -ne 0 ]; then
		printf '%s ... FAILED after %d s: %s (log: %s)\n' "$text" \
			$((SECONDS - start)) "$(cause "$log")" "$log"
		exit 1
	fi
	grep -qx 'nothing to do' "$log" || printf '%s ... %d s\n' "$text" $((SECONDS - start))
	grep '^note: ' "$log" || true
}

# lock FILE - hold an exclusive lock until this script ends; prints a note if it has
# to wait. FILE is opened for reading, as it may belong to another user.
lock() {
	local fd
	[ -e "$1" ] || (umask 0; : >>"$1") 2>/dev/null || true
	exec {fd}<"$1" || die "cannot open the lock $1"
	flock -n "$fd" && return 0
	say "note: waiting for another run that holds $1"
	flock "$fd"
}

# Two kernel builds at a time only slow each other down on a small machine, so this
# lock covers the machine, not just one output directory.
BUILD_LOCK=${TMPDIR:-/tmp}/kprobes-linux-build.lock

# kernel_line NAME - read the line of NAME in scripts/build/kernels into the variables
# arch, cross, targets and fragments. NAME+FRAGMENT+... is that kernel with more fragments.
kernel_line() {
	local name=${1#base-}+
	# shellcheck disable=SC2034 # used by the caller
	read -r _ arch cross targets fragments < <(
		grep "^${name%%+*} " "$SCRIPTS/build/kernels") ||
		die "no kernel '${name%%+*}' in scripts/build/kernels"
	[ "$cross" != - ] || cross=
	name=${name#*+}
	fragments+=" ${name//+/ }"
}

# setup_for KERNEL - install what building and booting it needs, and unpack the base.
setup_for() {
	# "test" has cross compilers, and QEMU for other architectures.
	local job='test'
	kernel_line "$1" # arch
	[ "$arch" != x86_64 ] || job=run
	"$SCRIPTS/build/setup" $job
	"$SCRIPTS/build/base"
}

# guest_of KERNEL - build the kernel, and pack the userland of its guest into the file initrd.
guest_of() {
	initrd=$OUT/build/$1.cpio
	setup_for "$1"
	"$SCRIPTS/build/kernel" "$1"
	step "userland with the modules" "$SCRIPTS/build/initramfs" "$1" "$initrd"
}

# client SOURCE FILE [PREFIX KERNEL] - build a program of scripts/test/clients, for this
# machine, or by the compiler with that prefix against the headers of that kernel. They
# use no library, except for crossmod, which is for this machine only.
client() {
	case $1 in
	*/crossmod.c)
		gcc -O2 -Wall -Wextra -Werror -static -pthread -o "$2" "$1"
		return ;;
	esac
	local nolibc=$OUT/base/tools/include/nolibc obj=$OUT/build/${4:-} flags=(-Os) lib=(-lgcc)
	case ${3:-} in
	'')
		! grep -qs '^CONFIG_X86_32=y' "$obj/.config" || flags=(-O2 -m32) lib=() ;;
	powerpc*)
		# One compiler for all ABIs, with a libgcc for one of them. Without it, 32 bits
		# need -O2: -Os saves registers by calls into libgcc.
		flags=(-O2) lib=()
		! grep -q '^CONFIG_PPC32=y' "$obj/.config" || flags+=(-m32 -mcpu=powerpc)
		! grep -q '^CONFIG_PPC64_ELF_ABI_V2=y' "$obj/.config" || flags+=(-mabi=elfv2)
		! grep -q '^CONFIG_CPU_LITTLE_ENDIAN=y' "$obj/.config" || flags+=(-mlittle-endian) ;;
	esac
	"${3:-}gcc" -Wall -Wextra -Werror "${flags[@]}" -static -nostdlib -fno-stack-protector \
		-I "$nolibc" -include "$nolibc/nolibc.h" \
		${4:+-isystem "$obj/usr/include"} -o "$2" "$1" "${lib[@]}"
}
