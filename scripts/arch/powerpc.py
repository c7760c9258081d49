# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about powerpc, of 64 bits; see README."""


class Hitpath:
    ROOTS = ["program_check_exception", "single_step_exception",
             "interrupt_exit_kernel_prepare", "interrupt_exit_kernel_restart",
             "kprobe_handler", "kprobe_post_handler", "kprobe_bad_page_fault",
             "kretprobe_native_entry", "kretprobe_native_handler"]
    EXCUSED = {
        "do_program_check > emulate_instruction": "the trap is not that of a probe",
        "do_program_check > flush_fp_to_thread": "the trap is not that of a probe",
        "do_program_check > report_bug": "the trap is not that of a probe",
        "do_program_check > _exception": "the kernel is about to stop",
        "__single_step_exception > _exception": "the kernel is about to stop",
        "check_return_regs_valid > show_regs": "something is broken",
        "arch_local_irq_restore > __replay_soft_interrupts": "interrupts were enabled before",
        "arch_local_irq_restore > irq_enter": "interrupts were enabled before",
        "arch_local_irq_restore > irq_exit": "interrupts were enabled before",
        "kprobe_optinsn_owner > execmem_free": "a default that is not used follows it in the text",
        "unrecoverable_exception": "the kernel is about to stop",
        "replay_soft_interrupts": "not called for a trap inside of it, where interrupts are off",
        "search_exception_tables": "the fault of a hit is inside the hit",
        "_mcount": "those who may be traced are called for faults only",
        "jprobe_pre_handler > memset": "inside the hit of a jprobe",
        # Such instructions are not emulated.
        **{f"{caller} > {callee}": "not for a probed instruction" for caller, callee in (
            ("do_fp_load", "put_fpr"), ("do_fp_store", "get_fpr"),
            ("do_fp_load", "conv_sp_to_dp"), ("do_fp_store", "conv_dp_to_sp"),
            ("emulate_loadstore", "conv_dp_to_sp"), ("emulate_loadstore", "conv_sp_to_dp"),
            ("emulate_loadstore", "do_lqarx"), ("emulate_loadstore", "do_stqcx"),
            ("emulate_loadstore", "get_vr"), ("emulate_loadstore", "put_vr"),
            ("emulate_loadstore", "load_vsrn"), ("emulate_loadstore", "store_vsrn"),
            ("emulate_loadstore", "memcpy"))},
    }
    INDIRECT = {"kprobe_handler", "kprobe_post_handler", "kretprobe_native_handler",
                # The debugger, which comes first; its functions are listed.
                "do_program_check", "__single_step_exception", "notifier_call_chain",
                # Not a pointer, but a table of addresses in themselves.
                "analyse_instr", "emulate_step", "emulate_loadstore", "emulate_update_regs",
                # The handler of a jprobe.
                "kprobe_jprobe_call"}
    AREAS = []
    BRANCH = (r"\t(?:(b\w*ctrl?|b\w*lrl)\s*$|"
              r"b\w*[+-]?\s+(?:[^<]*,)?[0-9a-f]+ <([^+>]+))")
    THUNK = r"^\b$"
    RETURNS = []
    LISTS = ["offline_path", "hit_path", "fragile_path"]
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
