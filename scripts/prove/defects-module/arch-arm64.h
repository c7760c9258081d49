/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of arm64 to be probed.
 */

#define CODE(name)							\
	long defects_##name(long arg);					\
	extern kprobe_opcode_t defects_##name##_at[];			\
	asm(".pushsection .text, \"ax\"\n"				\
	    ".balign 16\n"						\
	    "defects_" #name ":\n"					\
	    "	bti c\n"						\
	    "defects_" #name "_at:\n"					\
	    "	add x0, x0, #0\n"					\
	    "	ret\n"							\
	    ".popsection\n")

CODE(plain);
CODE(other);

/* There are no jumps. */
static bool has_jump(void *addr)
{
	return false;
}

#define ARCH_TESTS
