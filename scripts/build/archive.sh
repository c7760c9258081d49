# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/build/archive.sh - packages of Debian from a suite that this machine need not use. The
# suite is looked for in the archive from which apt gets Debian, with separate package lists
# and sources, so that those of the system stay as they are and root is not needed. Sourced
# after lib.sh by scripts that set suite, packages, and work, a directory for all this, and have a
# function skip WHY, which does not return.
# shellcheck shell=bash disable=SC2154,SC2034
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# private PROGRAM ARG... - a program of apt that changes only what is in $work.
private() {
	local program=$1
	shift
	"$program" -q -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@"
}

# from_suite PROGRAM ARG... - the same with the suite as the only source.
from_suite() {
	private "$1" -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o APT::Default-Release= "${@:2}"
}

# archive PROGRAM... - where the lists that PROGRAM reads come from, if that is Debian.
archive() {
	# shellcheck disable=SC2016 # these are names for apt
	"$@" indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" && !/^cdrom:/ { print $1; exit }'
}

# What apt says is judged by whether the package is there: a hook of the system that needs
# root may have failed.
# shellcheck disable=SC2317 # called by step
look() {
	local uri
	uri=$(archive apt-get)
	if [ -z "$uri" ]; then
		# The system has no lists yet.
		private apt-get update || true
		uri=$(archive private apt-get)
	fi
	[ -n "$uri" ] || return 0
	[ ! -f "$keys" ] || uri="[signed-by=$keys] $uri"
	echo "deb $uri $suite main" >"$work/sources.list"
	from_suite apt-get update || true
	# shellcheck disable=SC2086 # these are names
	from_suite apt-cache show --no-all-versions $packages >"$work/record" || true
}

# shellcheck disable=SC2317 # called by step
download() {
	local from=() package
	for package in $packages; do
		from+=("$package/$suite")
	done
	(cd "$work" && from_suite apt-get download "${from[@]}") || true
}

# shellcheck disable=SC2317 # called by step
downloaded() {
	local made size
	made=$(cat "$work"/*.deb "$work"/partial/*.deb 2>/dev/null | wc -c) || true
	size=$(awk '/^Size: / { sum += $2 } END { print sum + 0 }' "$work/record")
	echo "$((made / 1000000)) $((size / 1000000)) MB"
}

# get NAME - download the packages, which progress lines call NAME; or call skip WHY.
get() {
	command -v apt-get >/dev/null || skip "there is no apt-get"
	rm -rf "$work"
	mkdir -p "$work"/{lists,cache/archives}/partial
	: >"$work/record"
	step "set-up: looking for $1 in $suite" look
	[ -s "$work/record" ] || skip "$(complaint)"
	step_progress=downloaded
	step "set-up: downloading $1" download
	step_progress=
	[ "$(find "$work" -maxdepth 1 -name '*.deb' | wc -l)" -eq "$(wc -w <<<"$packages")" ] ||
		skip "$(complaint)"
}

# complaint - what apt said in the step that is over, or else that there is no such package.
complaint() {
	local line
	line=$(sed -n '/No packages found/d; s/^E: //p; s/^W: \(Failed to fetch\)/\1/p' "$step_log" |
		head -n 1 | tr -s ' ' | cut -c1-150)
	printf '%s' "${line:-the archive has no such package there}"
}
