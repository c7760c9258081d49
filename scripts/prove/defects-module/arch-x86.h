/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of x86_64 to be probed, and tests of its instructions.
 */

#include <asm/asm.h>
#include <asm/fpu/api.h>

/* objtool ignores symbols without a type. */
#define CODE(name, text)						\
	long defects_##name(long arg);					\
	extern u8 defects_##name##_at[];				\
	asm(".pushsection .text, \"ax\", @progbits\n"			\
	    ".balign 16\n"						\
	    "defects_" #name ":\n"					\
	    text							\
	    "	ret\n"							\
	    "	.skip 16, 0xcc\n"					\
	    ".popsection\n")

/* The instruction that gets the probe. */
#define PROBED(name)	"defects_" #name "_at: "

CODE(loop,
     "	mov $5, %ecx\n"
     "	xor %eax, %eax\n"
     "1:	inc %eax\n"
     PROBED(loop) "loop 1b\n");

CODE(loop32,
     "	movabs $0x100000002, %rcx\n"
     PROBED(loop32) "addr32 loop 1f\n"
     "1:	mov %rcx, %rax\n");

CODE(ret_imm,
     "	mov %rsp, %r8\n"
     "	push $0\n"
     "	push $0\n"
     "	call 1f\n"
     "	mov %r8, %rax\n"
     "	sub %rsp, %rax\n"
     "	mov %r8, %rsp\n"
     "	ret\n"
     "1:\n"
     PROBED(ret_imm) "ret $16\n");

CODE(popf16,
     "	mov %rsp, %r8\n"
     "	pushfq\n"
     "	pushfw\n"
     PROBED(popf16) "popfw\n"
     "	mov %r8, %rax\n"
     "	sub %rsp, %rax\n"
     "	mov %r8, %rsp\n");

/* A call that returns one byte too early executes other instructions. */
CODE(cs_call,
     PROBED(cs_call) ".byte 0x2e; call 2f\n"
     "1:	.byte 0xc0, 0xe0, 0x00\n"		/* shl $0, %al */
     "	lea 1b(%rip), %rcx\n"
     "	sub %rcx, %rax\n"
     "	ret\n"
     "2:	mov (%rsp), %rax\n");

CODE(vex,
     "	movd %edi, %xmm0\n"
     PROBED(vex) "vpshufd $0, %xmm0, %xmm0\n"
     "	pextrd $1, %xmm0, %eax\n");

/* Loads from an address that is not canonical. */
CODE(fixup,
     "	movabs $0x8000000000000000, %rcx\n"
     "	xor %eax, %eax\n"
     PROBED(fixup) "mov (%rcx), %rcx\n"
     "	mov $1, %eax\n"
     "1:\n"
     _ASM_EXTABLE(defects_fixup_at, 1b));

/* Never executed. */
CODE(hlt, PROBED(hlt) "hlt\n");
CODE(swapgs, PROBED(swapgs) "swapgs\n");

/* Long enough for a jump. */
CODE(plain, PROBED(plain) "mov %rdi, %rax\n" ".skip 13, 0x90\n");
CODE(other, PROBED(other) "mov %rdi, %rax\n");

static bool has_jump(void *addr)
{
	return READ_ONCE(*(u8 *)addr) == 0xe9;
}

/*
 * Passes on what the code returns with a probe, which must be hit. With a post
 * handler, the CPU does not execute what can be emulated.
 */
static int with_probe(void *at, long (*fn)(long), long arg, long *result)
{
	struct kprobe kp = probe_on(at);
	int ret;

	kp.post_handler = count_post;
	ret = register_kprobe(&kp);
	if (ret)
		return wrong("no probe: %d", ret);
	*result = fn(arg);
	unregister_kprobe(&kp);
	return atomic_read(&hits) ? 0 : wrong("no hit");
}

#define INSN_TEST(name, arg, want)					\
static int name(void)							\
{									\
	long result;							\
									\
	return with_probe(defects_##name##_at, defects_##name, arg, &result) ?: \
	       expect(result, want);					\
}

INSN_TEST(loop, 0, 5)
INSN_TEST(loop32, 0, 1)
INSN_TEST(ret_imm, 0, 0)
INSN_TEST(popf16, 0, 8)
INSN_TEST(cs_call, 0, 0)
INSN_TEST(fixup, 0, 0)

static int vex(void)
{
	struct kprobe kp = probe_on(defects_vex_at);
	long result;

	if (!boot_cpu_has(X86_FEATURE_AVX))
		return wrong("the CPU has no AVX");
	if (register_kprobe(&kp))
		return wrong("no probe");
	kernel_fpu_begin();
	result = defects_vex(0x1234);
	kernel_fpu_end();
	unregister_kprobe(&kp);
	return expect(result, 0x1234);
}

static int refused(void *at)
{
	struct kprobe kp = probe_on(at);
	int ret = register_kprobe(&kp);

	if (!ret)
		unregister_kprobe(&kp);
	return ret ? 0 : wrong("accepted at %pS", at);
}

static int privileged(void)
{
	return refused(defects_hlt_at) ?: refused(defects_swapgs_at);
}

static int trampoline(void)
{
	struct kprobe kp = {
		.symbol_name	= "__SCT__x86_pmu_handle_irq",
		.flags		= KPROBE_FLAG_DISABLED,
	};
	int ret = register_kprobe(&kp);

	if (ret == -ENOENT)
		return wrong("there is no static call of that name");
	if (!ret)
		unregister_kprobe(&kp);
	return ret ? 0 : wrong("accepted");
}

#define ARCH_TESTS							\
	{ "loop", loop }, { "loop32", loop32 }, { "ret_imm", ret_imm },	\
	{ "popf16", popf16 }, { "cs_call", cs_call }, { "vex", vex },	\
	{ "fixup", fixup }, { "privileged", privileged },		\
	{ "trampoline", trampoline },
