// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing text for probes on arm64. All text writes of the backend go through this file.
 *
 * While other CPUs may execute an instruction, the architecture permits its replacement only
 * if both the old and the new one are among B, BL, BRK, HVC, ISB, NOP, SMC and SVC ("Concurrent
 * modification and execution of instructions", Arm ARM, section B2). Each CPU then
 * executes either of them. To be sure that it executes the new one, it has to synchronize
 * its context after the caches have been maintained: by an exception, or by answering
 * kick_all_cpus_sync(). Any other instruction is replaced only while all CPUs are stopped.
 * stop_machine() does not stop pseudo-NMIs, though: what they execute is at risk, as it is
 * with any other user of aarch64_insn_patch_text().
 */

#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/smp.h>
#include <linux/text-patching.h>

#include <asm/barrier.h>
#include <asm/insn.h>

#include "common.h"

/**
 * kprobe_insn_is_live() - may an instruction be replaced while it is executed?
 * @insn: the instruction, or the one that is to replace it
 *
 * Context: any.
 * Return: true if it is one of the eight.
 */
bool kprobe_insn_is_live(u32 insn)
{
	return aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn) ||
	       aarch64_insn_is_brk(insn) || aarch64_insn_is_hvc(insn) ||
	       aarch64_insn_is_isb(insn) || insn == aarch64_insn_gen_nop() ||
	       aarch64_insn_is_smc(insn) || aarch64_insn_is_svc(insn);
}

/**
 * kprobe_expect_insn() - check that text is what it is believed to be
 * @addr: the address of an instruction
 * @expected: the instruction that should be there
 *
 * Kgdb, for one, writes breakpoints without text_mutex.
 *
 * Context: text_mutex held.
 * Return: 0; -EAGAIN if something else is there; another error if it cannot be read.
 */
int kprobe_expect_insn(void *addr, u32 expected)
{
	u32 insn;
	int ret;

	lockdep_assert_held(&text_mutex);

	ret = aarch64_insn_read(addr, &insn);
	if (!ret && insn != expected)
		ret = -EAGAIN;
	return ret;
}

/**
 * kprobe_patch_live() - replace an instruction while CPUs may execute it
 * @addr: its address
 * @old: what is expected there
 * @new: what replaces it
 *
 * CPUs may execute the old instruction until kprobe_sync_cpus(). A caller that gets -EINVAL
 * has a bug.
 *
 * Context: text_mutex held.
 * Return: 0; -EINVAL if the architecture does not permit it; -EAGAIN if something else
 *	   is there, which remains; another error if the text cannot be accessed.
 */
int kprobe_patch_live(void *addr, u32 old, u32 new)
{
	if (!kprobe_insn_is_live(old) || !kprobe_insn_is_live(new))
		return -EINVAL;

	return kprobe_expect_insn(addr, old) ?: aarch64_insn_patch_text_nosync(addr, new);
}

/**
 * kprobe_patch_stopped() - replace instructions while all CPUs are stopped
 * @addrs: their addresses
 * @insns: what replaces them
 * @nr: how many
 *
 * On return, all CPUs execute the new ones. Text that is mapped can always be written, so a
 * failure is a bug.
 *
 * Context: CPU hotplug read lock and text_mutex held; sleeps.
 */
void kprobe_patch_stopped(void **addrs, u32 *insns, unsigned int nr)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	if (nr)
		WARN_ON_ONCE(aarch64_insn_patch_text(addrs, insns, nr));
}

/**
 * kprobe_write_slot() - fill a slot that no CPU executes
 * @slot: the slot
 * @insns: the instructions
 * @nr: how many
 *
 * A CPU may still have the former contents of the slot in its pipeline. A breakpoint that
 * leads to the slot discards them; a branch to the slot is written only after
 * kprobe_sync_cpus().
 *
 * Context: text_mutex held.
 * Return: 0, or an error if the slot cannot be written.
 */
int kprobe_write_slot(void *slot, const u32 *insns, unsigned int nr)
{
	__le32 *word = slot;
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&text_mutex);

	for (i = 0; i < nr && !ret; i++) {
		/* New pages contain what slots have in common. */
		if (le32_to_cpu(word[i]) != insns[i])
			ret = aarch64_insn_patch_text_nosync(&word[i], insns[i]);
	}
	return ret;
}

/**
 * kprobe_write_literal() - write data beside the instructions of a slot
 * @at: where, aligned to its size
 * @value: the data
 *
 * Context: text_mutex held.
 * Return: 0, or an error if the slot cannot be written.
 */
int kprobe_write_literal(void *at, u64 value)
{
	lockdep_assert_held(&text_mutex);

	return aarch64_insn_write_literal_u64(at, value);
}

/**
 * kprobe_sync_cpus() - wait until all CPUs execute what has been written
 *
 * Each CPU has then left the breakpoints and steps that it was in, too, because these
 * are handled with interrupts masked.
 *
 * Context: process context, interrupts on.
 */
void kprobe_sync_cpus(void)
{
	/* The CPU that is not kicked has to be the one that executes the ISB. */
	preempt_disable();
	kick_all_cpus_sync();
	isb();
	preempt_enable();
}
