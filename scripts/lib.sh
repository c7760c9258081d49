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

# All products are kept outside the work tree, so that a fresh clone reuses what an
# earlier one has built.
OUT=${KPROBES_OUT:-${XDG_CACHE_HOME:-$HOME/.cache}/kprobes-linux}
LOGS=$OUT/logs
mkdir -p "$LOGS" "$OUT/build"
export OUT

say() { printf '%s\n' "$*"; }

# die CAUSE [LOG] - exit with one line: which script, why, and where to read more.
die() {
	printf '%s: %s%s\n' "${0##*/}" "$1" "${2:+ (log: $2)}" >&2
	exit 1
}

# cause LOG - the line of LOG that most likely names the cause. The lines of make
# itself only say that something failed.
cause() {
	local line words
	words='[Ee]rror|ERROR|fatal|FAILED|undefined reference|No space left|No such file'
	line=$(grep -v -E '^(make(\[[0-9]+\])?:|[[:space:]]*$)' "$1" |
		grep -m1 -E "(^|[^_[:alnum:]])($words)") ||
	line=$(grep -m1 -E '^make.*(No rule to make|No such file)' "$1") ||
	line=$(grep -v '^[[:space:]]*$' "$1" | tail -n 1) || true
	printf '%s' "${line:-no output}" | cut -c1-200
}

# step TEXT CMD... - print TEXT, run CMD with its output in a log, and print how many
# seconds it took or, on the same line, what went wrong. Lines "note: ..." of the
# output are shown. CMD may be a function; it stops at its first error.
step() {
	local text=$1 log start=$SECONDS rc=0
	shift
	log=$LOGS/$(printf '%s' "$text" | tr -cs '[:alnum:]_.-' '-' | cut -c1-60).log
	printf '%s ... ' "$text"
	# Not "if cmd": that would switch "set -e" off inside functions.
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	if [ $rc -ne 0 ]; then
		printf 'FAILED after %d s: %s (log: %s)\n' $((SECONDS - start)) \
			"$(cause "$log")" "$log"
		exit 1
	fi
	printf '%d s\n' $((SECONDS - start))
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
# arch, cross, targets and fragments.
kernel_line() {
	# shellcheck disable=SC2034 # used by the caller
	read -r _ arch cross targets fragments < <(
		grep "^${1#base-} " "$SCRIPTS/build/kernels") ||
		die "no kernel '$1' in scripts/build/kernels"
	[ "$cross" != - ] || cross=
}

# client SOURCE FILE - build a program of scripts/test/clients; they use no library.
client() {
	local nolibc=$OUT/base/tools/include/nolibc
	gcc -Wall -Wextra -Werror -Os -static -nostdlib -fno-stack-protector \
		-I "$nolibc" -include "$nolibc/nolibc.h" -o "$2" "$1" -lgcc
}
