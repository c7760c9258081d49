# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about arm64; see README."""


class Hitpath:
    # These are the backend of the base.
    ROOTS = ["kprobe_brk_handler", "kprobe_ss_brk_handler", "kretprobe_brk_handler",
             "__kretprobe_trampoline"]
    EXCUSED = {}
    INDIRECT = set()
    AREAS = ["entry_text", "irqentry_text", "idmap_text", "hyp_text", "hyp_idmap_text"]
    BRANCH = (r"\t(?:(blr\w*|br(?:a[ab]z?)?)\t|"
              r"(?:bl?|bc?\.\w+|cbn?z|tbn?z)\t(?:[^<]*, )?[0-9a-f]+ <([^+>]+))")
    THUNK = r"^\b$"
    RETURNS = []
    LISTS = []
    WAKING = []
    WAKING_EXCUSED = {}
    READY = r"^\b$"


class Text:
    IMAGE = "Image"
    SETUP = "test"
    # Data between functions.
    PADDING = {".word", ".inst", "udf"}
    MOVED = set()


class Coverage:
    # There are no jumps and no ftrace sites.
    LEAST = 0
    # A breakpoint affects one instruction.
    APART = 1
    # Nothing is known that only the base accepts.
    WRONG = r"^\b$"

    @staticmethod
    def harmful(vmlinux):
        return set()


class Defects:
    HEADER = "arch-arm64.h"
    # These need ftrace sites or jumps.
    NOT_SEEN = {"mixed_post", "again", "failed_post", "waits"}
    # Those of the backend come with a backend of ours.
    DEFECTS = []
