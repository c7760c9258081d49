# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about powerpc, of 64 bits; see README."""


class Hitpath:
    # These are the backend of the base.
    ROOTS = ["kprobe_handler", "kprobe_post_handler", "optimized_callback",
             "arch_rethook_trampoline", "arch_rethook_trampoline_callback"]
    EXCUSED = {}
    INDIRECT = set()
    AREAS = []
    BRANCH = (r"\t(?:(b\w*ctrl?|b\w*lrl)\s*$|"
              r"b\w*[+-]?\s+(?:[^<]*,)?[0-9a-f]+ <([^+>]+))")
    THUNK = r"^\b$"
    RETURNS = []
    LISTS = []
    WAKING = []
    WAKING_EXCUSED = {}
    READY = r"^\b$"


class Text:
    IMAGE = "vmlinux"
    SETUP = "test"
    # Data between functions.
    PADDING = {".long"}
    MOVED = set()


class Coverage:
    # The backend of the base gives a jump to few instructions outside of its own test.
    LEAST = 0
    # A jump replaces one instruction, but those with a prefix have two words.
    APART = 2
    # Nothing is known that only the base accepts.
    WRONG = r"^\b$"

    @staticmethod
    def harmful(vmlinux, module):
        return set()
