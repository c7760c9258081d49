# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about powerpc, of 64 bits, and for hitpath also of 32; see README."""
import re
import struct
import subprocess

from lib import disassembly


class Hitpath:
    ROOTS = ["program_check_exception", "single_step_exception",
             "interrupt_exit_kernel_prepare", "kprobe_handler", "kprobe_post_handler",
             "kprobe_bad_page_fault", "kretprobe_native_entry", "kretprobe_native_handler"]
    ROOTS_64 = ["interrupt_exit_kernel_restart"]
    EXCUSED = {
        "do_program_check > emulate_instruction": "the trap is not that of a probe",
        "do_program_check > flush_fp_to_thread": "the trap is not that of a probe",
        "do_program_check > notify_die": "the trap is not that of a probe",
        "__single_step_exception > notify_die": "the trap is not that of a probe",
        "do_program_check > report_bug": "the trap is not that of a probe",
        "do_program_check > __perf_sw_event": "the trap is not that of a probe",
        "do_program_check > _exception": "the kernel is about to stop",
        "__single_step_exception > _exception": "the kernel is about to stop",
        "check_return_regs_valid > show_regs": "something is broken",
        "fast_guest_return > hrfi_flush_fallback": "it is next to the vectors",
        "kvmhv_load_guest_pmu > kvmppc_fix_pmao": "the call is not there on other processors",
        "__setup_cpu_603 > setup_g2_le_hid2": "the call is not there on other processors",
        "arch_local_irq_restore > __replay_soft_interrupts": "interrupts were enabled before",
        "arch_local_irq_restore > irq_enter": "interrupts were enabled before",
        "arch_local_irq_restore > irq_exit": "interrupts were enabled before",
        "kprobe_optinsn_owner > execmem_free": "a default that is not used follows it in the text",
        "is_kprobe_insn_slot > execmem_alloc": "a default that is not used follows it in the text",
        # The generic exit from exceptions, which also returns to user space.
        **{f"irqentry_exit > {callee}": "the hit was not in user space" for callee in (
            "__rseq_handle_slowpath", "__rseq_trace_update", "arch_do_signal_or_restart",
            "klp_update_patch_state", "restore_math", "rseq_debug_update_user_cs",
            "rseq_trace_ip_fixup", "schedule", "task_work_run", "uprobe_notify_resume")},
        "irqentry_exit > show_regs": "something is broken",
        "jprobe_pre_handler > memset": "inside the hit of a jprobe",
        "llist_add_batch": "between kprobe_busy_begin() and _end()",
        "kretprobe_enter_slow > cpumask_next_wrap": "inside the hit of a return probe",
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
                "do_program_check", "__single_step_exception",
                # Not a pointer, but a table of addresses in themselves.
                "analyse_instr", "emulate_step", "emulate_loadstore", "emulate_update_regs",
                # Tracepoints, which are not hit again for a breakpoint inside of them.
                "trace_irq_disable_rcuidle", "trace_irq_enable_rcuidle",
                # The handler of a jprobe.
                "kprobe_jprobe_call"}
    BRANCH = (r"\t(?:(b\w*ctrl?|b\w*lrl)\s*$|"
              r"b\w*[+-]?\s+(?:[^<]*,)?[0-9a-f]+ <([^+>]+))")
    THUNK = r"^\b$"
    RETURNS = []
    LISTS = ["copied", "cuts", "not_followed", "fragile_path", "roots"]
    ONLY = {
        "6.12": {"cbe_power_save", "interrupt_exit_user_prepare_main"},
        "7.3": {"__rseq_handle_slowpath", "__rseq_trace_update", "rseq_debug_update_user_cs",
                "rseq_trace_ip_fixup",
                "__restore_cpu_power12", "init_pmu_power12",
                "ftrace_ool_stub_inittext", "ftrace_ool_stub_text", "ftrace_ool_stub_text_end"},
    }
    # The first of these that exists ends the vectors, which are not in the file.
    AREA_ENDS = ["__end_soft_masked", "__head_end"]
    WAKING = []
    READY = r"^\b$"


class Text:
    IMAGE = "vmlinux"
    SETUP = "test"
    # Data between functions.
    PADDING = {".long"}
    MOVED = set()


class Coverage:
    LEAST = 97
    DEADLY = True
    # A jump replaces one instruction, but those with a prefix have two words.
    APART = 2
    # What the base accepts although a hit there does harm: what handles traps and returns from
    # them; CPUs on their way up, down and to sleep; what replaces the segments of stacks; code
    # that is rewritten when mitigations are switched, or static calls are updated; code that kexec
    # copies; and what return probes call on a hit, where they have an objpool.
    WRONG = (r"do_program_check$|__single_step_exception$|unrecoverable_exception$|"
             r"check_return_regs_valid$|\w*interrupt_exit_\w+$|interrupt_return\w*$|"
             r"syscall_exit_\w+$|ret_from_syscall$|arch_local_irq_restore$|do_(?:lq|stq)$|"
             r"alloc_slb_index$|get_slice_psize$|pin_stack_slb$|preload_add(?:\.isra\.\d+)?$|"
             r"slb_\w+$|switch_slb$|"
             r"kprobe_busy_(?:begin|end)$|__SCT__\w+$|"
             r"(?:__machine_check_early|pseries_machine_check)_realmode\w*$|__opal_call$|"
             r"(?:arch_)?interrupt_(?:nmi_|async_)?(?:enter|exit)_prepare$|copy_mc_generic$|"
             r"do_uaccess_flush$|flush_branch_caches$|load_up_vsx$|tm_reclaim$|__tm_recheckpoint$|"
             r"\w*_idle(?:_\w+)?$|check_and_cede_processor$|\w+_cede_loop$|prep_irq_for_idle$|"
             r"plpar_hcall_norets_notrace$|"
             r"__mmu_off$|__(?:setup|restore)_cpu_\w+$|__secondary_start\w*$|"
             r"early_setup_secondary$|enable_64b_mode$|"
             r"generic_secondary_\w+$|relative_toc$|smp_callin$|start_secondary\w*$|"
             r"\w*offline(?:_self)?$|idle_task_exit$|cpuhp_ap_\w+$|rcutree_report_cpu_|"
             r"copy_and_flush$|default_machine_kexec$|kexec_\w+$|real_mode$|relocate_new_kernel$|"
             r"(?:__)?kgdb_\w+$|at_breakpoint$|in_breakpoint_table$|xmon_bpt$|ftrace_\w*call\w*$|"
             r"rcu_is_watching$|sched_clock$|"
             r"trace_(?:clock_local|(?:hwlat|osnoise)_callback)$")
    # Text that mitigations rewrite: section of the table, number of words.
    PATCHED = {
        "__stf_entry_barrier_fixup": 3, "__stf_exit_barrier_fixup": 6,
        "__uaccess_flush_fixup": 4, "__entry_flush_fixup": 3, "__scv_entry_flush_fixup": 3,
        "__rfi_flush_fixup": 3, "__spec_barrier_fixup": 1,
    }
    # An atomic sequence, in which a hit makes each attempt fail; what cannot be executed under a
    # breakpoint, since that changes SRR0 and SRR1 and does not restore r13; what moves r1, which
    # the detours of the base use afterwards; calls, which in these detours return to a random
    # address if the hit is nested; and what waits for an interrupt.
    RESERVE = re.compile(r"l[bhwdq]arx$")
    CONDITIONAL = re.compile(r"st[bhwdq]cx\.$")
    WRONG_TEXT = re.compile(r"\tm[tf]srr[01] |\t(?:mr|l\w+|mf\w+|add\w*) +r13,|\tbctar|\trfebb|"
                            r"\t(?:mr|ld|lwz|add\w*|subf\w*) +r1,|\tbl |\t(?:wait|pause_short)\b")
    # Interrupts are disabled in MSR[EE], which is recorded soon; an exception in between would
    # enable them again.
    DISABLE = re.compile(r"\tmtmsrd +r\d+,1\b")
    RECORD = re.compile(r"\tstb +r\d+,\d+\(r13\)")
    # Words of the two kinds of sequences, at most.
    LONGEST = 32
    LONGEST_DISABLING = 12

    @classmethod
    def harmful(cls, vmlinux, module):
        """Addresses of such text, and of what returns from exceptions, at the start of vmlinux."""
        found = cls.harmful_in(vmlinux) | cls.harmful_in(module)
        for section, words in cls.PATCHED.items():
            found |= {a + 4 * i for a in cls.patched(vmlinux, section) for i in range(words)}
        symbols = (l.split() for l in cls.output("nm", vmlinux).splitlines())
        ends = {s[-1]: int(s[0], 16) for s in symbols if s[-1] in ("_stext", "__end_soft_masked")}
        return found | set(range(ends["_stext"], ends.get("__end_soft_masked", 0), 4))

    @classmethod
    def harmful_in(cls, path):
        found, since, disabled = set(), None, None
        for _, start, addr, insn in disassembly(cls.tools, path, "-j", ".text"):
            mnemonic = insn.split()[0]
            if addr == start:
                since = disabled = None
            if cls.WRONG_TEXT.search(insn):
                found.add(addr)
            if cls.RESERVE.match(mnemonic):
                since = addr
            if since is not None and addr - since <= 4 * cls.LONGEST:
                found.add(addr)
            if cls.CONDITIONAL.match(mnemonic):
                found.add(addr)
                since = None
            if disabled is not None and addr - disabled <= 4 * cls.LONGEST_DISABLING:
                found.add(addr)
            if cls.RECORD.search(insn):
                disabled = None
            if cls.DISABLE.search(insn):
                disabled = addr
        return found

    @classmethod
    def patched(cls, vmlinux, section):
        """The addresses in a table: each entry has the distance from itself."""
        m = re.search(rf" {section} +(\w+) +(\w+) ", cls.output("objdump", "-h", vmlinux))
        if not m:
            return []
        start = int(m.group(2), 16)
        text = cls.output("objcopy", "-O", "binary", f"--only-section={section}", vmlinux,
                          "/dev/stdout", text=False)
        order = "<" if "little" in cls.output("readelf", "-h", vmlinux) else ">"
        return [start + 8 * i + distance for i, (distance,) in
                enumerate(struct.iter_unpack(f"{order}q", text))]

    @classmethod
    def output(cls, tool, *args, text=True):
        return subprocess.run([cls.tools + tool, *args], check=True, stdout=subprocess.PIPE,
                              text=text, errors="replace" if text else None).stdout
