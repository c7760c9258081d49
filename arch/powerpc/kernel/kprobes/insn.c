// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instructions of powerpc can be probed, and how they can be executed elsewhere. Almost all
 * can be executed from a copy. The exceptions depend on their own address. lib/sstep.c emulates
 * these, and most others.
 */

#include <linux/kprobes.h>
#include <linux/sched.h>

#include <asm/probes.h>
#include <asm/reg.h>
#include <asm/sstep.h>

#ifdef CONFIG_PPC64
#include <asm/paca.h>
#endif

#include "common.h"

/* Extended opcodes under 31. */
#define INSN_31_LBARX		52
#define INSN_31_LDARX		84
#define INSN_31_LHARX		116
#define INSN_31_LQARX		276
#define INSN_31_LWARX		20
#define INSN_31_MFTB		371
#define INSN_31_STBCX		694
#define INSN_31_STDCX		214
#define INSN_31_STHCX		726
#define INSN_31_STQCX		182
#define INSN_31_STWCX		150
#define INSN_31_TLBILX		18
#define INSN_31_TLBRE		946
#define INSN_31_TLBSRX		850
#define INSN_31_TLBSX		914
#define INSN_31_TLBWE		978
#define INSN_31_WAIT		30
#define INSN_31_WAIT_BOOKE	62
#define INSN_31_WRTEE		131
#define INSN_31_WRTEEI		163

/* can_single_step() gives no reason. */
static enum kprobe_refusal why_no_step(u32 word)
{
	if (is_trap(word))
		return KPROBE_REFUSAL_BUG;
	if (get_op(word) != OP_19)
		return KPROBE_REFUSAL_CONTROL;

	switch (get_xop(word)) {
	case OP_19_XOP_STOP:
	case OP_19_XOP_DOZE:
	case OP_19_XOP_NAP:
	case OP_19_XOP_SLEEP:
	case OP_19_XOP_RVWINKLE:
		return KPROBE_REFUSAL_SLEEP;
	}
	return KPROBE_REFUSAL_CONTROL;
}

static bool is_srr(unsigned int spr)
{
	return spr == SPRN_SRR0 || spr == SPRN_SRR1;
}

/* Registers with arguments and results of accesses to the TLB. MAS4 has defaults for TLB misses. */
#ifdef CONFIG_PPC_E500
static bool is_mas(unsigned int spr)
{
	switch (spr) {
	case SPRN_MAS0:
	case SPRN_MAS1:
	case SPRN_MAS2:
	case SPRN_MAS3:
	case SPRN_MAS5:
	case SPRN_MAS6:
	case SPRN_MAS7:
	case SPRN_MAS8:
	case SPRN_MAS0_MAS1:
	case SPRN_MAS5_MAS6:
	case SPRN_MAS7_MAS3:
	case SPRN_MAS8_MAS1:
		return true;
	}
	return false;
}
#else
static bool is_mas(unsigned int spr)
{
	return false;
}
#endif

/* On 8xx, writing to one of these changes MSR[EE] and MSR[RI]. */
#ifdef CONFIG_PPC_8xx
static bool changes_msr(unsigned int spr)
{
	return spr == SPRN_EIE || spr == SPRN_EID || spr == SPRN_NRI;
}
#else
static bool changes_msr(unsigned int spr)
{
	return false;
}
#endif

/* A store to irq_happened of this CPU. */
#ifdef CONFIG_PPC64
static bool records_hard_disable(u32 word)
{
	return get_ra(word) == 13 && (word & 0xffff) == offsetof(struct paca_struct, irq_happened);
}
#else
static bool records_hard_disable(u32 word)
{
	return false;
}
#endif

/*
 * What opens a sequence, and what closes one. mtmsrd that changes only MSR[EE] and MSR[RI], and on
 * BookE wrtee and wrteei, may disable interrupts. After a return from exception, nothing needs SRR0
 * and SRR1; hrfid also enters guests. On e500, tlbwe and tlbilx are the last that need the MAS
 * registers. With KVM there is no last one: MAS8 may select a guest until it is cleared, and the
 * handler of a TLB miss relies on it.
 */
static unsigned int bounds_under_31(u32 word)
{
	switch (get_xop(word)) {
	case INSN_31_LBARX:
	case INSN_31_LHARX:
	case INSN_31_LWARX:
	case INSN_31_LDARX:
	case INSN_31_LQARX:
		return KPROBE_OPENS(RESERVATION);
	case INSN_31_STBCX:
	case INSN_31_STHCX:
	case INSN_31_STWCX:
	case INSN_31_STDCX:
	case INSN_31_STQCX:
		return KPROBE_CLOSES(RESERVATION);
	case OP_31_XOP_MTMSRD:
		return word & BIT(16) ? KPROBE_OPENS(HARD_DISABLE) : 0;
	case INSN_31_WRTEE:
	case INSN_31_WRTEEI:
		return IS_ENABLED(CONFIG_BOOKE) ? KPROBE_OPENS(HARD_DISABLE) : 0;
	case OP_31_XOP_MTSPR:
		if (is_srr(get_sprn(word)))
			return KPROBE_OPENS(LIVE_SRR);
		return is_mas(get_sprn(word)) ? KPROBE_OPENS(LIVE_MAS) : 0;
	case INSN_31_TLBRE:
	case INSN_31_TLBSX:
		return IS_ENABLED(CONFIG_PPC_E500) ? KPROBE_OPENS(LIVE_MAS) : 0;
	case INSN_31_TLBILX:
	case INSN_31_TLBWE:
		return IS_ENABLED(CONFIG_KVM_BOOKE_HV) ? 0 : KPROBE_CLOSES(LIVE_MAS);
	}
	return 0;
}

unsigned int kprobe_insn_bounds(u32 word)
{
	switch (get_op(word)) {
	case OP_19:
		switch (get_xop(word)) {
		case OP_19_XOP_RFI:
		case OP_19_XOP_RFID:
		case OP_19_XOP_HRFID:
			return KPROBE_CLOSES(LIVE_SRR);
		}
		return 0;
	case OP_31:
		return bounds_under_31(word);
	case OP_STB:
		return records_hard_disable(word) ? KPROBE_CLOSES(HARD_DISABLE) : 0;
	}
	return 0;
}

/* The breakpoint overwrites SRR0 and SRR1, and a TLB miss the MASn. */
static enum kprobe_refusal spr_refused(u32 word, bool write)
{
	unsigned int spr = get_sprn(word);

	if (is_srr(spr) || is_mas(spr))
		return write ? KPROBE_REFUSAL_SEQUENCE : KPROBE_REFUSAL_SYNDROME;

	return write && changes_msr(spr) ? KPROBE_REFUSAL_CONTROL : KPROBE_REFUSAL_NONE;
}

/*
 * Why @word, an instruction or its prefix, cannot be probed wherever it is. A step masks
 * interrupts, so what masks or enables them, or waits for one, cannot be stepped. Nothing
 * emulates a branch to TAR.
 */
enum kprobe_refusal kprobe_insn_refused(u32 word)
{
	if (!can_single_step(word))
		return why_no_step(word);

	if (get_op(word) == OP_19) {
		switch (get_xop(word)) {
		case INSN_19_BCTAR:
			return KPROBE_REFUSAL_BRANCH;
		case INSN_19_RFEBB:
			return KPROBE_REFUSAL_CONTROL;
		}
	}
	if (get_op(word) != OP_31)
		return KPROBE_REFUSAL_NONE;

	switch (get_xop(word)) {
	case INSN_31_WAIT:
	case INSN_31_WAIT_BOOKE:
		return KPROBE_REFUSAL_SLEEP;
	case INSN_31_WRTEE:
	case INSN_31_WRTEEI:
		return IS_ENABLED(CONFIG_BOOKE) ? KPROBE_REFUSAL_CONTROL : KPROBE_REFUSAL_NONE;
	case INSN_31_TLBILX:
	case INSN_31_TLBRE:
	case INSN_31_TLBSRX:
	case INSN_31_TLBSX:
	case INSN_31_TLBWE:
		return IS_ENABLED(CONFIG_PPC_E500) ? KPROBE_REFUSAL_SEQUENCE : KPROBE_REFUSAL_NONE;
	case OP_31_XOP_MFSPR:
		return spr_refused(word, false);
	case OP_31_XOP_MTSPR:
		return spr_refused(word, true);
	}
	if (kprobe_insn_bounds(word) & (KPROBE_OPENS(RESERVATION) | KPROBE_CLOSES(RESERVATION)))
		return KPROBE_REFUSAL_SEQUENCE;
	return KPROBE_REFUSAL_NONE;
}

/* Let lib/sstep.c find out about an instruction without executing it. */
static int analyse(struct instruction_op *op, ppc_inst_t insn, unsigned long addr)
{
	struct pt_regs regs = { .nip = addr, .msr = MSR_KERNEL };

	op->type = UNKNOWN;
	op->reg = 0;
	op->update_reg = 0;
	return analyse_instr(op, &regs, insn);
}

/*
 * On ppc64, r13 points to the paca, and the exit from an exception to the kernel does not restore
 * it. So emulating or stepping the instruction would lose the new value.
 */
bool kprobe_insn_sets_r13(ppc_inst_t insn, unsigned long addr)
{
	u32 word = ppc_inst_val(insn);
	struct instruction_op op;

	if (!IS_ENABLED(CONFIG_PPC64))
		return false;

	/* analyse_instr() does not know most special registers. */
	if (get_op(word) == OP_31 &&
	    (get_xop(word) == OP_31_XOP_MFSPR || get_xop(word) == INSN_31_MFTB))
		return get_rt(word) == 13;

	analyse(&op, insn, addr);
	if (OP_IS_LOAD_STORE(GETTYPE(op.type)) && op.type & UPDATE && op.update_reg == 13)
		return true;

	switch (GETTYPE(op.type)) {
	case COMPUTE:
		return op.type & SETREG && op.reg == 13;
	case LOAD:
		return op.reg == 13 || (op.reg == 12 && GETSIZE(op.type) == 16);
	case LOAD_MULTI:
		/* The registers wrap around after r31. */
		return ((13 - op.reg) & 31) < DIV_ROUND_UP(GETSIZE(op.type), 4);
	case MFSPR:
	case MFMSR:
		return op.reg == 13;
	}
	return false;
}

/*
 * Compiled code relies on data in the paca, such as current and the stack canary. They must not
 * change under the handler of the breakpoint, and some, such as in_nmi and irq_happened, may have
 * other values there than in the program. So the CPU has to execute such an access itself.
 */
static bool accesses_paca(ppc_inst_t insn)
{
	u32 word = ppc_inst_val(insn);
	u32 access = ppc_inst_prefixed(insn) ? ppc_inst_suffix(insn) : word;

	if (!IS_ENABLED(CONFIG_PPC64))
		return false;
	if (get_ra(access) == 13)
		return kprobe_insn_soft_mask(word) == KPROBE_SOFT_MASK_NONE;
	return get_op(access) == OP_31 && get_rb(access) == 13;
}

#if defined(CONFIG_PPC_BOOK3S_32) && defined(CONFIG_PPC_KUAP)

/*
 * An exception saves current->thread.kuap in its struct pt_regs, locks user access, and restores
 * the word when it returns. So during the exception, the word is not that of the program.
 */
static bool accesses_kuap(u32 word)
{
	return (get_op(word) == OP_LWZ || get_op(word) == OP_STW) && get_ra(word) == 2 &&
	       (word & 0xffff) == offsetof(struct task_struct, thread.kuap);
}
#else
static bool accesses_kuap(u32 word)
{
	return false;
}
#endif

/*
 * Can emulate_step() execute the instruction, unless it faults? Not emulated, although
 * lib/sstep.c could: stores that update r1, which would hit the exception frame; accesses to the
 * paca, which the handler itself is using; FP and vector accesses, whose unit may be disabled in
 * the exception; on Book3S-32, accesses to thread.kuap, which the exception has saved and
 * replaced.
 */
bool kprobe_insn_can_emulate(ppc_inst_t insn, unsigned long addr)
{
	struct instruction_op op;
	int ret = analyse(&op, insn, addr);

	if (ret)
		return ret > 0;

	/* analyse_instr() swaps the register pair of plq and pstq. */
	if (op.type & PREFIXED && GETSIZE(op.type) == 16)
		return false;

	if (accesses_kuap(ppc_inst_val(insn)))
		return false;

	switch (GETTYPE(op.type)) {
	case LOAD_MULTI:
	case STORE_MULTI:
	case CACHEOP:
	case MFMSR:
		return true;
	case LOAD:
		return !accesses_paca(insn);
	case STORE:
		return !accesses_paca(insn) && (!(op.type & UPDATE) || op.update_reg != 1);
	}
	return false;
}

/*
 * Does the instruction have the same effect at another address? kprobe_insn_move() may have to
 * change it.
 */
bool kprobe_insn_can_copy(ppc_inst_t insn)
{
	u32 word = ppc_inst_val(insn);

	if (kprobe_insn_is_b(word) || kprobe_insn_is_bc(word) || kprobe_insn_is_addpcis(word))
		return false;
	if (kprobe_insn_is_bclr(word) || kprobe_insn_is_bcctr(word))
		return !(word & INSN_LK);
	return true;
}

/*
 * How the instruction accesses the soft interrupt mask. All C code accesses it by a load or store
 * of one byte, relative to r13.
 */
#ifdef CONFIG_PPC64
enum kprobe_soft_mask kprobe_insn_soft_mask(u32 word)
{
	if (get_ra(word) != 13 ||
	    (word & 0xffff) != offsetof(struct paca_struct, irq_soft_mask))
		return KPROBE_SOFT_MASK_NONE;

	switch (get_op(word)) {
	case OP_LBZ:
		return KPROBE_SOFT_MASK_READ;
	case OP_STB:
		return KPROBE_SOFT_MASK_WRITE;
	}
	return KPROBE_SOFT_MASK_NONE;
}
#else
enum kprobe_soft_mask kprobe_insn_soft_mask(u32 word)
{
	return KPROBE_SOFT_MASK_NONE;
}
#endif

/* The displacement has 34 bits, of which the prefix has the upper 18. */
static s64 pcrel_displacement(ppc_inst_t insn)
{
	u64 d = (u64)(ppc_inst_val(insn) & INSN_PREFIX_D_MASK) << 16 |
		(ppc_inst_suffix(insn) & INSN_SUFFIX_D_MASK);

	return sign_extend64(d, 33);
}

/*
 * Adapt an instruction that is relative to its own address for a copy at @to. Returns false if
 * its operand is out of reach of the copy.
 */
bool kprobe_insn_move(ppc_inst_t *insn, unsigned long from, unsigned long to)
{
	u32 prefix, suffix;
	s64 d;

	if (!kprobe_insn_is_pcrel(*insn))
		return true;

	d = pcrel_displacement(*insn) + (s64)(from - to);
	if (d != sign_extend64(d, 33))
		return false;

	prefix = ppc_inst_val(*insn) & ~INSN_PREFIX_D_MASK;
	suffix = ppc_inst_suffix(*insn) & ~INSN_SUFFIX_D_MASK;
	prefix |= d >> 16 & INSN_PREFIX_D_MASK;
	suffix |= d & INSN_SUFFIX_D_MASK;
	*insn = ppc_inst_prefix(prefix, suffix);
	return true;
}
