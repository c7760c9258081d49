# SPDX-License-Identifier: GPL-2.0-only
# May code be rewritten on this machine while another CPU executes it? Otherwise results
# of a kernel on it mean nothing. "crossmod=" on the command line is how many seconds
# each run of scripts/test/clients/crossmod.c takes.
# checks: 5
# needs: CONFIG_X86_64
. /guest/lib.sh

seconds=$(sed -n 's/.*crossmod=\([0-9]*\).*/\1/p' /proc/cmdline)

crossmod_with() {
	crossmod "${seconds:-2}" "$1" "$2" >/tmp/crossmod.out
	local ret=$?
	sed 's/^/    /' /tmp/crossmod.out >&3
	return $ret
}

# Functions, and how many of them share a page.
for layout in "1 1" "16 1" "256 1" "64 4" "256 256"; do
	# shellcheck disable=SC2086 # two words
	check "rewritten functions are what is executed: ${layout% *}, ${layout#* } in a page" \
		crossmod_with $layout 3>&1
done
