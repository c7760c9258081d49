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

#include <kunit/static_stub.h>
#include <linux/cacheflush.h>
#include <linux/cpu.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/set_memory.h>
#include <linux/smp.h>
#include <linux/text-patching.h>

#include <asm/barrier.h>
#include <asm/insn.h>

#include "decode-insn.h"

/* May the instruction be replaced while CPUs execute it, or replace such a one? */
bool kprobe_insn_is_live(u32 insn)
{
	return aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn) ||
	       aarch64_insn_is_brk(insn) || aarch64_insn_is_hvc(insn) ||
	       aarch64_insn_is_isb(insn) || insn == aarch64_insn_gen_nop() ||
	       aarch64_insn_is_smc(insn) || aarch64_insn_is_svc(insn);
}

/*
 * Returns -EAGAIN if text is not what it is believed to be. Kgdb, for one, writes breakpoints
 * without text_mutex.
 */
static int expect_insn(void *addr, u32 expected)
{
	u32 insn;
	int ret;

	lockdep_assert_held(&text_mutex);

	ret = aarch64_insn_read(addr, &insn);
	if (!ret && insn != expected)
		ret = -EAGAIN;
	return ret;
}

/* Returns -EINVAL if the architecture does not permit it; see kprobe_insn_is_live(). */
int arch_replace_word(void *addr, u32 old, u32 new)
{
	if (!kprobe_insn_is_live(old) || !kprobe_insn_is_live(new))
		return -EINVAL;

	return expect_insn(addr, old) ?: aarch64_insn_patch_text_nosync(addr, new);
}

/*
 * Arming. On return, all CPUs execute what has been written. Text that is mapped can always be
 * written, so a failure is a bug.
 */

static struct {
	void		*addr[KPROBE_PATCH_CHUNK];
	u32		insn[KPROBE_PATCH_CHUNK];
	unsigned int	nr;
} stopped;	/* protected by text_mutex */

static void patch_stopped(void)
{
	lockdep_assert_held(&text_mutex);

	WARN_ON_ONCE(aarch64_insn_patch_text(stopped.addr, stopped.insn, stopped.nr));
	stopped.nr = 0;
}

static void patch_later(struct kprobe *p, u32 insn)
{
	stopped.addr[stopped.nr] = p->addr;
	stopped.insn[stopped.nr] = insn;
	if (++stopped.nr == KPROBE_PATCH_CHUNK)
		patch_stopped();
}

/* Stop all CPUs only for instructions that cannot be replaced while CPUs execute them. */
void arch_arm_kprobes(struct list_head *kps, bool arm)
{
	struct kprobe *p;
	bool live = false;
	u32 old, new;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry(p, kps, list) {
		old = arm ? p->opcode : KPROBE_BREAKPOINT;
		new = arm ? KPROBE_BREAKPOINT : p->opcode;
		if (kprobe_insn_is_live(p->opcode)) {
			ret = arch_replace_word(p->addr, old, new);
			live = true;
		} else {
			ret = expect_insn(p->addr, old);
			if (!ret)
				patch_later(p, new);
		}
		/* Something else remains what it is. */
		WARN_ON_ONCE(ret);
		cond_resched();
	}

	/* CPUs that were stopped need no other synchronization. */
	if (stopped.nr)
		patch_stopped();
	else if (live)
		arch_sync_insn_slots();
}

/*
 * Slots
 */

/* See arch_write_slot(). With two instructions at a time, fewer mappings are needed. */
static int write_pair(u64 *at, const u32 *insns)
{
	__le32 word[] = { cpu_to_le32(insns[0]), cpu_to_le32(insns[1]) };
	u64 pair;

	memcpy(&pair, word, sizeof(pair));
	/* New pages are full of traps. */
	return *at == pair ? 0 : aarch64_insn_write_literal_u64(at, pair);
}

int arch_write_slot(void *slot, kprobe_opcode_t *code, size_t size)
{
	size_t at;
	int ret = 0;

	lockdep_assert_held(&text_mutex);

	for (at = 0; at < size && !ret; at += sizeof(u64))
		ret = write_pair(slot + at, code + at / AARCH64_INSN_SIZE);
	caches_clean_inval_pou((unsigned long)slot, (unsigned long)slot + size);
	return ret;
}

int arch_seal_page(void *page)
{
	__le32 *word = page;
	unsigned int i;

	KUNIT_STATIC_STUB_REDIRECT(arch_seal_page, page);

	for (i = 0; i < PAGE_SIZE / sizeof(*word); i++)
		word[i] = cpu_to_le32(KPROBE_TRAP);
	caches_clean_inval_pou((unsigned long)page, (unsigned long)page + PAGE_SIZE);
	return set_memory_rox((unsigned long)page, 1);
}

/*
 * Each CPU has then left the breakpoints and steps that it was in, too, because these are handled
 * with interrupts masked. So is what RCU does not watch.
 */
void arch_sync_insn_slots(void)
{
	/* The ISB has to be on the CPU that is not kicked. */
	preempt_disable();
	kick_all_cpus_sync();
	isb();
	preempt_enable();
}

kprobe_opcode_t arch_kprobe_branch(unsigned long from, unsigned long to)
{
	return aarch64_insn_gen_branch_imm(from, to, AARCH64_INSN_BRANCH_NOLINK);
}
