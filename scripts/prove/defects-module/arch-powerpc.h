/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of powerpc, of 64 bits, to be probed, and tests of its instructions.
 */

#include <linux/irqflags.h>
#include <linux/uaccess.h>

#include <asm/extable.h>
#include <asm/hw_irq.h>
#include <asm/paca.h>
#include <asm/reg.h>

#define CODE(name, text)						\
	long defects_##name(long arg);					\
	extern kprobe_opcode_t defects_##name##_at[]			\
		asm(".Ldefects_" #name "_at");				\
	asm(".pushsection .text, \"ax\"\n"				\
	    ".balign 16\n"						\
	    ".type defects_" #name ", @function\n"			\
	    "defects_" #name ":\n"					\
	    "	nop\n"							\
	    text							\
	    "	blr\n"							\
	    ".size defects_" #name ", . - defects_" #name "\n"		\
	    ".popsection\n")

/* The instruction that gets the probe. To kallsyms, it is in the middle of the function. */
#define PROBED(name)	".Ldefects_" #name "_at: "

CODE(plain, PROBED(plain) "addi 3, 3, 0\n");
CODE(other, PROBED(other) "addi 3, 3, 0\n");

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

static int refused(void *at)
{
	struct kprobe kp = probe_on(at);
	int ret = register_kprobe(&kp);

	if (!ret)
		unregister_kprobe(&kp);
	return ret ? 0 : wrong("accepted at %pS", at);
}

/* As in arch-arm64.h: unless the base accepts each, neither outcome is proven. */
static int all_refused(kprobe_opcode_t *at, unsigned int nr)
{
	unsigned int i, accepted = 0;

	for (i = 0; i < nr; i++) {
		struct kprobe kp = probe_on(at + i);

		if (register_kprobe(&kp))
			continue;
		accepted++;
		unregister_kprobe(&kp);
	}
	if (accepted == nr)
		return wrong("accepted at %pS and after it, %u in all", at, nr);
	if (accepted)
		pr_info("%u of %u accepted at %pS\n", accepted, nr, at);
	return accepted;
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

static int reserved(void)
{
	return refused(defects_reserved_at);
}

static int tar(void)
{
	return all_refused(defects_tar_at, 2);
}

static int srr(void)
{
	return all_refused(defects_srr_at, 4);
}

static int paca(void)
{
	return all_refused(defects_paca_at, 3);
}

static int mask_read(void)
{
	struct kprobe kp = probe_on(defects_mask_read_at);
	long mask;

	if (register_kprobe(&kp))
		return wrong("no probe");
	mask = defects_mask_read();
	unregister_kprobe(&kp);
	return expect(mask, IRQS_ENABLED);
}

static int mask_write(void)
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
static int segment(void)
{
	struct kprobe kp = probe_on(defects_load_at);
	long result;

	kp.post_handler = count_post;
	if (register_kprobe(&kp))
		return wrong("no probe");
	result = defects_load(0x4000000000000000);
	unregister_kprobe(&kp);
	return expect(result, -1);
}

/* A handler of returns asks for the result. */
static long result_seen;

static int note_result(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	result_seen = regs_return_value(regs);
	return 0;
}

static int overflow(void)
{
	struct kretprobe rp = { .kp.addr = (void *)defects_overflow, .handler = note_result };

	if (register_kretprobe(&rp))
		return wrong("no probe");
	defects_overflow(5);
	unregister_kretprobe(&rp);
	return expect(result_seen, 5);
}

static int saved(void)
{
	struct kretprobe rp = { .kp.addr = defects_saved_at, .handler = note_result };
	int ret = register_kretprobe(&rp);

	if (!ret)
		unregister_kretprobe(&rp);
	return ret ? 0 : wrong("accepted at %pS", defects_saved_at);
}

static int next_function(void)
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

static int shell(const char *text)
{
	char *argv[] = { "/bin/sh", "-c", (char *)text, NULL };
	char *envp[] = { "PATH=/bin", NULL };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

/* Text that is rewritten when a mitigation is switched, without looking at what is there. */
static int mitigation(void)
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

/* A return that is diverted first, and then asked for by another tracer. */
static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&hits);
	return 0;
}

static int graph(void)
{
	struct kretprobe before = { .kp.addr = SITE_OF(traced_f), .handler = count_return };
	struct kretprobe after = { .kp.addr = SITE_OF(traced_g), .handler = count_return };
	int ret = register_kretprobe(&before);

	ret = ret ?: shell("mount -t tracefs none /sys/kernel/tracing; cd /sys/kernel/tracing && "
			   "echo traced_f >set_graph_function && "
			   "echo traced_g >>set_graph_function && "
			   "echo function_graph >current_tracer");
	ret = ret ?: register_kretprobe(&after);
	if (ret)
		return wrong("no probe or no tracer: %d", ret);
	traced_f();
	traced_g();
	shell("cd /sys/kernel/tracing && echo nop >current_tracer");
	unregister_kretprobe(&before);
	unregister_kretprobe(&after);
	return expect(atomic_read(&hits), 2);
}

/*
 * Code of exceptions. It is hit all the time, or by the other probe.
 */
static int by_symbol(const char *symbol, unsigned int offset)
{
	struct kprobe on = { .symbol_name = symbol, .offset = offset, .pre_handler = count_pre,
			     .post_handler = count_post };
	struct kprobe kp = probe_on(defects_plain_at);
	int i, ret;

	if (register_kprobe(&on))
		return 0;
	kp.post_handler = count_post;
	ret = register_kprobe(&kp);
	for (i = 0; i < 10 && !ret; i++) {
		defects_plain(1);
		msleep(20);
	}
	if (!ret)
		unregister_kprobe(&kp);
	unregister_kprobe(&on);
	/* Nothing was wrong, so this proves nothing. */
	return wrong("accepted, %d hits", atomic_read(&hits));
}

static int vectors(void)
{
	return by_symbol("data_access_common_virt", 4);
}

static int exits(void)
{
	return by_symbol("interrupt_exit_kernel_prepare", 4);
}

static int traps(void)
{
	return by_symbol("do_program_check", 16);
}

static int steps(void)
{
	return by_symbol("__single_step_exception", 16);
}

/* The end of a function that has a frame; only the text of the kernel has jumps in the base. */
static int epilogue(void)
{
	unsigned long addr = address_of("scnprintf");
	struct kprobe kp = { .pre_handler = count_pre };
	char text[16];
	int i, n = 0;

	/* addi r1, r1, a positive constant */
	for (i = 0; i < 200 && addr && (*(u32 *)addr & 0xffff8000) != 0x38210000; i++)
		addr += 4;
	if (!addr || i == 200)
		return wrong("no such instruction");
	kp.addr = (void *)addr;
	if (register_kprobe(&kp))
		return wrong("no probe");
	if (!gets_jump(kp.addr)) {
		unregister_kprobe(&kp);
		pr_info("no jump\n");
		return 0;
	}
	atomic_set(&hits, 0);
	n = scnprintf(text, sizeof(text), "%d", 1234567);
	unregister_kprobe(&kp);
	return expect(n, 7) ?: expect(atomic_read(&hits) > 0, 1);
}

#define ARCH_TESTS							\
	{ "mask_read", mask_read }, { "mask_write", mask_write },	\
	{ "reserved", reserved }, { "tar", tar }, { "srr", srr },	\
	{ "paca", paca }, { "segment", segment },			\
	{ "overflow", overflow }, { "saved", saved },			\
	{ "next_function", next_function },				\
	{ "mitigation", mitigation }, { "graph", graph },		\
	{ "vectors", vectors }, { "exits", exits }, { "traps", traps },	\
	{ "steps", steps }, { "epilogue", epilogue },
