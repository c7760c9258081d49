/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the powerpc backend of kprobes.
 */
#ifndef _POWERPC_KERNEL_KPROBES_COMMON_H
#define _POWERPC_KERNEL_KPROBES_COMMON_H

#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include <asm/disassemble.h>
#include <asm/inst.h>

/*
 * Does an instruction access the soft interrupt mask of this CPU? In an exception, the mask of
 * the program is in struct pt_regs.
 */
enum kprobe_soft_mask {
	KPROBE_SOFT_MASK_NONE,
	KPROBE_SOFT_MASK_READ,
	KPROBE_SOFT_MASK_WRITE,
};

/* Enters the function to which a handler at an ftrace site redirects; see hit.c. */
void kprobe_ftrace_redirected(void);

static nokprobe_inline bool kprobe_is_between(unsigned long addr, const void *start,
					      const void *end)
{
	return addr >= (unsigned long)start && addr < (unsigned long)end;
}

/* The instruction of a probe. */
static nokprobe_inline ppc_inst_t kprobe_insn(const struct kprobe *p)
{
	return ppc_inst_prefix(p->opcode, p->ainsn.suffix);
}

/* The address of the next instruction. */
static nokprobe_inline unsigned long kprobe_next(const struct kprobe *p)
{
	return (unsigned long)p->addr + p->ainsn.len;
}

/* blacklist.c */
enum kprobe_refusal kprobe_addr_refused(unsigned long addr);

/* The linker script: pages at the end of the text, and before the text of init. */
extern char __kprobes_pages_start[], __kprobes_pages_end[];
extern char __kprobes_padding_start[], __kprobes_padding_end[];

/*
 * Instructions: insn.c
 */

/* Bytes of an instruction, or of half of a prefixed one. */
#define INSN_WORD		sizeof(u32)

/* Primary opcodes. */
#define INSN_OP_BC		16
#define INSN_OP_B		18

/* Extended opcodes under 31. */
#define INSN_31_MFMSR		83

/* Extended opcodes under 19. */
#define INSN_19_BCLR		16
#define INSN_19_RFEBB		146
#define INSN_19_BCCTR		528
#define INSN_19_BCTAR		560
#define INSN_19_ADDPCIS		2	/* a field of five bits */

/* Branches: absolute target, link; the BO field of those that are always taken. */
#define INSN_AA			BIT(1)
#define INSN_LK			BIT(0)
#define INSN_BO_ALWAYS		20

/* The displacement of a conditional branch. */
#define INSN_BD_MASK		0xfffc

/* PC-relative prefixed instructions: the R bit, and the two parts of the displacement. */
#define INSN_PREFIX_R		BIT(20)
#define INSN_PREFIX_ODD_TYPE	BIT(24)
#define INSN_PREFIX_D_MASK	GENMASK(17, 0)
#define INSN_SUFFIX_D_MASK	GENMASK(15, 0)

static nokprobe_inline bool kprobe_insn_is_bc(u32 word)
{
	return get_op(word) == INSN_OP_BC;
}

static nokprobe_inline bool kprobe_insn_is_b(u32 word)
{
	return get_op(word) == INSN_OP_B;
}

static nokprobe_inline bool kprobe_insn_is_bclr(u32 word)
{
	return get_op(word) == OP_19 && get_xop(word) == INSN_19_BCLR;
}

static nokprobe_inline bool kprobe_insn_is_bcctr(u32 word)
{
	return get_op(word) == OP_19 && get_xop(word) == INSN_19_BCCTR;
}

static nokprobe_inline bool kprobe_insn_is_addpcis(u32 word)
{
	return get_op(word) == OP_19 && (word >> 1 & 0x1f) == INSN_19_ADDPCIS;
}

static nokprobe_inline bool kprobe_insn_is_mfmsr(u32 word)
{
	return get_op(word) == OP_31 && get_xop(word) == INSN_31_MFMSR;
}

static nokprobe_inline unsigned int kprobe_insn_bo(u32 word)
{
	return word >> 21 & 0x1f;
}

static nokprobe_inline bool kprobe_insn_links(u32 word)
{
	return word & INSN_LK &&
	       (kprobe_insn_is_b(word) || kprobe_insn_is_bc(word) ||
		kprobe_insn_is_bclr(word) || kprobe_insn_is_bcctr(word));
}

/* Only prefixes of types 0 and 2 have an R bit. Types 1 and 3 have something else there. */
static nokprobe_inline bool kprobe_insn_is_pcrel(ppc_inst_t insn)
{
	u32 prefix = ppc_inst_val(insn);

	return ppc_inst_prefixed(insn) && !(prefix & INSN_PREFIX_ODD_TYPE) &&
	       prefix & INSN_PREFIX_R;
}

/*
 * Sequences, into which no exception may come. An exception:
 *
 *  - clears the reservation on its exit, so that the store-conditional would never succeed;
 *  - enables interrupts again on its exit, until code that disables them in MSR[EE] has recorded
 *    that in irq_happened;
 *  - overwrites SRR0 and SRR1, which are live from when they are written until the return from
 *    exception. On e500, a TLB miss in its handler overwrites the MASn, which are live until the
 *    access to the TLB.
 */
enum kprobe_sequence {
	KPROBE_SEQUENCE_RESERVATION,
	KPROBE_SEQUENCE_HARD_DISABLE,
	KPROBE_SEQUENCE_LIVE_SRR,
	KPROBE_SEQUENCE_LIVE_MAS,
	NR_KPROBE_SEQUENCES,
};

#define KPROBE_OPENS(seq)	BIT(KPROBE_SEQUENCE_##seq)
#define KPROBE_CLOSES(seq)	BIT(NR_KPROBE_SEQUENCES + KPROBE_SEQUENCE_##seq)
#define KPROBE_OPENS_ANY	GENMASK(NR_KPROBE_SEQUENCES - 1, 0)

/*
 * How many words are searched for the start of a sequence. Loops with a reservation are single
 * asm statements, so neither KASAN nor KCSAN makes them longer; a test looks for longer ones in
 * the kernel. In the others, there may be compiled code. With 32 bits, there is no irq_happened.
 */
#define INSN_MAX_RESERVED	32
#define INSN_MAX_HARD_DISABLE	(IS_ENABLED(CONFIG_PPC64) ? 12 : 0)
#define INSN_MAX_LIVE_SPRS	64

enum kprobe_refusal kprobe_insn_refused(u32 word);
unsigned int kprobe_insn_bounds(u32 word);
bool kprobe_insn_sets_r13(ppc_inst_t insn, unsigned long addr);
bool kprobe_insn_can_emulate(ppc_inst_t insn, unsigned long addr);
bool kprobe_insn_can_copy(ppc_inst_t insn);
enum kprobe_soft_mask kprobe_insn_soft_mask(u32 word);
bool kprobe_insn_move(ppc_inst_t *insn, unsigned long from, unsigned long to);

#endif /* _POWERPC_KERNEL_KPROBES_COMMON_H */
