/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of powerpc, of 64 bits, to be probed, and tests of its instructions.
 */

#include <linux/irqflags.h>
#include <linux/sched/debug.h>
#include <linux/uaccess.h>

#include <asm/extable.h>
#include <asm/hw_irq.h>
#include <asm/paca.h>
#include <asm/reg.h>

/*
 * Modules have no jumps in the base, and pages of 64 KiB have more slots than the test leaks.
 *
 * Defects of the base's backend that ppc64le does not show in QEMU:
 * - r13 of another CPU, after a task has been preempted in a detour or in a callback of
 *   ftrace, needs PREEMPTION, and luck;
 * - slots that cannot be executed after boot need book3s/32, and a limit of nine detours
 *   needs pages of 4 KiB;
 * - a prefixed load that is stepped beside its operand, and PLQ and PSTQ with swapped
 *   registers, need POWER10;
 * - WRTEE and WRTEEI without effect need Book E;
 * - a fault of an interrupt during a step, and a third level of steps, need an interrupt
 *   at one instruction;
 * - the first address in the trace of a sleeping task is what happens to be in the slot.
 */
#define NOT_SEEN	"again waits twice"
/* To kallsyms, the instruction is in the middle of the function. */
#define CODE_AT		".L"
#define CODE_SYMBOL(name)	".type defects_" #name ", @function\n"
#define CODE_BEGIN	"	nop\n"
#define CODE_END	"	blr\n"

CODE(plain, PROBED(plain) "addi 3, 3, 0\n");
CODE(other, PROBED(other) "addi 3, 3, 0\n");
/* Nothing emulates it. */
CODE(version, PROBED(version) "mfspr 4, 287\n");

/* What irqs_disabled() reads and local_irq_save() stores. Offsets need the compiler. */
extern kprobe_opcode_t defects_mask_read_at[] asm(".Ldefects_mask_read_at");
extern kprobe_opcode_t defects_mask_write_at[] asm(".Ldefects_mask_write_at");

static noinline __noclone long defects_mask_read(void)
{
	long mask;

	asm volatile(PROBED(mask_read) "lbz %0, %1(13)"
		     : "=r" (mask) : "i" (offsetof(struct paca_struct, irq_soft_mask)));
	return mask;
}

static noinline __noclone void defects_mask_write(long mask)
{
	asm volatile(PROBED(mask_write) "stb %0, %1(13)"
		     : : "r" (mask), "i" (offsetof(struct paca_struct, irq_soft_mask)) : "memory");
}

/* Between the two, an exception makes the store fail. */
CODE(reserved,
     "	addi 4, 1, -16\n"
     "1:	lwarx 5, 0, 4\n"
     PROBED(reserved) "addi 5, 5, 1\n"
     "	stwcx. 5, 0, 4\n"
     "	bne- 1b\n");

/* Never executed. */
CODE(tar,
     PROBED(tar) ".long 0x4e800460\n"		/* bctar */
     "	.long 0x4c000124\n");			/* rfebb 0 */
CODE(srr,
     PROBED(srr) "mfspr 3, 26\n"		/* SRR0 */
     "	mfspr 3, 27\n"
     "	mtspr 26, 3\n"
     "	mtspr 27, 3\n");
CODE(paca,
     PROBED(paca) "mr 13, 3\n"
     "	ld 13, 0(3)\n"
     "	mfspr 13, 277\n");			/* SPRG5 */

/* Never executed. The two words of an instruction are within 64 bytes. */
CODE(prefixed,
     "	b 1f\n"
     PROBED(prefixed) ".long 0x06000000, 0x38630001\n"	/* paddi 3, 3, 1 */
     "1:\n");

/* What is before its first instruction looks like the prefix of one, but belongs to nobody. */
long defects_literal(long arg);
asm(".pushsection .text, \"ax\"\n"
    ".balign 16\n"
    "	.long 0x06000000, 0x06000000, 0x06000000, 0x06000000\n"
    ".type defects_literal, @function\n"
    "defects_literal:\n"
    "	nop\n"
    "	blr\n"
    ".size defects_literal, . - defects_literal\n"
    ".popsection\n");

/* Returns MSR[EE] after it has been switched off, before that is recorded in the paca. */
CODE(unrecorded,
     "	mfmsr 4\n"
     "	li 5, 2\n"				/* MSR[RI] */
     "	mtmsrd 5, 1\n"
     PROBED(unrecorded) "nop\n"
     "	mfmsr 3\n"
     "	mtmsrd 4, 1\n"
     "	andi. 3, 3, 0x8000\n");

/* Returns how wrong the back chain is that it has stored. */
CODE(chain,
     "	li 4, 0\n"
     "	std 4, -64(1)\n"
     PROBED(chain) "stdu 1, -64(1)\n"
     "	ld 4, 0(1)\n"
     "	addi 1, 1, 64\n"
     "	subf 3, 4, 1\n");

/* Reads from an address; -1 if that fails. */
CODE(load,
     PROBED(load) "ld 3, 0(3)\n"
     "	blr\n"
     "2:	li 3, -1\n"
     EX_TABLE(.Ldefects_load_at, 2b));

/* Sets CR0[SO], as arithmetic and atomic operations do. */
CODE(overflow,
     PROBED(overflow) "nop\n"
     "	li 4, 1\n"
     "	sldi 4, 4, 63\n"
     "	addo. 5, 4, 4\n"
     "	li 4, 0\n"
     "	mtxer 4\n");

/* It has saved the address of its caller before this instruction. */
CODE(saved,
     "	mflr 0\n"
     "	std 0, 16(1)\n"
     PROBED(saved) "nop\n"
     "	ld 0, 16(1)\n"
     "	mtlr 0\n");

/*
 * Too short to be traced, and the next one is traced. Without a use of the argument, calls
 * would be removed.
 */
#define IN_ORDER	noinline __noclone __attribute__((no_reorder))

static IN_ORDER notrace long defects_short(long arg)
{
	return arg + 1;
}

static IN_ORDER long defects_next(long arg)
{
	barrier();
	return arg + 2;
}

/* A site of ftrace is the second instruction; the base does not look for it by address. */
#define SITE_OF(fn)	((void *)(fn) + 4)

/* None of these instructions is a branch. */
static bool has_jump(void *addr)
{
	return (READ_ONCE(*(u32 *)addr) & 0xfc000003) == 0x48000000;
}

/* The address of a function of the kernel, without its site of ftrace; 0 if it is not there. */
static unsigned long address_of(const char *name)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name", .offset = 4,
			     .flags = KPROBE_FLAG_DISABLED };
	unsigned long (*lookup)(const char *name);

	if (register_kprobe(&kp))
		return 0;
	lookup = (void *)kp.addr - 4;
	unregister_kprobe(&kp);
	return lookup(name);
}

DEFECT(reserved, "a probe between a load that reserves and its store", wrong)
	REFUSED(reserved, 1)

DEFECT(tar, "BCTAR and RFEBB are executed out of line", wrong)
	REFUSED(tar, 2)

DEFECT(srr, "what the breakpoint itself has changed, or would change", wrong)
	REFUSED(srr, 4)

DEFECT(paca, "R13 is set, but not restored", wrong)
	REFUSED(paca, 3)

DEFECT(mask_read, "LBZ of the soft interrupt mask reads that of the exception", wrong)
{
	struct kprobe kp = probe_on(defects_mask_read_at);
	long mask;

	if (register_kprobe(&kp))
		return wrong("no probe");
	mask = defects_mask_read();
	unregister_kprobe(&kp);
	return expect(mask, IRQS_ENABLED);
}

DEFECT(mask_write, "STB to the soft interrupt mask is undone by the exit", wrong)
{
	struct kprobe kp = probe_on(defects_mask_write_at);
	bool off;

	if (register_kprobe(&kp))
		return wrong("no probe");
	defects_mask_write(IRQS_DISABLED);
	off = irqs_disabled();
	local_irq_enable();
	unregister_kprobe(&kp);
	return expect(off, true);
}

/* A load that is stepped takes the exception of segments that are not there. */
DEFECT(segment, "a segment fault in the copy does not reach its fixup", dies)
	RETURNS(load, 0x4000000000000000, -1)

/* The fault of a copy or of its emulation, inside another hit. */
static long result_seen;

static int load_from_nowhere(struct kprobe *p, struct pt_regs *regs)
{
	result_seen = defects_load(8);
	return 0;
}

DEFECT(nested_fault, "the fault of a nested hit is that of the emulation", dies)
{
	struct kprobe outer = { .addr = defects_plain_at, .pre_handler = load_from_nowhere };
	struct kprobe inner = probe_on(defects_load_at);

	if (register_kprobe(&inner) || register_kprobe(&outer))
		return wrong("no probe");
	defects_plain(1);
	unregister_kprobe(&outer);
	unregister_kprobe(&inner);
	return expect(result_seen, -1);
}

/* A store that has to wait until the stack of the exception is not needed any more. */
static void call_plain_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	defects_plain(1);
}

DEFECT(chain, "a hit in a post handler takes the back chain of a frame", wrong)
{
	struct kprobe outer = { .addr = defects_chain_at, .post_handler = call_plain_post };
	struct kprobe inner = probe_on(defects_plain_at);
	long off;

	if (register_kprobe(&inner) || register_kprobe(&outer))
		return wrong("no probe");
	off = defects_chain(0);
	unregister_kprobe(&outer);
	unregister_kprobe(&inner);
	return expect(off, 0);
}

DEFECT(prefixed, "a probe leaves 0 in the second word of its instruction", wrong)
{
	u32 suffix = READ_ONCE(defects_prefixed_at[1]);
	struct kprobe kp = probe_on(defects_prefixed_at);

	if (register_kprobe(&kp))
		return wrong("no probe");
	unregister_kprobe(&kp);
	return expect(READ_ONCE(defects_prefixed_at[1]), suffix);
}

DEFECT(literal, "what follows a word like a prefix is refused", wrong)
{
	struct kprobe kp = probe_on(defects_literal);
	int ret = register_kprobe(&kp);

	if (!ret)
		unregister_kprobe(&kp);
	return expect(ret, 0);
}

DEFECT(unrecorded, "a hit enables interrupts that are not recorded as disabled", wrong)
{
	struct kprobe kp = probe_on(defects_unrecorded_at);
	long on;

	if (register_kprobe(&kp))
		return 0;
	on = defects_unrecorded(0);
	unregister_kprobe(&kp);
	return expect(on, 0);
}

/* A handler of returns asks for the result. */

static int note_result(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	result_seen = regs_return_value(regs);
	return 0;
}

DEFECT(overflow, "with CR0[SO] set, the result of a function is negated", wrong)
{
	struct kretprobe rp = { .kp.addr = (void *)defects_overflow, .handler = note_result };

	if (register_kretprobe(&rp))
		return wrong("no probe");
	defects_overflow(5);
	unregister_kretprobe(&rp);
	return expect(result_seen, 5);
}

DEFECT(saved, "a return probe where the return address has been saved", "6.12=wrong 7.3=right")
{
	struct kretprobe rp = { .kp.addr = defects_saved_at, .handler = note_result };
	int ret = register_kretprobe(&rp);

	if (!ret)
		unregister_kretprobe(&rp);
	return ret ? 0 : wrong("accepted at %pS", defects_saved_at);
}

DEFECT(next_function, "a probe by name is in the next function", wrong)
{
	struct kprobe kp = { .symbol_name = "defects_short", .pre_handler = count_pre };
	long sum;

	if (register_kprobe(&kp))
		return wrong("no probe");
	sum = defects_short(hits.counter);
	if (!atomic_read(&hits))
		sum += defects_next(sum);
	unregister_kprobe(&kp);
	pr_info("probe at %pS, sum %ld\n", kp.addr, sum);
	return expect(kp.addr, (long)defects_short);
}

/* Text that is rewritten when a mitigation is switched, without looking at what is there. */
DEFECT(mitigation, "switching a mitigation removes the breakpoint", wrong)
{
	const long *entry = (void *)address_of("__start___barrier_nospec_fixup");
	struct kprobe kp = { .pre_handler = count_pre };
	u32 before, after;

	if (!entry)
		return wrong("no table");
	kp.addr = (void *)entry + *entry;
	if (register_kprobe(&kp))
		return 0;
	before = READ_ONCE(*kp.addr);
	if (shell("cd /sys/kernel/debug/powerpc && "
		  "for i in 0 1 0 1; do echo $i >barrier_nospec; done"))
		pr_info("the mitigation cannot be switched\n");
	after = READ_ONCE(*kp.addr);
	unregister_kprobe(&kp);
	return expect(after, before);
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&hits);
	return 0;
}

/* A return that is diverted first, and then asked for by a tracer that was there before. */
DEFECT(graph, "function graph drops the return of a return probe", wrong)
{
	struct kretprobe rp = { .kp.addr = SITE_OF(traced_f), .handler = count_return };
	int ret;

	ret = shell("mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing && "
		    "echo traced_f >set_graph_function && echo function_graph >current_tracer");
	ret = ret ?: register_kretprobe(&rp);
	if (ret)
		return wrong("no tracer or no probe: %d", ret);
	traced_f();
	shell("cd /sys/kernel/tracing && echo nop >current_tracer");
	unregister_kretprobe(&rp);
	return expect(atomic_read(&hits), 1);
}

/* The guest's script looks for the trampoline in the log. */
static noinline long wait_for_stop(void)
{
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return 0;
}

static int stay(void *data)
{
	long ret = wait_for_stop();

	/* Not a tail call. */
	barrier();
	return ret;
}

DEFECT(shown, "the stack of a task ends in a trampoline", wrong)
{
	struct kretprobe rp = { .kp.symbol_name = "wait_for_stop", .handler = count_return };
	struct task_struct *task;

	if (register_kretprobe(&rp))
		return wrong("no probe");
	task = kthread_run(stay, NULL, "defects");
	if (IS_ERR(task))
		return wrong("no thread");
	msleep(200);
	sched_show_task(task);
	kthread_stop(task);
	unregister_kretprobe(&rp);
	return expect(atomic_read(&hits), 1);
}

/* Each redirection at a site of ftrace leaves something on a stack that livepatch has. */
static int to_caller(struct kprobe *p, struct pt_regs *regs)
{
	regs_set_return_ip(regs, regs->link);
	return 1;
}

DEFECT(redirected, "each redirection stays on the stack of livepatch", wrong)
{
	struct kprobe kp = { .addr = SITE_OF(traced_f), .pre_handler = to_caller };
	unsigned long *used = current_thread_info()->livepatch_sp;
	int i;

	if (register_kprobe(&kp))
		return wrong("no probe");
	for (i = 0; i < 10; i++)
		traced_f();
	unregister_kprobe(&kp);
	return expect(current_thread_info()->livepatch_sp, (long)used);
}

/*
 * Code of exceptions. It is hit all the time, or by the other probe.
 */
static int by_symbol(const char *symbol, unsigned int offset)
{
	struct kprobe on = { .symbol_name = symbol, .offset = offset, .pre_handler = count_pre,
			     .post_handler = count_post };
	struct kprobe kp = probe_on(defects_version_at);
	int i, ret;

	if (register_kprobe(&on))
		return 0;
	kp.post_handler = count_post;
	ret = register_kprobe(&kp);
	for (i = 0; i < 10 && !ret; i++) {
		defects_version(1);
		msleep(20);
	}
	if (!ret)
		unregister_kprobe(&kp);
	unregister_kprobe(&on);
	/* Nothing was wrong, so this proves nothing. */
	return wrong("accepted, %d hits", atomic_read(&hits));
}

DEFECT(vectors, "a probe where an exception cannot be recovered from", wrong)
	{ return by_symbol("data_access_common_virt", 4); }

DEFECT(exits, "a probe in what each exception returns through", dies)
	{ return by_symbol("interrupt_exit_kernel_prepare", 16); }

DEFECT(traps, "a probe in the handler of traps", dies)
	{ return by_symbol("do_program_check", 16); }

DEFECT(steps, "a probe in the handler of steps", wrong)
	{ return by_symbol("__single_step_exception", 16); }

/* Each process begins with segment faults of its own. */
DEFECT(segments, "a probe in the handler of segment faults", wrong)
{
	struct kprobe kp = { .symbol_name = "slb_allocate_user", .offset = 16,
			     .pre_handler = count_pre, .post_handler = count_post };

	if (register_kprobe(&kp))
		return 0;
	shell("exit 0");
	unregister_kprobe(&kp);
	return wrong("accepted, %d hits", atomic_read(&hits));
}

/*
 * Jumps, which only the text of the kernel has in the base
 */

/* A probe with a jump at the first such instruction of scnprintf(), which has a frame. */
static bool jump_in_scnprintf(struct kprobe *kp, u32 mask, u32 insn)
{
	unsigned long addr = address_of("scnprintf");
	int i;

	for (i = 0; i < 200 && addr && (*(u32 *)addr & mask) != insn; i++)
		addr += 4;
	kp->addr = (void *)addr;
	if (!addr || i == 200 || register_kprobe(kp)) {
		wrong("no such instruction, or no probe");
		return false;
	}
	if (gets_jump(kp->addr))
		return true;

	unregister_kprobe(kp);
	pr_info("no jump at %pS\n", kp->addr);
	return false;
}

DEFECT(epilogue, "a jump instead of an instruction that moves the stack pointer", dies)
{
	struct kprobe kp = { .pre_handler = count_pre };
	char text[16];
	int n;

	/* addi r1, r1, a positive constant */
	if (!jump_in_scnprintf(&kp, 0xffff8000, 0x38210000))
		return 0;
	atomic_set(&hits, 0);
	n = scnprintf(text, sizeof(text), "%d", 1234567);
	unregister_kprobe(&kp);
	return expect(n, 7) ?: expect(atomic_read(&hits) > 0, 1);
}

/* The code of a detour; its second instruction can be probed anywhere else. */
DEFECT(detour, "a probe in a detour", wrong)
{
	struct kprobe kp = { .pre_handler = count_pre };
	int ret;

	/* mr, between any two registers */
	if (!jump_in_scnprintf(&kp, 0xfc0007ff, 0x7c000378))
		return 0;
	ret = refused((void *)kp.addr + sign_extend32(*kp.addr & 0x3fffffc, 25) + 4, 1);
	unregister_kprobe(&kp);
	return ret;
}

/* A call inside another hit, where no handler runs. */
static int print_number(struct kprobe *p, struct pt_regs *regs)
{
	char text[16];

	result_seen = scnprintf(text, sizeof(text), "%d", 1234567);
	return 0;
}

DEFECT(nested_call, "a call in a detour whose handler is not called", dies)
{
	struct kprobe outer = { .addr = defects_plain_at, .pre_handler = print_number };
	struct kprobe call = { .pre_handler = count_pre };

	if (!jump_in_scnprintf(&call, 0xfc000003, 0x48000001))
		return 0;
	if (register_kprobe(&outer))
		return wrong("no probe");
	defects_plain(1);
	unregister_kprobe(&outer);
	unregister_kprobe(&call);
	return expect(result_seen, 7);
}
