/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of x86_64 to be probed, and tests of its instructions.
 */

#include <asm/asm.h>
#include <asm/fpu/api.h>

#define NOT_SEEN	""
#define CODE_AT		""
/* objtool ignores symbols without a type. */
#define CODE_SYMBOL(name)
#define CODE_BEGIN	""
#define CODE_END	"	ret\n	.skip 16, 0xcc\n"

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

DEFECT(loop, "LOOP branches on the count before the decrement", wrong)
	RETURNS(loop, 0, 5)

DEFECT(loop32, "LOOP of 32 bits keeps the upper half of the counter", wrong)
	RETURNS(loop32, 0, 1)

DEFECT(ret_imm, "RET with an operand does not release the stack", wrong)
	RETURNS(ret_imm, 0, 0)

DEFECT(popf16, "POPF of 16 bits pops a whole word", wrong)
	RETURNS(popf16, 0, 8)

DEFECT(cs_call, "a call with a prefix returns to a wrong address", "6.12=wrong 7.3=right")
	RETURNS(cs_call, 0, 0)

DEFECT(fixup, "a fault in the copy does not reach its fixup", dies)
	RETURNS(fixup, 0, 0)

DEFECT(vex, "a VEX opcode is taken for that of the other map", wrong)
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

DEFECT(privileged, "HLT and SWAPGS are accepted", wrong)
{
	return refused(defects_hlt_at, 1) ?: refused(defects_swapgs_at, 1);
}

DEFECT(trampoline, "the trampoline of a static call is accepted", wrong)
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
