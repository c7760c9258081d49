// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions in a module, to be probed by kprobe_test_driver. Writing to the
 * parameter "call" calls them. Writing to "load" has threads load a word, one on each CPU;
 * what they have loaded is "loaded". With "bad" set, the first one loads it from where
 * nothing is mapped, which is the end of that thread.
 */

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/jump_label.h>
#include <linux/kprobes-test-arch.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>

noinline int kprobe_test_fn(int v);
noinline int kprobe_test_nokprobe(int v);
noinline int kprobe_test_in_section(int v);
noinline int kprobe_test_no_trace(int v);
noinline int kprobe_test_keyed(int v);
noinline int kprobe_test_patched(int v);
noinline int kprobe_test_load(const int *from);

KP_TRACED(int, kprobe_test_fn, v + 3)
KP_TRACED(int, kprobe_test_nokprobe, v + 5)
NOKPROBE_SYMBOL(kprobe_test_nokprobe);

/* A variant of it, named like the compiler would. */
asm(".pushsection .text\n"
	"	.balign 16\n"
	"kprobe_test_nokprobe.isra.0:\n"
	"	nop\n	nop\n	nop\n	nop\n"
	"	.size kprobe_test_nokprobe.isra.0, . - kprobe_test_nokprobe.isra.0\n"
	"	.popsection\n");

noinline __noclone __kprobes int kprobe_test_in_section(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 7;
}

/* Not an ftrace site. */
noinline __noclone notrace int kprobe_test_no_trace(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 9;
}

/* kprobe_test_relocated replaces it. */
KP_TRACED(int, kprobe_test_patched, v + 15)

#ifdef CONFIG_X86_64
#include <linux/objtool.h>
#include <linux/stringify.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

/*
 * A branch to the second instruction, as given by @from. The first one is a single
 * byte, where there is such an instruction. The landing pads are not sealed: 6.12 would also
 * clear the CFI preamble before them, and these functions have none.
 */
#define ENTERED(name, from)						\
asm(".pushsection .text\n"						\
	".globl kprobe_test_into_" #name "\n"				\
	".type kprobe_test_into_" #name ", @function\n"			\
	"kprobe_test_into_" #name ":\n"					\
	ASM_ENDBR							\
	IBT_NOSEAL("kprobe_test_into_" #name)				\
	"	nop\n"							\
	".Lkprobe_test_in_" #name ":\n"						\
	ANNOTATE_NOENDBR "\n"						\
	"	.nops 12, 1\n"						\
	ASM_RET								\
	".skip 140, 0xf8\n"						\
	from "\n"							\
	ASM_RET								\
	".size kprobe_test_into_" #name ", . - kprobe_test_into_" #name "\n" \
	".popsection\n");							\
void kprobe_test_into_##name(void);					\
STACK_FRAME_NON_STANDARD(kprobe_test_into_##name)

#define FROM_SECTION(section, name)					\
	".pushsection " section "\n"					\
	".balign 8\n.quad .Lkprobe_test_in_" #name "\n.popsection"

ENTERED(nothing, "");
ENTERED(text, ".byte 0xe9; .long .Lkprobe_test_in_text - . - 4");
ENTERED(rodata, FROM_SECTION(".rodata", rodata));
ENTERED(data, FROM_SECTION(".data", data));
ENTERED(fixup, "1: mov (%rsp), %rcx\n" _ASM_EXTABLE(1b, .Lkprobe_test_in_fixup));
/*
 * A jump table of 32-bit offsets. Its targets have no landing pads. It is a symbol because
 * objtool takes an anonymous one for a quirk of the compiler.
 */
ENTERED(table, "lea kprobe_test_table(%rip), %rcx\n"
	"	movslq (%rcx), %rax\n"
	"	add %rcx, %rax\n"
	ANNOTATE_RETPOLINE_SAFE "\n"
	"	jmp *%rax\n"
	".pushsection .rodata\n.balign 4\n"
	".type kprobe_test_table, @object\n"
	".size kprobe_test_table, 4\n"
	"kprobe_test_table: .long .Lkprobe_test_in_table - kprobe_test_table\n"
	".popsection");

/*
 * Parts split off functions, named as by the compiler. The only computed jump of "split"
 * is in such a part; "whole" and its part have none.
 */
#define COLD(name, insns)						\
asm(".pushsection .text.unlikely\n"					\
	".balign 16\n"							\
	".type kprobe_test_into_" #name ".cold, @function\n"		\
	"kprobe_test_into_" #name ".cold:\n"				\
	"	.nops 12, 1\n"						\
	insns "\n"							\
	ASM_RET								\
	".size kprobe_test_into_" #name ".cold, . - kprobe_test_into_" #name ".cold\n" \
	".popsection\n")

ENTERED(split, "");
COLD(split, ANNOTATE_RETPOLINE_SAFE "\n	jmp *%rax");
ENTERED(whole, "");
COLD(whole, "");

/* More text than the optimizer scans at a time. */
asm(".pushsection .text\n"
	".globl kprobe_test_large\n"
	".type kprobe_test_large, @function\n"
	"kprobe_test_large:\n"
	ASM_ENDBR
	IBT_NOSEAL("kprobe_test_large")
	"	.skip 100 * 1024, 0x90\n"
	ASM_RET
	".size kprobe_test_large, . - kprobe_test_large\n"
	".popsection\n");
void kprobe_test_large(void);
STACK_FRAME_NON_STANDARD(kprobe_test_large);
#endif

/* Its text changes when the parameter "key" is written to. */
static DEFINE_STATIC_KEY_FALSE(key);

noinline __noclone int kprobe_test_keyed(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	if (static_branch_unlikely(&key))
		v = v * 7 + 1;
	v ^= 0x55;
	OPTIMIZER_HIDE_VAR(v);
	if (static_branch_likely(&key))
		return v + 3;
	return v - 5;
}

static int keyed_set(const char *val, const struct kernel_param *kp)
{
	bool on;

	if (kstrtobool(val, &on))
		return -EINVAL;
	if (on)
		static_branch_enable(&key);
	else
		static_branch_disable(&key);
	return 0;
}

/* Does the function do what the key says? */
static int keyed_get(char *buf, const struct kernel_param *kp)
{
	bool on = static_key_enabled(&key);
	int v, wrong = 0;

	for (v = 0; v < 100; v++) {
		int want = on ? ((v * 7 + 1) ^ 0x55) + 3 : (v ^ 0x55) - 5;

		wrong += kprobe_test_keyed(v) != want;
	}

	return sysfs_emit(buf, "%s\n", wrong ? "wrong" : on ? "on" : "off");
}

static const struct kernel_param_ops key_ops = {
	.set	= keyed_set,
	.get	= keyed_get,
};
module_param_cb(key, &key_ops, NULL, 0600);
MODULE_PARM_DESC(key, "a static key; read it to call a function that has it");

/* Volatile, so that the calls are made. */
static int result;

static int call_set(const char *val, const struct kernel_param *kp)
{
	int v;

	if (kstrtoint(val, 0, &v))
		return -EINVAL;
	v = kprobe_test_fn(v);
	v = kprobe_test_nokprobe(v);
	v = kprobe_test_no_trace(v);
	WRITE_ONCE(result, kprobe_test_in_section(v));
	return 0;
}

static const struct kernel_param_ops call_ops = {
	.set	= call_set,
};
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "written to: calls the functions once");

/* Its first instruction, after a landing pad, is the load. */
noinline __noclone notrace int kprobe_test_load(const int *from)
{
	return READ_ONCE(*from);
}

static bool bad;
module_param(bad, bool, 0600);
MODULE_PARM_DESC(bad, "whether the first thread loads from where nothing is mapped");

static int loaded;
module_param(loaded, int, 0400);
MODULE_PARM_DESC(loaded, "what threads have loaded, in all");

/* The last page is never mapped. */
#define NOWHERE		((const int *)-PAGE_SIZE)

struct loader {
	struct completion	begun;
	const int		*from;
};

static int load_thread(void *data)
{
	struct loader *l = data;

	complete(&l->begun);
	loaded += kprobe_test_load(l->from);
	return 0;
}

static int load_on(unsigned int cpu, const int *from)
{
	struct loader l = { .from = from };
	struct task_struct *task;

	init_completion(&l.begun);
	task = kthread_create_on_cpu(load_thread, &l, cpu, "kprobe_test/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	get_task_struct(task);
	wake_up_process(task);
	/* A thread that is stopped earlier does not begin at all. */
	wait_for_completion(&l.begun);
	kthread_stop_put(task);
	return 0;
}

static int load_set(const char *val, const struct kernel_param *kp)
{
	static const int word = 1;
	bool first = true;
	unsigned int cpu;
	int ret = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		ret = ret ?: load_on(cpu, bad && first ? NOWHERE : &word);
		first = false;
	}
	cpus_read_unlock();
	return ret;
}

static const struct kernel_param_ops load_ops = {
	.set	= load_set,
};
module_param_cb(load, &load_ops, NULL, 0200);
MODULE_PARM_DESC(load, "written to: threads load a word");

/* In text that is freed once the module is loaded. */
static noinline __noclone int __init kprobe_test_init_fn(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 11;
}

static noinline __noclone int __init kprobe_test_init_nokprobe(int v)
{
	OPTIMIZER_HIDE_VAR(v);
	return v + 13;
}
NOKPROBE_SYMBOL(kprobe_test_init_nokprobe);

static int __init kprobe_test_target_init(void)
{
	return kprobe_test_init_fn(1) == 12 && kprobe_test_init_nokprobe(1) == 14 ? 0 : -EINVAL;
}

static void __exit kprobe_test_target_exit(void)
{
}

module_init(kprobe_test_target_init);
module_exit(kprobe_test_target_exit);
MODULE_DESCRIPTION("Functions to be probed by kprobe_test_driver");
MODULE_LICENSE("GPL");
