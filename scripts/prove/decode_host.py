# SPDX-License-Identifier: GPL-2.0-only
"""Compiles a decoder of the kernel as a host program, for decode-check."""
import os
import re


def make_headers(include, sources, real, links=None):
    """Fill the directory include with the headers that the sources need.

    real is {name: path} of the headers that are used as they are. All others become shims,
    which only include shim.h. links is {name: path} of what is to be linked there besides.
    """
    for name, path in {**real, **(links or {})}.items():
        to = os.path.join(include, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        os.symlink(path, to)
    for path in [*sources, *real.values()]:
        with open(path, encoding="utf-8") as f:
            names = re.findall(r'^\s*#\s*include\s+<([^>]+)>', f.read(), re.M)
        for name in names:
            to = os.path.join(include, name)
            if os.path.lexists(to):
                continue
            os.makedirs(os.path.dirname(to), exist_ok=True)
            with open(to, "w", encoding="utf-8") as f:
                f.write("#include <shim.h>\n")
    os.makedirs(os.path.join(include, "generated"), exist_ok=True)
    with open(os.path.join(include, "generated/autoconf.h"), "w", encoding="utf-8"):
        pass
