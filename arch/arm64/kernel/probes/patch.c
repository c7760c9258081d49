// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing text for probes on arm64. All text writes of the backend go through this file.
 *
 * While other CPUs may execute an instruction, the architecture permits its replacement only if
 * both the old and the new one are among B, BL, BRK, HVC, ISB, NOP, SMC and SVC ("Concurrent
 * modification and execution of instructions", Arm ARM, section B2). Each CPU then executes
 * either of them. To be sure that it executes the new one, it has to synchronize its context
 * after the caches have been maintained: by an exception, or by answering kick_all_cpus_sync().
 * Any other instruction is replaced only while all CPUs are stopped. stop_machine() does not stop
 * pseudo-NMIs, though: what they execute is at risk, as it is with any other user of
 * aarch64_insn_patch_text().
 */

#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/smp.h>
#include <linux/text-patching.h>

#include <asm/barrier.h>
#include <asm/insn.h>

#include "common.h"

/* May the instruction be replaced while CPUs execute it, or replace such a one? */
bool kprobe_insn_is_live(u32 insn)
{
	return aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn) ||
	       aarch64_insn_is_brk(insn) || aarch64_insn_is_hvc(insn) ||
	       aarch64_insn_is_isb(insn) || insn == aarch64_insn_gen_nop() ||
	       aarch64_insn_is_smc(insn) || aarch64_insn_is_svc(insn);
}

/*
 * Check that text is what it is believed to be, or return -EAGAIN. Kgdb, for one, writes
 * breakpoints without text_mutex.
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

/*
 * Replace an instruction while CPUs may execute it. They may execute the old one until
 * kprobe_sync_cpus(). -EAGAIN if something else is there, which remains. A caller that gets
 * -EINVAL has a bug.
 */
int kprobe_patch_live(void *addr, u32 old, u32 new)
{
	if (!kprobe_insn_is_live(old) || !kprobe_insn_is_live(new))
		return -EINVAL;

	return kprobe_expect_insn(addr, old) ?: aarch64_insn_patch_text_nosync(addr, new);
}

/*
 * Replace instructions while all CPUs are stopped. On return, all execute the new ones. Text that
 * is mapped can always be written, so a failure is a bug.
 */
void kprobe_patch_stopped(void **addrs, u32 *insns, unsigned int nr)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	if (nr)
		WARN_ON_ONCE(aarch64_insn_patch_text(addrs, insns, nr));
}

/*
 * Fill a slot that no CPU executes. A CPU may still have the former contents in its pipeline. A
 * breakpoint that leads to the slot discards them; a branch to the slot is written only after
 * kprobe_sync_cpus().
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

/* Data beside the instructions of a slot, aligned to its size. */
int kprobe_write_literal(void *at, u64 value)
{
	lockdep_assert_held(&text_mutex);

	return aarch64_insn_write_literal_u64(at, value);
}

/*
 * Wait until all CPUs execute what has been written. Each has then left the breakpoints and steps
 * that it was in, too, because these are handled with interrupts masked. Interrupts are on here.
 */
void kprobe_sync_cpus(void)
{
	/* The ISB has to be on the CPU that is not kicked. */
	preempt_disable();
	kick_all_cpus_sync();
	isb();
	preempt_enable();
}
