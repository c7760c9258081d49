// SPDX-License-Identifier: GPL-2.0-only
/*
 * A livepatch for kprobe_test_target, with operands that are relocated when that
 * module is loaded. Reading the parameter "result" executes them.
 *
 * The assembler cannot make the section with the relocations. scripts/build/livepatch-rela
 * makes it out of the placeholder here; otherwise they are never applied.
 */

#include <linux/linkage.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/stringify.h>

/* With two dots, it is not merged with others by linker scripts: offsets count from its start. */
#define SECTION		".text..kprobe_test_relocated"
#define RELOCATIONS	".klp.rela.kprobe_test_target." SECTION
#define SYMBOL		"\".klp.sym.kprobe_test_target.kprobe_test_fn,0\""

/* The relocation of the field at the label 555. */
#define RELOCATION(type, addend)					\
	".pushsection " RELOCATIONS ", \"a\"\n"				\
	"	.balign 8\n"						\
	"	.quad 555b - kprobe_test_klp_start, " #type ", " #addend "\n" \
	".popsection\n"

asm(".pushsection " SECTION ", \"ax\"\n"
	"kprobe_test_klp_start:\n"
	".popsection\n"
	".globl " SYMBOL "\n"
	".set " SYMBOL ", 0\n");

#ifdef CONFIG_X86_64
#include <linux/objtool.h>

#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

/*
 * A function with one relocated instruction, at kprobe_test_klp_at_NAME: @opcode is
 * what precedes the field of @size bytes. @end receives what is relative to the end of
 * the field.
 */
#define RELOCATED(name, opcode, size, type, end)			\
asm(".pushsection " SECTION ", \"ax\"\n"				\
	".globl kprobe_test_klp_" #name "\n"				\
	".type kprobe_test_klp_" #name ", @function\n"			\
	"kprobe_test_klp_" #name ":\n"					\
	ASM_ENDBR							\
	IBT_NOSEAL("kprobe_test_klp_" #name)				\
	"	xor %eax, %eax\n"					\
	".globl kprobe_test_klp_at_" #name "\n"				\
	"kprobe_test_klp_at_" #name ":\n"				\
	"	.byte " opcode "\n"					\
	"555:	.skip " #size "\n"					\
	ASM_RET								\
	".size kprobe_test_klp_" #name ", . - kprobe_test_klp_" #name "\n" \
	".popsection\n"							\
	RELOCATION(type, end));						\
unsigned long kprobe_test_klp_##name(int v);				\
STACK_FRAME_NON_STANDARD(kprobe_test_klp_##name)

/* R_X86_64_PLT32, _PC32, _32S and _64. */
RELOCATED(call, "0xe8", 4, 4, -4);			/* call kprobe_test_fn */
RELOCATED(lea, "0x48, 0x8d, 0x05", 4, 2, -4);		/* lea kprobe_test_fn(%rip), %rax */
RELOCATED(mov, "0x48, 0xc7, 0xc0", 4, 11, 0);		/* mov $kprobe_test_fn, %rax */
RELOCATED(movabs, "0x48, 0xb8", 8, 1, 0);		/* movabs $kprobe_test_fn, %rax */

asm(".pushsection " SECTION ", \"ax\"\n"
	".globl kprobe_test_klp_plain\n"
	".type kprobe_test_klp_plain, @function\n"
	"kprobe_test_klp_plain:\n"
	ASM_ENDBR
	IBT_NOSEAL("kprobe_test_klp_plain")
	"	lea 5(%rdi), %eax\n"
	"	.nops 8, 1\n"
	ASM_RET
	".size kprobe_test_klp_plain, . - kprobe_test_klp_plain\n"
	".popsection\n");
unsigned long kprobe_test_klp_plain(int v);
STACK_FRAME_NON_STANDARD(kprobe_test_klp_plain);

/*
 * What the call returns, whether the others agree on an address, and an operand
 * without a relocation. While the target is not loaded, the call goes to the next
 * instruction.
 */
static int print_results(char *buf)
{
	unsigned long addr = kprobe_test_klp_mov(0);

	return sysfs_emit(buf, "%lu %d %lu\n", kprobe_test_klp_call(4),
			  addr && kprobe_test_klp_lea(0) == addr &&
			  kprobe_test_klp_movabs(0) == addr,
			  kprobe_test_klp_plain(4));
}

#elif defined(CONFIG_PPC64)
/*
 * A call with a relocation, which also replaces the nop after it. Until then, the function that is
 * called returns its argument.
 */
asm(".pushsection " SECTION ", \"ax\"\n"
	".type kprobe_test_klp_unresolved, @function\n"
	"kprobe_test_klp_unresolved:\n"
	"	blr\n"
	".size kprobe_test_klp_unresolved, . - kprobe_test_klp_unresolved\n"
	".globl kprobe_test_klp_call\n"
	".type kprobe_test_klp_call, @function\n"
	"kprobe_test_klp_call:\n"
	"	mflr 0\n"
	"	std 0, 16(1)\n"
	"	stdu 1, -32(1)\n"
	".globl kprobe_test_klp_at_call\n"
	"kprobe_test_klp_at_call:\n"
	"555:	bl kprobe_test_klp_unresolved\n"
	".globl kprobe_test_klp_at_nop\n"
	"kprobe_test_klp_at_nop:\n"
	"	nop\n"
	"	addi 1, 1, 32\n"
	"	ld 0, 16(1)\n"
	"	mtlr 0\n"
	"	blr\n"
	".size kprobe_test_klp_call, . - kprobe_test_klp_call\n"
	".globl kprobe_test_klp_plain\n"
	".type kprobe_test_klp_plain, @function\n"
	"kprobe_test_klp_plain:\n"
	"	addi 3, 3, 5\n"
	"	blr\n"
	".size kprobe_test_klp_plain, . - kprobe_test_klp_plain\n"
	".popsection\n"
	RELOCATION(10, 0));			/* R_PPC_REL24 */
unsigned long kprobe_test_klp_call(int v);
unsigned long kprobe_test_klp_plain(int v);

/* What the call returns, and an operand without a relocation. */
static int print_results(char *buf)
{
	return sysfs_emit(buf, "%lu %lu\n", kprobe_test_klp_call(4), kprobe_test_klp_plain(4));
}

#elif defined(CONFIG_ARM64)
/* A relocated instruction, at kprobe_test_klp_at_NAME. */
#define RELOCATED(name, insn, type)					\
	".globl kprobe_test_klp_at_" #name "\n"				\
	"kprobe_test_klp_at_" #name ":\n"				\
	"555:	" insn "\n"						\
	RELOCATION(type, 0)

/*
 * A call, and the address of the same function, made from two instructions and from four. Until
 * the relocation, the function that is called returns its argument.
 */
asm(".pushsection " SECTION ", \"ax\"\n"
	".type kprobe_test_klp_unresolved, %function\n"
	"kprobe_test_klp_unresolved:\n"
	"	ret\n"
	".size kprobe_test_klp_unresolved, . - kprobe_test_klp_unresolved\n"
	".globl kprobe_test_klp_call\n"
	".type kprobe_test_klp_call, %function\n"
	"kprobe_test_klp_call:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, sp\n"
	RELOCATED(call, "bl kprobe_test_klp_unresolved", 283)	/* R_AARCH64_CALL26 */
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	".size kprobe_test_klp_call, . - kprobe_test_klp_call\n"
	".globl kprobe_test_klp_near\n"
	".type kprobe_test_klp_near, %function\n"
	"kprobe_test_klp_near:\n"
	/* adrp x0, and R_AARCH64_ADR_PREL_PG_HI21 */
	RELOCATED(adrp, ".inst 0x90000000", 275)
	RELOCATED(add, "add x0, x0, #0", 277)			/* R_AARCH64_ADD_ABS_LO12_NC */
	"	ret\n"
	".size kprobe_test_klp_near, . - kprobe_test_klp_near\n"
	".globl kprobe_test_klp_far\n"
	".type kprobe_test_klp_far, %function\n"
	"kprobe_test_klp_far:\n"
	RELOCATED(movz, "movz x0, #0, lsl #48", 269)		/* R_AARCH64_MOVW_UABS_G3 */
	RELOCATED(movk2, "movk x0, #0, lsl #32", 268)		/* R_AARCH64_MOVW_UABS_G2_NC */
	RELOCATED(movk1, "movk x0, #0, lsl #16", 266)		/* R_AARCH64_MOVW_UABS_G1_NC */
	RELOCATED(movk0, "movk x0, #0", 264)			/* R_AARCH64_MOVW_UABS_G0_NC */
	"	ret\n"
	".size kprobe_test_klp_far, . - kprobe_test_klp_far\n"
	".globl kprobe_test_klp_plain\n"
	".type kprobe_test_klp_plain, %function\n"
	"kprobe_test_klp_plain:\n"
	"	add x0, x0, x0, lsr #2\n"
	"	mvn x0, x0\n"
	"	neg x0, x0\n"
	"	ret\n"
	".size kprobe_test_klp_plain, . - kprobe_test_klp_plain\n"
	".popsection\n");
unsigned long kprobe_test_klp_call(unsigned long v);
unsigned long kprobe_test_klp_near(void);
unsigned long kprobe_test_klp_far(void);
unsigned long kprobe_test_klp_plain(unsigned long v);

/* What the call returns, whether both addresses agree, and what has no relocation. */
static int print_results(char *buf)
{
	unsigned long addr = kprobe_test_klp_near();

	return sysfs_emit(buf, "%lu %d %lu\n", kprobe_test_klp_call(4),
			  addr == kprobe_test_klp_far(), kprobe_test_klp_plain(4));
}
#endif

static int patched(int v)
{
	return v;
}

static struct klp_func funcs[] = {
	{ .old_name = "kprobe_test_patched", .new_func = patched, },
	{}
};

static struct klp_object objs[] = {
	{ .name = "kprobe_test_target", .funcs = funcs, },
	{}
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objs,
};

static int result_get(char *buf, const struct kernel_param *kp)
{
	return print_results(buf);
}

static const struct kernel_param_ops result_ops = {
	.get	= result_get,
};
module_param_cb(result, &result_ops, NULL, 0400);
MODULE_PARM_DESC(result, "read: executes what is relocated");

static int __init kprobe_test_relocated_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit kprobe_test_relocated_exit(void)
{
}

module_init(kprobe_test_relocated_init);
module_exit(kprobe_test_relocated_exit);
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Operands that are relocated late, to be probed by kprobe_test_driver");
MODULE_LICENSE("GPL");
