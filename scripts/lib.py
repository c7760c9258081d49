# SPDX-License-Identifier: GPL-2.0-only
"""Shared by the Python scripts: where the others are, how to import and run them, modules for a
kernel, boots, results, and what is known about an architecture.

Importing this makes the modules of scripts, scripts/build, scripts/test and scripts/measure
importable.
"""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
sys.path += [SCRIPTS] + [os.path.join(SCRIPTS, folder) for folder in ("build", "test", "measure")]

from kerneltree import table
from progress import Progress, watched


def load(name):
    """A script without a suffix as a module: load("test/run")."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(name),
                                                  os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def script(*args, env=None):
    """Run one of our scripts, perhaps with more variables; exits if it fails, which says why
    itself."""
    if subprocess.run([os.path.join(SCRIPTS, args[0]), *args[1:]],
                      env={**os.environ, **(env or {})}).returncode:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {args[0]} failed, see above")


def prepare(*jobs):
    """Install what these jobs of build/setup need, and unpack the base."""
    script("build/setup", *jobs)
    script("build/base")


def build_module(kernel, folder, source, made=None, env=None):
    """Build a module for a kernel in a folder, which is returned, from a copy of the source and
    {name: text} of files that are made for it."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(source):
        if name == "Makefile" or name.endswith((".c", ".h")):
            shutil.copy(os.path.join(source, name), folder)
    for name, text in (made or {}).items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    script("build/kernel", kernel, f"M={folder}", "modules", env=env)
    return folder


def boot(kernel, log, append, timeout, *options, look=lambda: (), what="running", env=None):
    """Boot a kernel, with its console in a log: did the guest end in time? Meanwhile, what is done
    is shown, and how much of it, which look() returns for Progress.show()."""
    open(log, "w").close()
    return watched([os.path.join(SCRIPTS, "test/qemu"), kernel, "--log", log, "--timeout",
                    str(timeout), "--append", append, *options], Progress(f"{kernel}: {what}"),
                   look, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})}) == 0


def output(*cmd, **kw):
    """What a command prints, which has to succeed."""
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE,
                          **kw).stdout.decode(errors="replace")


def disassembly(tools, path, *options):
    """Yields (function, its address, address, text) of each instruction that objdump finds; the
    text begins with a tab, and then the mnemonic."""
    name = start = None
    with subprocess.Popen([f"{tools}objdump", "-d", "--no-show-raw-insn", *options, path],
                          stdout=subprocess.PIPE, text=True, errors="replace") as p:
        for l in p.stdout:
            m = re.match(r"(?:([0-9a-f]+) <(.*)>:| *([0-9a-f]+):(\t.*))$", l)
            if m and m[1]:
                name, start = m[2], int(m[1], 16)
            elif m:
                yield name, start, int(m[3], 16), m[4]


class Report:
    """Results, which are counted and printed, one a line."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def __call__(self, what, problems=()):
        self.failed += bool(problems)
        self.passed += not problems
        print("\n     ".join([f"FAIL {what}: {problems[0]}", *problems[1:]]) if problems else
              f"ok   {what}", flush=True)

    def fail(self, where, why, log=None, said=()):
        self(where, [why + (f" (log: {log})" if log else ""), *said])

    def skip(self, what, why):
        self.skipped += 1
        print(f"skip {what}: {why}", flush=True)

    def end(self):
        """Print the sums; the exit status."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0


def chosen_kernel():
    """The kernel that KERNEL=, or else ARCH=, names; by default x86_64."""
    return os.environ.get("KERNEL") or os.environ.get("ARCH") or "x86_64"


def kernel_line(kernel):
    """(architecture, prefix of its tools, targets) of a kernel of scripts/build/kernels."""
    for name, arch, tools, targets, *_ in table("build/kernels"):
        if name == kernel.removeprefix("base-").split("+")[0]:
            return arch, "" if tools == "-" else tools, targets.split(",")
    sys.exit(f"{os.path.basename(sys.argv[0])}: no kernel '{kernel}' in scripts/build/kernels")


def only_program(kernel, name):
    """[the source of the program for a guest without a busybox], or [] if there is a busybox."""
    found = subprocess.run([os.path.join(SCRIPTS, "build/busybox"), kernel], check=True,
                           stdout=subprocess.PIPE).stdout
    return [] if found else [os.path.join(SCRIPTS, "test/guest", name)]


def architecture(kernel, part):
    """The class "part" in the file of scripts/arch for the architecture of a kernel.

    Its attribute "tools" is the prefix of binutils. Exits if the file does not have it.
    """
    arch, tools, _ = kernel_line(kernel)
    name = f"arch/{'x86' if arch in ('i386', 'x86_64') else arch}.py"
    found = getattr(load(name), part, None) if os.path.exists(os.path.join(SCRIPTS, name)) else None
    if not found:
        sys.exit(f"{os.path.basename(sys.argv[0])}: not for the architecture of {kernel}: "
                 f"there is no class {part} in scripts/{name}; see scripts/arch/README")
    found.tools = tools
    return found
