// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instructions of powerpc can be probed, and how they can be executed elsewhere.
 *
 * Almost every instruction can be executed from a copy. The exceptions depend on their own
 * address. lib/sstep.c emulates these, and most others.
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
#include "insn.h"

/* Extended opcodes under 31. */
#define INSN_31_LBARX		52
#define INSN_31_LDARX		84
#define INSN_31_LHARX		116
#define INSN_31_LQARX		276
#define INSN_31_LWARX		20
#define INSN_31_MFSPR		339
#define INSN_31_MFTB		371
#define INSN_31_MTSPR		467
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

/**
 * kprobe_insn_is_load_reserve() - does an instruction load and reserve (larx)?
 * @word: the instruction
 *
 * Context: any.
 * Return: true if it does.
 */
bool kprobe_insn_is_load_reserve(u32 word)
{
	if (get_op(word) != INSN_OP_31)
		return false;

	switch (get_xop(word)) {
	case INSN_31_LBARX:
	case INSN_31_LHARX:
	case INSN_31_LWARX:
	case INSN_31_LDARX:
	case INSN_31_LQARX:
		return true;
	}
	return false;
}

/**
 * kprobe_insn_is_store_conditional() - does an instruction store conditionally (stcx)?
 * @word: the instruction
 *
 * Context: any.
 * Return: true if it does.
 */
bool kprobe_insn_is_store_conditional(u32 word)
{
	if (get_op(word) != INSN_OP_31)
		return false;

	switch (get_xop(word)) {
	case INSN_31_STBCX:
	case INSN_31_STHCX:
	case INSN_31_STWCX:
	case INSN_31_STDCX:
	case INSN_31_STQCX:
		return true;
	}
	return false;
}

/* can_single_step() gives no reason. */
static enum kprobe_refusal why_no_step(u32 word)
{
	if (is_trap(word))
		return KPROBE_REFUSAL_BUG;
	if (get_op(word) != INSN_OP_19)
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

/* The arguments and results of accesses to the TLB. MAS4 has defaults for TLB misses. */
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

static bool accesses_tlb(u32 word)
{
	switch (get_xop(word)) {
	case INSN_31_TLBILX:
	case INSN_31_TLBRE:
	case INSN_31_TLBSRX:
	case INSN_31_TLBSX:
	case INSN_31_TLBWE:
		return true;
	}
	return false;
}
#else
static bool is_mas(unsigned int spr)
{
	return false;
}

static bool accesses_tlb(u32 word)
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

/* A breakpoint overwrites SRR0 and SRR1, and a TLB miss the MASn. */
static enum kprobe_refusal spr_refused(u32 word, bool write)
{
	unsigned int spr = get_sprn(word);

	if (is_srr(spr) || is_mas(spr))
		return write ? KPROBE_REFUSAL_SEQUENCE : KPROBE_REFUSAL_SYNDROME;

	return write && changes_msr(spr) ? KPROBE_REFUSAL_CONTROL : KPROBE_REFUSAL_NONE;
}

/**
 * kprobe_insn_refused() - can an instruction be probed, wherever it is?
 * @word: the instruction, or its prefix
 *
 * A step masks interrupts. So an instruction that masks or enables them, or waits for one, cannot
 * be stepped. Nothing emulates a branch to TAR.
 *
 * Context: any.
 * Return: KPROBE_REFUSAL_NONE, or why not.
 */
enum kprobe_refusal kprobe_insn_refused(u32 word)
{
	if (!can_single_step(word))
		return why_no_step(word);

	if (get_op(word) == INSN_OP_19) {
		switch (get_xop(word)) {
		case INSN_19_BCTAR:
			return KPROBE_REFUSAL_BRANCH;
		case INSN_19_RFEBB:
			return KPROBE_REFUSAL_CONTROL;
		}
	}
	if (get_op(word) != INSN_OP_31)
		return KPROBE_REFUSAL_NONE;

	switch (get_xop(word)) {
	case INSN_31_WAIT:
	case INSN_31_WAIT_BOOKE:
		return KPROBE_REFUSAL_SLEEP;
	case INSN_31_WRTEE:
	case INSN_31_WRTEEI:
		return IS_ENABLED(CONFIG_BOOKE) ? KPROBE_REFUSAL_CONTROL : KPROBE_REFUSAL_NONE;
	case INSN_31_MFSPR:
		return spr_refused(word, false);
	case INSN_31_MTSPR:
		return spr_refused(word, true);
	}
	if (kprobe_insn_is_load_reserve(word) || kprobe_insn_is_store_conditional(word) ||
	    accesses_tlb(word))
		return KPROBE_REFUSAL_SEQUENCE;
	return KPROBE_REFUSAL_NONE;
}

/* What lib/sstep.c finds out about an instruction without executing it. */
static int analyse(struct instruction_op *op, ppc_inst_t insn, unsigned long addr)
{
	struct pt_regs regs = { .nip = addr, .msr = MSR_KERNEL };

	op->type = UNKNOWN;
	op->reg = 0;
	op->update_reg = 0;
	return analyse_instr(op, &regs, insn);
}

/**
 * kprobe_insn_sets_r13() - does an instruction write r13, the paca pointer?
 * @insn: the instruction
 * @addr: its address
 *
 * On ppc64, the exit from an exception to the kernel does not restore r13. So emulating or stepping
 * the instruction would lose the new value.
 *
 * Context: any.
 * Return: true if it does.
 */
#ifdef CONFIG_PPC64
bool kprobe_insn_sets_r13(ppc_inst_t insn, unsigned long addr)
{
	u32 word = ppc_inst_val(insn);
	struct instruction_op op;

	/* Most special registers are unknown to analyse_instr(). */
	if (get_op(word) == INSN_OP_31 &&
	    (get_xop(word) == INSN_31_MFSPR || get_xop(word) == INSN_31_MFTB))
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
#else
bool kprobe_insn_sets_r13(ppc_inst_t insn, unsigned long addr)
{
	return false;
}
#endif

/*
 * Compiled code relies on data in the paca, such as current and the stack canary. They must not
 * change under the handler of the breakpoint, and some, such as in_nmi and irq_happened, may have
 * other values there than in the program. So the CPU has to execute such an access itself.
 */
#ifdef CONFIG_PPC64
static bool accesses_paca(ppc_inst_t insn)
{
	u32 word = ppc_inst_val(insn);
	u32 access = ppc_inst_prefixed(insn) ? ppc_inst_suffix(insn) : word;

	if (get_ra(access) == 13)
		return kprobe_insn_soft_mask(word) == KPROBE_SOFT_MASK_NONE;
	return get_op(access) == INSN_OP_31 && get_rb(access) == 13;
}
#else
static bool accesses_paca(ppc_inst_t insn)
{
	return false;
}
#endif

#if defined(CONFIG_PPC_BOOK3S_32) && defined(CONFIG_PPC_KUAP)
#define INSN_OP_LWZ	32
#define INSN_OP_STW	36

/*
 * An exception saves current->thread.kuap in its struct pt_regs, locks user access, and restores
 * the word when it returns. So during the exception, the word is not that of the program.
 */
static bool accesses_kuap(u32 word)
{
	return (get_op(word) == INSN_OP_LWZ || get_op(word) == INSN_OP_STW) && get_ra(word) == 2 &&
	       (word & 0xffff) == offsetof(struct task_struct, thread.kuap);
}
#else
static bool accesses_kuap(u32 word)
{
	return false;
}
#endif

/**
 * kprobe_insn_can_emulate() - can emulate_step() execute an instruction?
 * @insn: the instruction
 * @addr: its address
 *
 * Not emulated, although lib/sstep.c could: stores that update r1, which would hit the exception
 * frame; accesses to the paca, which the handler itself is using; FP and vector accesses, whose
 * unit may be disabled in the exception; on Book3S-32, accesses to thread.kuap, which the exception
 * has saved and replaced.
 *
 * Context: any.
 * Return: true if it can, unless the instruction faults.
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

/**
 * kprobe_insn_can_copy() - does an instruction have the same effect at another address?
 * @insn: the instruction, which kprobe_insn_move() may have to change
 *
 * Context: any.
 * Return: true if it does.
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

/**
 * kprobe_insn_soft_mask() - does an instruction access the soft interrupt mask?
 * @word: the instruction
 *
 * All C code accesses it by a load or store of one byte, relative to r13.
 *
 * Context: any.
 * Return: the kind of access.
 */
#ifdef CONFIG_PPC64
enum kprobe_soft_mask kprobe_insn_soft_mask(u32 word)
{
	if (get_ra(word) != 13 ||
	    (word & 0xffff) != offsetof(struct paca_struct, irq_soft_mask))
		return KPROBE_SOFT_MASK_NONE;

	switch (get_op(word)) {
	case INSN_OP_LBZ:
		return KPROBE_SOFT_MASK_READ;
	case INSN_OP_STB:
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

/**
 * kprobe_insn_hard_disables() - may an instruction disable interrupts in MSR[EE]?
 * @word: the instruction
 *
 * Context: any.
 * Return: true for mtmsrd that changes only MSR[EE] and MSR[RI], and on BookE for wrtee and
 *	   wrteei.
 */
bool kprobe_insn_hard_disables(u32 word)
{
	if (get_op(word) != INSN_OP_31)
		return false;

	switch (get_xop(word)) {
	case OP_31_XOP_MTMSRD:
		return word & BIT(16);
	case INSN_31_WRTEE:
	case INSN_31_WRTEEI:
		return IS_ENABLED(CONFIG_BOOKE);
	}
	return false;
}

/**
 * kprobe_insn_records_hard_disable() - does an instruction store to irq_happened of this CPU?
 * @word: the instruction
 *
 * Context: any.
 * Return: true if it does.
 */
#ifdef CONFIG_PPC64
bool kprobe_insn_records_hard_disable(u32 word)
{
	return get_op(word) == INSN_OP_STB && get_ra(word) == 13 &&
	       (word & 0xffff) == offsetof(struct paca_struct, irq_happened);
}
#else
bool kprobe_insn_records_hard_disable(u32 word)
{
	return false;
}
#endif

/**
 * kprobe_insn_sets_srr() - does an instruction write SRR0 or SRR1?
 * @word: the instruction
 *
 * Context: any.
 * Return: true for mtspr to SRR0 or SRR1.
 */
bool kprobe_insn_sets_srr(u32 word)
{
	return get_op(word) == INSN_OP_31 && get_xop(word) == INSN_31_MTSPR &&
	       is_srr(get_sprn(word));
}

/**
 * kprobe_insn_uses_srr() - is this a return from exception?
 * @word: the instruction
 *
 * Context: any.
 * Return: true if nothing needs SRR0 and SRR1 after it: for rfi and rfid; and for hrfid, with which
 *	   guests are entered.
 */
bool kprobe_insn_uses_srr(u32 word)
{
	if (get_op(word) != INSN_OP_19)
		return false;

	switch (get_xop(word)) {
	case OP_19_XOP_RFI:
	case OP_19_XOP_RFID:
	case OP_19_XOP_HRFID:
		return true;
	}
	return false;
}

/**
 * kprobe_insn_sets_mas() - does an instruction set an argument or a result of a TLB access?
 * @word: the instruction
 *
 * Context: any.
 * Return: true on e500 for mtspr to a MAS register, tlbsx and tlbre.
 */
bool kprobe_insn_sets_mas(u32 word)
{
	if (get_op(word) != INSN_OP_31)
		return false;

	switch (get_xop(word)) {
	case INSN_31_MTSPR:
		return is_mas(get_sprn(word));
	case INSN_31_TLBSX:
	case INSN_31_TLBRE:
		return accesses_tlb(word);
	}
	return false;
}

/**
 * kprobe_insn_uses_mas() - is an instruction the last that needs the MAS registers?
 * @word: the instruction
 *
 * With KVM there is none: MAS8 may select a guest until it is cleared, and the handler of a TLB
 * miss relies on it.
 *
 * Context: any.
 * Return: true on e500 for tlbwe and tlbilx.
 */
bool kprobe_insn_uses_mas(u32 word)
{
	return !IS_ENABLED(CONFIG_KVM_BOOKE_HV) &&
	       get_op(word) == INSN_OP_31 && accesses_tlb(word) &&
	       (get_xop(word) == INSN_31_TLBWE || get_xop(word) == INSN_31_TLBILX);
}

#ifdef CONFIG_PPC64
/* The displacement has 34 bits, of which the prefix has the upper 18. */
static s64 pcrel_displacement(ppc_inst_t insn)
{
	u64 d = (u64)(ppc_inst_val(insn) & INSN_PREFIX_D_MASK) << 16 |
		(ppc_inst_suffix(insn) & INSN_SUFFIX_D_MASK);

	return sign_extend64(d, 33);
}

/**
 * kprobe_insn_move() - adapt an instruction that is relative to its own address
 * @insn: the instruction; unchanged if it need not be adapted
 * @from: its address
 * @to: that of its copy
 *
 * Context: any.
 * Return: false if its operand is out of reach of the copy.
 */
bool kprobe_insn_move(ppc_inst_t *insn, unsigned long from, unsigned long to)
{
	s64 d;

	if (!kprobe_insn_is_pcrel(*insn))
		return true;

	d = pcrel_displacement(*insn) + (s64)(from - to);
	if (d != sign_extend64(d, 33))
		return false;

	*insn = ppc_inst_prefix((ppc_inst_val(*insn) & ~INSN_PREFIX_D_MASK) |
				(d >> 16 & INSN_PREFIX_D_MASK),
				(ppc_inst_suffix(*insn) & ~INSN_SUFFIX_D_MASK) |
				(d & INSN_SUFFIX_D_MASK));
	return true;
}
#else
bool kprobe_insn_move(ppc_inst_t *insn, unsigned long from, unsigned long to)
{
	return true;
}
#endif
