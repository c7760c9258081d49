// SPDX-License-Identifier: GPL-2.0-only
/* Reads, decodes and copies instructions as they are without probes. Changes nothing. */

#include <linux/cfi.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>

#include "common.h"

bool kprobe_insn_has_prefix(struct insn *insn, u8 wanted)
{
	/* Unused bytes are 0, which is no prefix. */
	return memchr(insn->prefixes.bytes, wanted, sizeof(insn->prefixes.bytes));
}

/*
 * The bytes of the opcode, the first one uppermost: OP_* for one byte, OP_0F(OP2_*) for two.
 * OP_OTHER for VEX and EVEX.
 */
u32 kprobe_insn_op(struct insn *insn)
{
	const insn_byte_t *bytes = insn->opcode.bytes;
	u32 op = 0;
	int i;

	if (kprobe_insn_has_vex(insn))
		return OP_OTHER;
	/* A bit of this prefix stands for the first byte. */
	if (insn_is_rex2(insn) && X86_REX2_M(insn->rex_prefix.bytes[1]))
		return OP_0F(bytes[0]);

	for (i = 0; i < insn->opcode.nbytes; i++)
		op = op << 8 | bytes[i];

	return op;
}

/*
 * Landing pads are no NOPs.
 *
 * After an indirect branch, a CPU that enforces IBT waits for ENDBR, and raises #CP for anything
 * else but INT3. So a breakpoint on ENDBR is hit like any other. Without FRED, the exception ends
 * the waiting. With FRED, returning from it resumes the waiting (see ibt_clear_fred_wfe()), until
 * an ENDBR is executed. The copy of the probed one is; if it were emulated, the next instruction
 * would raise #CP.
 */
bool kprobe_insn_is_nop(struct insn *insn)
{
	switch (kprobe_insn_op(insn)) {
	case BYTES_NOP1:
		/* With REX.B it exchanges two registers. */
		return !insn_is_rex2(insn) && !X86_REX_B(kprobe_insn_rex(insn));
	case OP_0F(0x1f):
		return true;
	}

	return false;
}

/*
 * How an instruction transfers control in the kernel, without far branches, which cannot be probed.
 * KPROBE_OP_STEP for all others. This is the only place that knows the opcodes of branches, but for
 * kprobe_map_scan().
 */
u8 kprobe_insn_branch(struct insn *insn)
{
	bool in_reg = kprobe_insn_is_reg_form(insn);
	u32 op = kprobe_insn_op(insn);

	switch (op) {
	case 0x70 ... 0x7f:
	case OP_0F(OP2_JCC32) ... OP_0F(OP2_JCC32) | OP_CC:
		return KPROBE_OP_JCC;
	case 0xe0 ... 0xe3:
		/* Both are in the same order. */
		return KPROBE_OP_LOOPNE + (op - 0xe0);
	case CALL_INSN_OPCODE:
		return KPROBE_OP_CALL;
	case JMP32_INSN_OPCODE:
	case JMP8_INSN_OPCODE:
		return KPROBE_OP_JMP;
	case 0xc2:	/* ret with an operand */
	case RET_INSN_OPCODE:
		return KPROBE_OP_RET;
	case OP_GRP5:
		if (X86_MODRM_REG(insn->modrm.value) == 2)	/* call */
			return in_reg ? KPROBE_OP_CALL_REG : KPROBE_OP_STEP_CALL;
		if (X86_MODRM_REG(insn->modrm.value) == GRP5_JMP)
			return in_reg ? KPROBE_OP_JMP_REG : KPROBE_OP_STEP_JMP;
		break;
	}

	return KPROBE_OP_STEP;
}

/*
 * insn_decode() gets the length of some encodings wrong, which compilers do not emit. Neither
 * such an instruction nor what follows it can be trusted.
 */

/* CPUs disagree on whether this prefix shortens the displacement in 64-bit mode. */
static bool is_branch16(struct insn *insn)
{
	return insn->x86_64 && kprobe_insn_has_prefix(insn, PREFIX_OPND);
}

static bool length_is_known_0f(struct insn *insn)
{
	switch (insn->opcode.bytes[1]) {
	/* These have no ModRM byte; all others but branches have one. */
	case 0x05 ... 0x09:	/* SYSCALL to WBINVD */
	case 0x0b:		/* UD2 */
	case 0x0e:		/* FEMMS */
	case 0x30 ... 0x35:	/* WRMSR to SYSEXIT */
	case 0x37:		/* GETSEC */
	case 0x77:		/* EMMS */
	case 0xa0 ... 0xa2:	/* PUSH FS, POP FS, CPUID */
	case 0xa8 ... 0xaa:	/* PUSH GS, POP GS, RSM */
	case 0xc8 ... 0xcf:	/* BSWAP */
		return true;
	case OP2_JCC32 ... OP2_JCC32 | OP_CC:
		return !is_branch16(insn);
	case 0x20 ... 0x23:
		/* Moves from and to control registers ignore mod. */
		return kprobe_insn_is_reg_form(insn);
	case 0x71 ... 0x73:
		/* Shifts of vectors by an immediate. */
		return insn->immediate.nbytes;
	case 0x78:
		/* VMREAD. With one of these prefixes it is EXTRQ or INSERTQ, with immediates. */
		return !kprobe_insn_has_prefix(insn, PREFIX_OPND) &&
		       !kprobe_insn_has_prefix(insn, PREFIX_REPNE);
	}

	return insn->modrm.nbytes;
}

/*
 * For an opcode that is not in its tables, insn_decode() reports no error, but takes the opcode
 * alone for the instruction. It looks SSE opcodes up by the last prefix, so it does not find them
 * if their mandatory prefix precedes another one.
 */
static bool length_is_known(struct insn *insn)
{
	/* insn_decode() does check these, and its map of them is complete. */
	if (kprobe_insn_has_vex(insn) || insn_is_rex2(insn))
		return true;

	switch (insn->opcode.nbytes) {
	case 1:
		switch (insn->opcode.bytes[0]) {
		case OP_GRP1A:
			/* Anything else is XOP. */
			return X86_MODRM_REG(insn->modrm.value) == GRP1A_POP;
		case CALL_INSN_OPCODE:
		case JMP32_INSN_OPCODE:
			return !is_branch16(insn);
		}
		/* A fifth prefix, or one after REX, is taken for the opcode. */
		if (insn->x86_64 && (inat_is_rex_prefix(insn->attr) ||
				     inat_is_rex2_prefix(insn->attr)))
			return false;
		return !inat_is_legacy_prefix(insn->attr);
	case 2:
		return length_is_known_0f(insn);
	default:
		return insn->modrm.nbytes;
	}
}

/*
 * From the first @len bytes. KPROBE_REFUSAL_UNDECODED if they are no instruction, or if its
 * length is not certain.
 */
enum kprobe_refusal kprobe_decode(struct kprobe_insn *ki, int len)
{
	if (insn_decode(&ki->insn, ki->bytes, len, INSN_MODE_KERN) ||
	    !length_is_known(&ki->insn))
		return KPROBE_REFUSAL_UNDECODED;

	return KPROBE_REFUSAL_NONE;
}

#ifdef CONFIG_KGDB
/* kgdb does not tell which byte its breakpoint has replaced. */
bool notrace kprobe_is_kgdb_breakpoint(unsigned long addr)
{
	return kgdb_has_hit_break(addr);
}
NOKPROBE_SYMBOL(kprobe_is_kgdb_breakpoint);
#endif

/*
 * The name of the function at an address, or NULL. @name has KSYM_NAME_LEN bytes. For code that
 * runs before the kernel is mapped where it is linked, kallsyms may find an alias with a prefix,
 * which is left out.
 */
const char *kprobe_name_at(unsigned long addr, char *name)
{
	if (lookup_symbol_name(addr, name))
		return NULL;

	return strstarts(name, "__pi_") ? name + strlen("__pi_") : name;
}

/* Text is read in larger pieces than an instruction, which is cheaper. */
struct text_window {
	unsigned long	start;
	unsigned long	end;
	u8		text[8 * MAX_INSN_SIZE];
};

static int window_read(struct text_window *w, unsigned long at, unsigned int len)
{
	w->start = at;
	w->end = at;
	if (kprobe_read_text(at, w->text, len))
		return -EFAULT;

	w->end = at + len;
	return 0;
}

/*
 * Are there only breakpoints, for as long as an instruction can be? One of them may be kgdb's,
 * but the instruction that it hides then ends among the others, so what follows them is decoded
 * correctly. Asking kgdb about each would take long.
 */
static bool is_in_padding(const struct text_window *w, unsigned long at)
{
	return at >= w->start && at + MAX_INSN_SIZE <= w->end &&
	       !memchr_inv(w->text + (at - w->start), INT3_INSN_OPCODE, MAX_INSN_SIZE);
}

static enum kprobe_refusal fetch_one(unsigned long at, unsigned long end,
				     struct kprobe_insn *ki, struct text_window *w)
{
	unsigned int len = min_t(unsigned long, end - at, MAX_INSN_SIZE);
	unsigned int more = min_t(unsigned long, end - at, sizeof(w->text));

	/* After the last symbol of a module there may be no page any more. */
	if ((at < w->start || at + len > w->end) &&
	    window_read(w, at, more) && window_read(w, at, len))
		return KPROBE_REFUSAL_UNDECODED;

	memcpy(ki->bytes, w->text + (at - w->start), len);
	if (ki->bytes[0] == INT3_INSN_OPCODE && !is_in_padding(w, at) &&
	    kprobe_is_kgdb_breakpoint(at))
		return KPROBE_REFUSAL_DEBUGGER;

	return kprobe_decode(ki, len);
}

/* Read and decode an instruction that is known to start at @at. Its function ends at @end. */
enum kprobe_refusal kprobe_fetch_at(unsigned long at, unsigned long end,
				    struct kprobe_insn *ki)
{
	struct text_window w = {};

	lockdep_assert_held(&text_mutex);

	return fetch_one(at, min_t(unsigned long, end, at + MAX_INSN_SIZE), ki, &w);
}

/* The length of the check of an indirect call, and where its trap is. */
#define CFI_CHECK_SIZE		14
#define CFI_CHECK_TRAP		12

/*
 * The distance to the next instruction. With cfi=off, the first two bytes of each check are a
 * jump over the rest, after which parts of other instructions are left.
 */
unsigned int kprobe_skip(struct kprobe_insn *ki, unsigned long at)
{
	if (IS_ENABLED(CONFIG_CFI) && ki->bytes[0] == JMP8_INSN_OPCODE &&
	    kprobe_insn_target(&ki->insn, at) == at + CFI_CHECK_SIZE &&
	    is_cfi_trap(at + CFI_CHECK_TRAP))
		return CFI_CHECK_SIZE;

	return ki->insn.length;
}

/*
 * A function is over after so many breakpoints in a row. Inside of it they may fill a page.
 * kallsyms counts the megabytes of padding at the end of the text as part of the last function.
 */
#define MAX_PADDING	(2 * PAGE_SIZE)

/*
 * Read and decode the instruction at an address. The function is decoded from its start, as only
 * there an instruction is known to begin.
 */
enum kprobe_refusal kprobe_fetch(unsigned long addr, struct kprobe_insn *ki)
{
	unsigned long size, into, at;
	unsigned int padding = 0, len;
	struct text_window w = {};
	enum kprobe_refusal why;

	lockdep_assert_held(&text_mutex);

	if (!kallsyms_lookup_size_offset(addr, &size, &into))
		return KPROBE_REFUSAL_NOT_TEXT;

	for (at = addr - into; at < addr; at += len) {
		if (is_in_padding(&w, at)) {
			len = INT3_INSN_SIZE;
			padding++;
		} else {
			why = fetch_one(at, addr - into + size, ki, &w);
			if (why)
				return why;
			len = kprobe_skip(ki, at);
			padding = ki->bytes[0] == INT3_INSN_OPCODE ? padding + 1 : 0;
		}
		if (padding > MAX_PADDING)
			return KPROBE_REFUSAL_UNDECODED;
	}

	if (at != addr)
		return KPROBE_REFUSAL_BOUNDARY;
	return fetch_one(at, addr - into + size, ki, &w);
}

/*
 * Alternatives and calls of paravirt operations have been patched by now. With call depth
 * tracking, a call goes to the padding in front of the function, which runs into it.
 */
int __init arch_kprobe_for_each_branch(unsigned long start, unsigned long end,
				       int (*fn)(unsigned long target, void *arg), void *arg)
{
	struct text_window w = {};
	struct kprobe_insn ki;
	unsigned long at, target;
	int ret;
	u8 op;

	for (at = start; at < end; at += kprobe_skip(&ki, at)) {
		if (fetch_one(at, end, &ki, &w)) {
			/* Data or padding; the decoder soon resynchronizes. */
			ki = (struct kprobe_insn){ .insn.length = 1 };
			continue;
		}
		op = kprobe_insn_branch(&ki.insn);
		if (!kprobe_op_is_direct(op))
			continue;
		target = kprobe_insn_target(&ki.insn, at);
		ret = fn(target, arg);
		if (IS_ENABLED(CONFIG_CALL_THUNKS) && op == KPROBE_OP_CALL)
			ret = ret ?: fn(ALIGN(target, CONFIG_FUNCTION_ALIGNMENT), arg);
		if (ret)
			return ret;
	}

	return 0;
}

/*
 * Assemble a copy of the instruction at @from in @buf, to run at @to. Returns its length, or
 * -ERANGE if its operand is out of reach of @to.
 */
int kprobe_copy(u8 *buf, struct kprobe_insn *ki, unsigned long from,
		unsigned long to)
{
	struct insn *insn = &ki->insn;
	long disp;

	memcpy(buf, ki->bytes, insn->length);
	if (insn_rip_relative(insn)) {
		disp = insn->displacement.value + (long)(from - to);
		if (!kprobe_is_rel32(disp))
			return -ERANGE;
		put_unaligned((s32)disp, (s32 *)(buf + insn_offset_displacement(insn)));
	}

	return insn->length;
}
