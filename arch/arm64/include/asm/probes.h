/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the decoder of probed instructions hands to kprobes and uprobes. It is needed
 * without CONFIG_KPROBES, too: <asm/uprobes.h> embeds struct arch_probe_insn.
 */
#ifndef _ASM_ARM64_PROBES_H
#define _ASM_ARM64_PROBES_H

#include <linux/types.h>

struct pt_regs;

/* An instruction in the byte order of the CPU; in memory, it is always little-endian. */
typedef u32 probe_opcode_t;

/*
 * Applies the effect of an instruction to the registers, including the program counter.
 * See arch/arm64/kernel/probes/simulate-insn.h.
 */
typedef void (probes_handler_t)(u32 opcode, long addr, struct pt_regs *regs);

/**
 * struct arch_probe_insn - how a probed instruction is executed
 * @handler: simulates it; NULL if only a copy can be executed
 */
struct arch_probe_insn {
	probes_handler_t *handler;
};

#ifdef CONFIG_KPROBES

typedef u32 kprobe_opcode_t;

/**
 * struct arch_specific_insn - what the backend knows about the instruction of a kprobe
 * @api: how it is simulated
 * @insn: its slot; NULL if it is only ever simulated
 * @form: enum probe_form
 * @boost: the first copy in the slot branches back
 * @computes: the second copy is a function of registers
 */
struct arch_specific_insn {
	struct arch_probe_insn	api;
	kprobe_opcode_t		*insn;
	u8			form;
	bool			boost;
	bool			computes;
};

#endif /* CONFIG_KPROBES */

#endif /* _ASM_ARM64_PROBES_H */
