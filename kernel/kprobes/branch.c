// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a branch is one word, which reaches only a part of the kernel's address space: pages for
 * slots, detours, and how breakpoints and branches replace each other.
 */

#include <linux/align.h>
#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/kasan.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/sections.h>

#include "slots.h"

#ifdef KPROBE_BRANCH_RANGE

/*
 * Pages
 *
 * Modules may be out of reach of the kernel, and of each other. So each page serves one region of
 * half the reach, and is in it, or beside it by at most a quarter of the reach. Then it is in reach
 * of each instruction of the region, and reaches branch targets another quarter outside of it.
 *
 * A window around one address would not do: vmalloc takes the lowest hole in it, which only the
 * next few addresses could share. execmem has no such windows, and does not work before
 * core_initcall.
 */

static void *alloc_between(unsigned long start, unsigned long end)
{
	void *page;

	start = max_t(unsigned long, start, KPROBE_PAGES_START);
	end = min_t(unsigned long, end, KPROBE_PAGES_END);
	if (start >= end || end - start < PAGE_SIZE)
		return NULL;

	page = __vmalloc_node_range(PAGE_SIZE, PAGE_SIZE, start, end, GFP_KERNEL | __GFP_NOWARN,
				    KPROBE_PAGES_PROT, VM_FLUSH_RESET_PERMS, NUMA_NO_NODE,
				    __builtin_return_address(0));
	if (!page)
		return NULL;

	/* Addresses of code have no tag. */
	page = kasan_reset_tag(page);
	if (arch_seal_page(page)) {
		vfree(page);
		return NULL;
	}
	return page;
}

/* For instructions whose copies need not branch to the program. */
void *alloc_insn_page(void)
{
	return alloc_between(KPROBE_PAGES_START, KPROBE_PAGES_END);
}

/**
 * kprobe_alloc_page_beside() - allocate a page of vmalloc memory for a region
 * @region: its start
 *
 * Code in a region of modules branches to the kernel. So the first choice is where all of the
 * kernel is in reach, too.
 *
 * Context: as alloc_insn_page().
 * Return: the page, or NULL.
 */
void *kprobe_alloc_page_beside(unsigned long region)
{
	unsigned long start = region - min(region, KPROBE_SLOT_BESIDE);
	unsigned long end = region + KPROBE_SLOT_REGION_SIZE + KPROBE_SLOT_BESIDE;
	void *page;

	/* With 32 bits, what is beside the last region overflows. */
	if (end < region)
		end = ULONG_MAX;
	page = alloc_between(max(start, (unsigned long)_end - KPROBE_BRANCH_RANGE),
			     min(end, (unsigned long)_text + KPROBE_BRANCH_RANGE));
	return page ?: alloc_between(start, end);
}

void * __weak alloc_insn_page_near(unsigned long start)
{
	return kprobe_alloc_page_beside(start);
}

/**
 * kprobe_pages_beside_reach() - is a target in reach of each page of kprobe_alloc_page_beside()?
 * @addr: an address in the region
 * @target: the target of a branch
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_pages_beside_reach(unsigned long addr, unsigned long target)
{
	unsigned long region = ALIGN_DOWN(addr, KPROBE_SLOT_REGION_SIZE);

	return target - (region - KPROBE_SLOT_BESIDE) < KPROBE_BRANCH_RANGE;
}

bool __weak arch_slots_reach(unsigned long addr, unsigned long target)
{
	return kprobe_pages_beside_reach(addr, target);
}

#ifdef CONFIG_OPTPROBES
/*
 * Detours
 *
 * The branch to a detour replaces one instruction, or the first word of one. So no other
 * instruction is affected, and no task can be in the middle of what is replaced.
 */

/**
 * kprobe_put_branch() - add a branch to a detour
 * @d: the draft of the detour
 * @target: where it goes
 *
 * Context: any.
 * Return: 0, or -ERANGE if it is out of reach.
 */
int kprobe_put_branch(struct kprobe_draft *d, unsigned long target)
{
	unsigned long at = kprobe_draft_at(d);

	if (!kprobe_in_reach(at, target))
		return -ERANGE;
	kprobe_put(d, arch_kprobe_branch(at, target));
	return 0;
}

/**
 * kprobe_put_constant() - add a constant to a detour, after all instructions
 * @d: the draft of the detour
 * @value: the constant; the first one is the last in the slot
 *
 * Context: any.
 * Return: its address.
 */
unsigned long kprobe_put_constant(struct kprobe_draft *d, unsigned long value)
{
	unsigned int i, nr = sizeof(value) / sizeof(u32);
	u32 word[sizeof(value) / sizeof(u32)];

	memcpy(word, &value, sizeof(value));
	d->end -= nr;
	for (i = 0; i < nr; i++)
		d->word[d->end + i] = arch_text_word(word[i]);
	return d->slot + d->end * sizeof(u32);
}

static int draft(struct kprobe_draft *d, struct optimized_kprobe *op, unsigned long slot)
{
	int ret;

	*d = (struct kprobe_draft){ .slot = slot, .end = MAX_OPTINSN_SIZE };
	memset32(d->word, KPROBE_TRAP, MAX_OPTINSN_SIZE);
	ret = arch_draft_detour(d, op);
	if (WARN_ON_ONCE(d->nr > d->end))
		ret = -EILSEQ;
	if (ret == -EILSEQ && !op->why)
		op->why = KPROBE_NOOPT_INSN;
	return ret;
}

/* Everything that does not depend on where the detour is. */
static int plan(struct optimized_kprobe *op)
{
	unsigned long addr = (unsigned long)op->kp.addr;
	unsigned long target = arch_branch_target(&op->kp);
	struct kprobe_draft d;
	int ret;

	/* A trial next to the probe, where only a branch target can be out of reach. */
	ret = draft(&d, op, ALIGN_DOWN(addr, sizeof(d.word)));
	if (ret)
		return ret;

	return !target || arch_slots_reach(addr, target) ? KPROBE_JUMP_LONG : KPROBE_JUMP_UNKNOWN;
}

int arch_plan_optimized_kprobe(struct optimized_kprobe *op)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	if (op->optinsn.insn)
		return KPROBE_JUMP_LONG;
	/* The caller's own site: to decide would change how a live one continues after a hit. */
	if (WARN_ON_ONCE(op->kp.ainsn.insn))
		return -EINVAL;
	if (arch_decide_kprobe(&op->kp)) {
		op->why = KPROBE_NOOPT_INSN;
		return -EILSEQ;
	}
	return plan(op);
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	struct kprobe_draft d;
	kprobe_opcode_t *slot;
	int ret;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	ret = plan(op);
	if (ret < 0)
		return ret;

	slot = kprobe_slot_get(&kprobe_optinsn_slots, (unsigned long)op->kp.addr);
	if (!slot)
		return -ENOMEM;

	ret = draft(&d, op, (unsigned long)slot) ?: arch_write_slot(slot, d.word, sizeof(d.word));
	if (ret) {
		free_optinsn_slot(slot, 0);
		return ret;
	}
	perf_event_text_poke(slot, NULL, 0, slot, sizeof(d.word));
	op->optinsn.insn = slot;
	return 0;
}

void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	kprobe_opcode_t *slot = op->optinsn.insn;

	lockdep_assert_held(&kprobe_mutex);

	if (!slot)
		return;

	perf_event_text_poke(slot, slot, MAX_OPTINSN_SIZE * sizeof(*slot), NULL, 0);
	op->optinsn.insn = NULL;
	free_optinsn_slot(slot, 0);
}

static u32 branch_of(const struct optimized_kprobe *op)
{
	return arch_kprobe_branch((unsigned long)op->kp.addr, (unsigned long)op->optinsn.insn);
}

void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *tmp;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	/*
	 * A CPU enters a detour without an exception, so it might execute the former contents of
	 * the slot. If a CPU still executes the breakpoint afterwards, that does no harm.
	 */
	arch_sync_insn_slots();
	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!arch_replace_word(op->kp.addr, KPROBE_BREAKPOINT, branch_of(op)))
			list_del_init(&op->list);
	}
}

void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	struct optimized_kprobe *op, *tmp;

	lockdep_assert_cpus_held();
	lockdep_assert_held(&text_mutex);

	list_for_each_entry_safe(op, tmp, oplist, list) {
		if (!arch_replace_word(op->kp.addr, branch_of(op), KPROBE_BREAKPOINT))
			list_move_tail(&op->list, done_list);
	}
	/* From here on, no CPU executes an old branch, whose detour may be freed. */
	arch_sync_insn_slots();
}
#endif /* CONFIG_OPTPROBES */

#endif /* KPROBE_BRANCH_RANGE */
