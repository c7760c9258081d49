/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulation of instructions by the breakpoint handler, which applies them to saved registers.
 *
 * All these functions take the instruction in the byte order of the CPU, the address that it was
 * probed at, and the registers, whose program counter need not have that address. They set the
 * program counter to that of the next instruction. Only those for loads access memory. Those for
 * PSTATE.DAIF are for the kernel only. They may be called with all exceptions masked; none of
 * them can be probed.
 */
#ifndef _ARM64_PROBES_SIMULATE_INSN_H
#define _ARM64_PROBES_SIMULATE_INSN_H

#include <asm/probes.h>

probes_handler_t probe_simulate_b;
probes_handler_t probe_simulate_bl;
probes_handler_t probe_simulate_b_cond;
probes_handler_t probe_simulate_cbz;
probes_handler_t probe_simulate_tbz;
probes_handler_t probe_simulate_br;
probes_handler_t probe_simulate_blr;
probes_handler_t probe_simulate_ret;
probes_handler_t probe_simulate_adr;
probes_handler_t probe_simulate_ldr_lit;
probes_handler_t probe_simulate_mov;
probes_handler_t probe_simulate_mrs_daif;
probes_handler_t probe_simulate_mrs_pmr;
probes_handler_t probe_simulate_msr_daif;
probes_handler_t probe_simulate_msr_daif_imm;
probes_handler_t probe_simulate_nop;

#endif /* _ARM64_PROBES_SIMULATE_INSN_H */
