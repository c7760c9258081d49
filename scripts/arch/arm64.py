# SPDX-License-Identifier: GPL-2.0-only
"""What scripts have to know about arm64; see README."""
import re
import subprocess


class Hitpath:
    ROOTS = ["el1_brk64", "kprobe_brk_handler", "kprobe_ss_brk_handler",
             "kretprobe_native_entry", "kretprobe_native_handler", "__kretprobe_trampoline",
             "kprobe_detour_far", "kretprobe_detour_far",
             # Called by the unwinder, and as a task dies.
             "kprobe_unwind_pc", "kprobe_leave_slot",
             # Called through a pointer to emulate an instruction.
             *("probe_simulate_" + insn for insn in (
                 "adr", "b", "b_cond", "bl", "blr", "br", "cbz", "ldr_lit", "mov",
                 "mrs_daif", "mrs_pmr", "msr_daif", "msr_daif_imm", "nop", "ret",
                 "tbz"))]
    EXCUSED = {
        "jprobe_pre_handler > __memset": "inside the hit of a jprobe",
        # Only in debug kernels.
        "return_address": "not called again for a breakpoint inside of it",
        "trace_irq_enable": "not called again for a breakpoint inside of it",
        "kprobe_fault_handler > trace_hardirqs_on": "the step has been abandoned",
        "kprobe_leave_slot > trace_hardirqs_on": "the step has been abandoned, and the task dies",
    }
    INDIRECT = {"kprobe_brk_handler", "kprobe_hit_nested", "kprobe_ss_brk_handler",
                "kretprobe_native_handler",
                # Tracepoints, which are not hit again for a breakpoint inside of them.
                "trace_hardirqs_off"}
    AREAS = []
    BRANCH = (r"\t(?:(blr\w*|br(?:a[ab]z?)?)\t|"
              r"(?:bl?|bc?\.\w+|cbn?z|tbn?z)\t(?:[^<]*, )?[0-9a-f]+ <([^+>]+))")
    THUNK = r"^\b$"
    RETURNS = []
    LISTS = ["copied", "cuts", "not_followed", "fragile_path", "guest_roots", "roots"]
    ONLY = {"6.12": {"kvm_hyp_handle_cntpct"},
            "7.3": {"do_el1_gcs", "do_el1_mops", "kvm_hyp_handle_impdef"}}
    # It sets the vectors, and only then calls C.
    WAKING = ["__secondary_switched"]
    READY = r"\tmsr\tvbar_el1"


class Text:
    IMAGE = "Image"
    SETUP = "test"
    # Data between functions.
    PADDING = {".word", ".inst", "udf"}
    MOVED = set()


class Coverage:
    LEAST = 97
    DEADLY = False
    # A breakpoint affects one instruction.
    APART = 1
    # What a CPU runs on its way up, down and out of sleep: before it has its vectors, stack
    # or RCU, and what calls the firmware, which may use x18. The base traces its breakpoint
    # handlers, so a hit in ftrace_caller causes the next one.
    WRONG = (r"__arm_smccc_(?:hvc|smc)$|__cpu_try_die$|__efi_rt_asm_\w+$|"
             r"__invoke_psci_fn_\w+$|\w*psci_\w*cpu_off$|__secondary_(?:switched|too_slow)$|"
             r"_cpu_resume$|cpu_die(?:_early)?$|cpu_do_resume$|cpu_psci_cpu_die$|"
             r"finalise_el2$|ftrace_caller$|"
             r"init_gic_priority_masking$|"
             r"secondary_start_kernel$|set_cpu_boot_mode_flag$|idle_task_exit$|"
             r"cpuhp_ap_report_dead$|rcutree_report_cpu_|rcu_is_watching$|sched_clock$|"
             r"trace_(?:clock_local|(?:hwlat|osnoise)_callback)$")
    # Registers that the breakpoint itself has changed, and a load of a vector register from
    # an address relative to the instruction.
    WRONG_TEXT = re.compile(r"\tmrs\tx\d+, (?:spsr|elr|esr|far)_el1$|"
                            r"\tldr\t[bhsdq]\d+, [0-9a-f]+ <")

    @classmethod
    def harmful(cls, vmlinux, module):
        """Addresses of such instructions, and of the data that ftrace owns before a function."""
        return cls.harmful_in(vmlinux) | cls.harmful_in(module)

    @classmethod
    def harmful_in(cls, path):
        found, last = set(), []
        with subprocess.Popen(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", "-j",
                               ".text", path], stdout=subprocess.PIPE, text=True,
                              errors="replace") as p:
            for l in p.stdout:
                m = re.match(r"([0-9a-f]+) <.*>:$", l)
                if m:
                    start = int(m.group(1), 16)
                    # Until it is booted, there are two instructions that do nothing.
                    if last[-2:] == [(start - 8, "nop"), (start - 4, "nop")]:
                        found |= {start - 8, start - 4}
                    continue
                m = re.match(r" *([0-9a-f]+):\t(\S+)", l)
                if m:
                    last = last[-1:] + [(int(m.group(1), 16), m.group(2))]
                    if cls.WRONG_TEXT.search(l.rstrip()):
                        found.add(last[-1][0])
        return found
