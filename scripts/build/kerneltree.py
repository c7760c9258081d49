# SPDX-License-Identifier: GPL-2.0-only
"""What the patched kernel tree consists of: base + strip + overlay + edits.

Used by scripts/build/tree, which writes it, and by scripts/build/series, which turns it
into patches.
"""
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Refused(Exception):
    """The base or the repository is not as it must be; the message says why."""


def table(name):
    """The fields of each line of a table in scripts."""
    lines = read(os.path.join(TOP, "scripts", name)).decode().splitlines()
    return [l.split() for l in lines if l.strip() and not l.startswith("#")]


def bases():
    """{name: lowest sublevel} of scripts/build/bases, the default first."""
    return {name: int(oldest) for name, oldest, *_ in table("build/bases")}


def kernel_version(tree):
    """[version, patch level, sublevel] of a kernel tree; Refused if it is none."""
    try:
        head = read(os.path.join(tree, "Makefile")).decode()[:2000]
    except OSError:
        raise Refused(f"{tree} is not a kernel tree")
    v = [re.search(rf"^{k} = (\d+)$", head, re.M)
         for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(v):
        raise Refused(f"{tree} is not a kernel tree")
    return [int(m.group(1)) for m in v]


def chosen_base():
    """The name of the base that BASE chooses, or else KPROBES_BASE. As in scripts/lib.sh."""
    given = (os.environ.get("KPROBES_BASE") or "").rstrip("/")
    if os.environ.get("BASE"):
        return os.environ["BASE"]
    try:
        return "{}.{}".format(*kernel_version(given or os.devnull))
    except Refused:
        m = re.match(r"linux\D*(\d+\.\d+)", os.path.basename(given))
        return m.group(1) if m else DEFAULT


# As in scripts/lib.sh.
DEFAULT = next(iter(bases()))
BASE = chosen_base()
if BASE not in bases():
    sys.exit(f"{os.path.basename(sys.argv[0])}: no base {BASE} in scripts/build/bases, but " +
             " and ".join(f"{name}.y from .{oldest} on" for name, oldest in bases().items()))
MOVED = [(here, there) for base, here, there in table("build/moved") if base == BASE]


def of_base(folder):
    """The folder itself, or that of the base in there. As in scripts/lib.sh."""
    return folder if BASE == DEFAULT else os.path.join(folder, BASE)


# Where everything made is kept.
HOME = os.environ.get("KPROBES_OUT") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
    "kprobes-linux")
OUT = of_base(HOME)


def for_base(path):
    """The file and, if there is one, that of the same name with -BASE at the end of its stem,
    whose lines add to those or replace them. As in scripts/lib.sh."""
    stem, suffix = os.path.splitext(path)
    return [path, *(p for p in [f"{stem}-{BASE}{suffix}"] if os.path.exists(p))]


# The parts of this repository that become kernel, each at the same path.
OVERLAY = ["include", "kernel", "arch", "lib", "samples", "Documentation",
           "Kconfig.kprobes"]
EDITS = "series/edits"
ORDER = "series/order"

# Kconfig entries of arch/Kconfig that move to Kconfig.kprobes, which is
# sourced where the first one stood.
STRIPPED_CONFIGS = ["KPROBES", "OPTPROBES", "KPROBES_ON_FTRACE", "KRETPROBES",
                    "KRETPROBE_ON_RETHOOK"]
MAINTAINERS_ENTRY = "KPROBES"
# Files of the base that no Makefile builds any more.
STRIPPED_FILES = ["arch/arm64/kernel/probes/kprobes_trampoline.S",
                  "arch/powerpc/kernel/kprobes-ftrace.c", "arch/powerpc/kernel/optprobes.c",
                  "arch/powerpc/kernel/optprobes_head.S", "arch/x86/kernel/kprobes/ftrace.c",
                  "arch/x86/kernel/kprobes/opt.c"]


def moved(path):
    """The path of a file of ours in the tree."""
    for here, there in MOVED:
        if path.startswith(here):
            return there + path.removeprefix(here)
    return path


def base_version(base):
    """'X.Y.Z' of an acceptable base, otherwise Refused."""
    v = kernel_version(base)
    name = "{}.{}".format(*v)
    oldest = bases()[BASE]
    if name != BASE or v[2] < oldest:
        raise Refused("the base is Linux {}.{}.{}, but must be {}.{} or a later {}.y"
                      .format(*v, BASE, oldest, BASE))
    return "{}.{}.{}".format(*v)


def overlay():
    """Paths of our files that become kernel: tracked, or new and not ignored."""
    out = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z",
         "--cached", "--others", "--exclude-standard", "--"] + OVERLAY,
        check=True, stdout=subprocess.PIPE).stdout.decode()
    return sorted(p for p in set(out.split("\0"))
                  if p and os.path.isfile(os.path.join(TOP, p)))


def strip_kconfig(text):
    """arch/Kconfig without the entries that Kconfig.kprobes now has."""
    for sym in STRIPPED_CONFIGS:
        # An entry ends where the next line starts in the first column.
        new, n = re.subn(rf"^config {sym}\n(?:[ \t].*\n|\n)*",
                         'source "Kconfig.kprobes"\n\n'
                         if sym == STRIPPED_CONFIGS[0] else "",
                         text, flags=re.M)
        if n != 1:
            raise Refused(f"the base's arch/Kconfig has {n} entries "
                          f"'config {sym}', expected one")
        text = new
    return text


def splice_maintainers(text, ours):
    """MAINTAINERS with the base's entry replaced by ours."""
    ours = re.sub(r"(?m)^(F:\t)(\S+)$", lambda m: m.group(1) + moved(m.group(2)), ours)
    new, n = re.subn(rf"^{MAINTAINERS_ENTRY}\n(?:[A-Z]:.*\n)+",
                     lambda m: ours.strip() + "\n", text, flags=re.M)
    if n != 1:
        raise Refused(f"the base's MAINTAINERS has {n} sections "
                      f"'{MAINTAINERS_ENTRY}', expected one")
    return new


def edits(base=BASE):
    """Names of the edits that apply to the base, in the order of the series, so that each edit sees
    the lines of the earlier ones in every tree.

    A line "Base: NAME" before the diff names the only base that an edit is for.
    """
    found = []
    with open(os.path.join(TOP, ORDER)) as f:
        globs = [l.strip() for l in f if l[0].isspace() and l.rstrip().endswith(".patch")]

    def place(name):
        return next((i for i, g in enumerate(globs) if fnmatch.fnmatch(name, g)), len(globs))

    folder = os.path.join(TOP, EDITS)
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".patch"):
            continue
        head = read(os.path.join(folder, name)).decode().split("\n--- ")[0]
        only = re.findall(r"^Base: (\S+)$", head, re.M)
        if not set(only) <= set(bases()):
            raise Refused(f"the edit {name} is for {', '.join(only)}, which is no base")
        if not only or base in only:
            found.append(name)
    return sorted(found, key=place)


def edited_files(name):
    """Paths of the base files that one edit changes."""
    text = read(os.path.join(TOP, EDITS, name)).decode()
    return sorted(set(re.findall(r"^\+\+\+ b/(\S+)", text, re.M)))


class Tree:
    """Contents of every file in which the patched tree differs from its base.

    what: which parts to take, a function of the part's name; by default all.
    Parts are the overlay's paths, the names of the edits, "strip:arch/Kconfig",
    "strip:MAINTAINERS", and "strip:" with the path of a file that goes.
    """

    def __init__(self, base, what=lambda part: True):
        self.base = base
        self.version = base_version(base)
        self.files = {}
        for part in self.parts():
            if what(part):
                self.take(part)

    @staticmethod
    def parts(base=BASE):
        """All parts for a base, in the order in which they have to be taken."""
        files = overlay()
        return ["strip:arch/Kconfig", "strip:MAINTAINERS",
                *(f"strip:{old}" for old in STRIPPED_FILES), *files, *edits(base)]

    def current(self, path):
        """The file as it is with the parts taken so far, None if there is none."""
        if path not in self.files:
            full = os.path.join(self.base, path)
            return read(full) if os.path.isfile(full) else None
        return self.files[path]

    def take(self, part):
        if part == "strip:arch/Kconfig":
            text = self.current("arch/Kconfig").decode()
            self.files["arch/Kconfig"] = strip_kconfig(text).encode()
        elif part == "strip:MAINTAINERS":
            text = self.current("MAINTAINERS").decode()
            ours = read(os.path.join(TOP, "MAINTAINERS")).decode()
            self.files["MAINTAINERS"] = splice_maintainers(text, ours).encode()
        elif part.startswith("strip:"):
            self.files[part.removeprefix("strip:")] = None
        elif part.endswith(".patch"):
            self.apply(part)
        else:
            self.files[moved(part)] = read(os.path.join(TOP, part))

    def apply(self, name):
        """Apply one edit exactly: with offsets, but without fuzz."""
        paths = edited_files(name)
        with tempfile.TemporaryDirectory() as tmp:
            for path in paths:
                data = self.current(path)
                if data is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(tmp, path)), exist_ok=True)
                with open(os.path.join(tmp, path), "wb") as f:
                    f.write(data)
            # git apply, not patch(1): git is installed before any set-up. The
            # ceiling keeps it from using a repository in a parent directory.
            # Edits are written by hand, so their line counts are recounted.
            r = subprocess.run(
                ["git", "apply", "--recount", "--whitespace=nowarn",
                 os.path.join(TOP, EDITS, name)], cwd=tmp,
                env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(tmp),
                     "LC_ALL": "C"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if r.returncode:
                why = r.stdout.decode(errors="replace").strip().split("\n")[0]
                raise Refused(f"the edit {name} does not apply on Linux "
                              f"{self.version}: {why}")
            for path in paths:
                full = os.path.join(tmp, path)
                self.files[path] = read(full) if os.path.exists(full) else None


# Written into the tree: which files were put there, so that those that have left
# the overlay can be removed.
STATE = ".kprobes-tree"


def load_state(folder):
    """The state of the folder; None if it has not been made yet."""
    try:
        return json.loads(read(os.path.join(folder, STATE)))
    except FileNotFoundError:
        if os.path.isdir(folder) and os.listdir(folder):
            raise Refused(f"{folder} is not empty and was not made by scripts/build/tree")
        return None
    except ValueError:
        return {"base": None, "files": []}


def save_state(folder, base, files):
    path = os.path.join(folder, STATE)
    with open(path + ".new", "w") as f:
        json.dump({"base": base, "files": sorted(files)}, f, indent=0)
    os.replace(path + ".new", path)


def copy_base(base, folder, fresh):
    """Bring the folder to the state of the base."""
    os.makedirs(folder, exist_ok=True)
    if fresh:
        # A first copy keeps the old times. Later, no file may get a time older
        # than that of objects built from its former contents.
        how = ["-a"]
    else:
        how = ["-rlpc", "--delete"]
    subprocess.run(["rsync", *how, "--exclude=/.git", "--exclude=/" + STATE,
                    base + "/", folder + "/"], check=True)


def put(folder, path, data, mode):
    """Write one file unless it is so already; True if something changed."""
    full = os.path.join(folder, path)
    if data is None:
        if not os.path.lexists(full):
            return False
        os.unlink(full)
        parent = os.path.dirname(full)
        while parent != folder and not os.listdir(parent):
            os.rmdir(parent)
            parent = os.path.dirname(parent)
        return True
    if os.path.isfile(full) and not os.path.islink(full) and read(full) == data:
        return False
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full + ".new", "wb") as f:
        f.write(data)
    os.chmod(full + ".new", mode)
    os.replace(full + ".new", full)
    return True


def write_tree(tree, folder):
    """Make the folder hold the tree; returns how many files were changed."""
    state = load_state(folder)
    try:
        base_id = read(tree.base + ".id").decode().strip()
    except FileNotFoundError:
        st = os.stat(os.path.join(tree.base, "Makefile"))
        base_id = f"{tree.base} {tree.version} {st.st_mtime_ns}"

    if state is None or state["base"] != base_id:
        os.makedirs(folder, exist_ok=True)
        known = set(state["files"]) if state else set()
        save_state(folder, None, known | set(tree.files))
        copy_base(tree.base, folder, state is None)
    gone = (set(state["files"]) if state else set()) - set(tree.files)
    # Recorded before the files are written, so that the run after an interrupted
    # one still knows what to remove.
    save_state(folder, base_id, gone | set(tree.files))

    changed = 0
    for path in sorted(gone | set(tree.files)):
        full = os.path.join(tree.base, path)
        if path in gone:
            data = read(full) if os.path.isfile(full) else None
        else:
            data = tree.files[path]
        mode = os.stat(full).st_mode & 0o777 if os.path.isfile(full) else 0o644
        changed += put(folder, path, data, mode)
    save_state(folder, base_id, tree.files)
    return changed
