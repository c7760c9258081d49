# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about x86; see README."""
import os
import re
import struct
import subprocess

from kerneltree import OUT


class Hitpath:
    ROOTS = ["irqentry_nmi_enter", "irqentry_nmi_exit", "kprobe_int3_handler",
             "kretprobe_native_entry", "kretprobe_native_handler", "__kretprobe_trampoline"]
    EXCUSED = {"_einittext": "static_cpu_has(), until alternatives are applied"}
    INDIRECT = {"kprobe_int3_handler", "kprobe_int3_of_step", "kretprobe_native_handler"}
    BRANCH = (r"\t(?:\w+ )*(?:call|jmp|j[a-z]+) +"
              r"(?:(\*)|[0-9a-f]+ <([^+>]+)(?:\+0x)?)")
    THUNK = "indirect_thunk"
    # At boot, each jump to the first is replaced by one to another of them.
    RETURNS = ["__x86_return_thunk", "call_depth_return_thunk", "its_return_thunk",
               "retbleed_return_thunk", "srso_return_thunk", "srso_alias_return_thunk"]
    LISTS = ["copied", "cuts", "not_followed", "return_thunks", "roots"]
    WAKING = ["early_setup_idt", "start_secondary", "restore_processor_state"]
    READY = r"\tlidt"


class Text:
    IMAGE = "bzImage"
    SETUP = "run"
    # Breakpoints are padding.
    PADDING = {"int3", "(bad)"}
    # A probe on a landing pad moves to the instruction after it.
    MOVED = {"endbr64", "endbr32"}


class Coverage:
    LEAST = 90
    DEADLY = False
    # A jump affects up to 18 bytes.
    APART = 20
    # What the breakpoint exception itself calls or returns through; ftrace's entries, which
    # are copied; trampolines of static calls, whose text is verified before it is
    # rewritten; code of CPUs that are going offline or have no exception handling yet;
    # code that kexec copies elsewhere; and loads whose fixup parses the text.
    WRONG = (r"__SCT__|\w*play_dead|\w*enter_dead|cpuidle_get_cpu_driver$|idle_task_exit$|cpuhp_ap_report_dead$|cpu_init$|"
             r"cpu_init_exception_handling$|cpuhp_ap_sync_alive$|cr4_init$|early_setup_idt$|"
             r"fpu__init_cpu|load_current_idt$|load_direct_gdt$|load_ucode_ap$|"
             r"secondary_startup_64|sev_verify_cbit$|start_secondary$|soft_restart_cpu$|"
             r"startup_32_smp$|common_startup_64$|verify_cpu$|\w*restore_processor_state$|"
             r"do_suspend_lowlevel$|wakeup_|restore_(image|registers)$|core_restore_code$|"
             r"(?:__restore_processor_state|native_(?:read_msr|write_(?:msr|cr[034]|gdt_entry)|"
             r"load_(?:gdt|idt|tr_desc))|cr4_update_irqsoff|do_trace_(?:read|write)_msr)$|"
             r"(?:__)?kgdb_(?:ll_trap|notify|handle_exception|has_hit_break)$|"
             r"rcu_is_watching$|sched_clock$|trace_(?:clock_local|(?:hwlat|osnoise)_callback)$|"
             r"ftrace_(?:regs_)?caller|\w*_return_thunk$|\w*(?:un)?train_ret$|"
             r"srso_\w*safe_ret$|"
             r"rcutree_report_cpu_|relocate_(kernel|range)$|identity_mapped$|virtual_mapped$|"
             r"swap_pages$")
    WRONG_FIXUPS = ("ZEROPAD", "WRMSR_IN_MCE", "RDMSR_IN_MCE", "DEFAULT_MCE_SAFE",
                    "FAULT_MCE_SAFE", "ERETU")

    @classmethod
    def harmful(cls, vmlinux, module):
        """Addresses of instructions with one of WRONG_FIXUPS, or that write CR0 or CR3."""
        header = os.path.join(OUT, "base/arch/x86/include/asm/extable_fixup_types.h")
        with open(header) as f:
            types = dict(re.findall(r"#define\s+EX_TYPE_(\w+)\s+(\d+)", f.read()))
        wrong = {int(types[t]) for t in cls.WRONG_FIXUPS}

        def output(*cmd):
            return subprocess.run(cmd, check=True, stdout=subprocess.PIPE).stdout
        m = re.search(rb"__ex_table +\S+ +(\S+)", output("objdump", "-h", vmlinux))
        start = int(m.group(1), 16)
        table = output("objcopy", "-O", "binary", "--only-section=__ex_table", vmlinux,
                       "/dev/stdout")
        control = re.findall(rb"^\s*(\w+):.*mov +%\w+,%cr[03]$",
                             output("objdump", "-d", "--no-show-raw-insn", vmlinux), re.M)
        return {int(a, 16) for a in control} | {
            start + 12 * i + insn for i, (insn, _, data)
            in enumerate(struct.iter_unpack("<iii", table)) if data & 0xff in wrong}
