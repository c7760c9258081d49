// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots for copies of instructions, and for detours: what architectures call.
 */

#include <kunit/static_stub.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>

#include "insn_slots.h"

void __weak arch_sync_insn_slots(void)
{
}

/**
 * kprobe_log_slot() - report to perf that the code in a slot is about to change
 * @slot: the slot
 * @code: its new code, or the old if the slot is given back
 * @size: how many bytes
 * @in_use: the slot is about to be used
 *
 * Context: process context.
 */
void kprobe_log_slot(const void *slot, const void *code, size_t size, bool in_use)
{
	if (in_use)
		perf_event_text_poke(slot, NULL, 0, code, size);
	else
		perf_event_text_poke(slot, code, size, NULL, 0);
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT

/**
 * kprobe_boosts() - may a copy of an instruction branch back to the text by itself?
 *
 * Such a copy runs without a current probe, and with interrupts as in the program. Only a grace
 * period keeps its slot from being freed meanwhile. With PREEMPT_COUNT but without PREEMPTION,
 * RCU takes any tick that hits the slot for a quiescent state, so the grace period could end too
 * early. Tests can redirect this function.
 *
 * Context: any.
 * Return: true if it may.
 */
bool kprobe_boosts(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_boosts);
	return IS_ENABLED(CONFIG_PREEMPTION) || !IS_ENABLED(CONFIG_PREEMPT_COUNT);
}

void * __weak alloc_insn_page(void)
{
	return execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
}

void __weak free_insn_page(void *page)
{
	execmem_free(page);
}

struct kprobe_slot_cache kprobe_insn_slots = {
	KPROBE_SLOT_CACHE_INIT(kprobe_insn_slots),
	.alloc		= alloc_insn_page,
	.free		= free_insn_page,
	.sync		= arch_sync_insn_slots,
	.symbol		= KPROBE_INSN_PAGE_SYM,
	.slot_size	= KPROBE_INSN_SLOT_SIZE,
#ifdef KPROBE_BRANCH_RANGE
	.alloc_near	= alloc_insn_page_near,
	.region_shift	= KPROBE_SLOT_REGION_SHIFT,
#endif
	.tasks_rcu	= KPROBE_SLOT_IS_PREEMPTIBLE,
};

/**
 * get_insn_slot() - allocate a slot for the copy of an instruction
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL without memory.
 */
kprobe_opcode_t *get_insn_slot(void)
{
	return kprobe_slot_get(&kprobe_insn_slots);
}

/**
 * get_insn_slot_near() - allocate a slot for a copy that branches back
 * @addr: address of the instruction
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL without memory in reach.
 */
kprobe_opcode_t *get_insn_slot_near(unsigned long addr)
{
	return kprobe_slot_get_near(&kprobe_insn_slots, addr);
}

/**
 * free_insn_slot() - give a slot back
 * @slot: the slot
 * @dirty: non-zero if it may still be executed
 *
 * Context: as kprobe_slot_free().
 */
void free_insn_slot(kprobe_opcode_t *slot, int dirty)
{
	kprobe_slot_free(&kprobe_insn_slots, slot, dirty);
}

/**
 * is_kprobe_insn_slot() - is an address in the slots?
 * @addr: the address
 *
 * Context: any, also NMI, with RCU watching.
 * Return: true if it is.
 */
bool is_kprobe_insn_slot(unsigned long addr)
{
	return kprobe_slots_contain(&kprobe_insn_slots, addr);
}
NOKPROBE_SYMBOL(is_kprobe_insn_slot);

#endif /* __ARCH_WANT_KPROBES_INSN_SLOT */

#ifdef CONFIG_OPTPROBES

#if KPROBE_OPTINSN_HEAD_SIZE
static void *alloc_optinsn_page_near(unsigned long start)
{
	void *page = alloc_insn_page_near(start);

	if (!page || !arch_fill_optinsn_head(page))
		return page;

	free_insn_page(page);
	return NULL;
}
#else
#define alloc_optinsn_page_near	alloc_insn_page_near
#endif

/* The size of a slot is known only at run time. */
struct kprobe_slot_cache kprobe_optinsn_slots = {
	KPROBE_SLOT_CACHE_INIT(kprobe_optinsn_slots),
	.alloc		= alloc_insn_page,
	.free		= free_insn_page,
	.sync		= arch_sync_insn_slots,
	.symbol		= KPROBE_OPTINSN_PAGE_SYM,
	.head_size	= KPROBE_OPTINSN_HEAD_SIZE,
#ifdef KPROBE_BRANCH_RANGE
	.alloc_near	= alloc_optinsn_page_near,
	.region_shift	= KPROBE_SLOT_REGION_SHIFT,
#endif
	.tasks_rcu	= true,
	.owned		= true,
};

void __init kprobe_optinsn_slots_init(void)
{
	kprobe_optinsn_slots.slot_size = MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t);
}

/**
 * get_optinsn_slot() - allocate a slot for a detour
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL without memory.
 */
kprobe_opcode_t *get_optinsn_slot(void)
{
	return kprobe_slot_get(&kprobe_optinsn_slots);
}

/**
 * get_optinsn_slot_near() - allocate a slot for a detour in reach of a probe
 * @addr: address of the probe
 *
 * Context: as kprobe_slot_get().
 * Return: the slot, or NULL without memory in reach.
 */
kprobe_opcode_t *get_optinsn_slot_near(unsigned long addr)
{
	return kprobe_slot_get_near(&kprobe_optinsn_slots, addr);
}

/**
 * free_optinsn_slot() - give a slot back
 * @slot: the slot
 * @dirty: non-zero if a task may still be in it; after
 *	   arch_remove_optimized_kprobe() was called, there is none
 *
 * Context: as kprobe_slot_free().
 */
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty)
{
	kprobe_slot_own(&kprobe_optinsn_slots, slot, NULL);
	kprobe_slot_free(&kprobe_optinsn_slots, slot, dirty);
}

/**
 * is_kprobe_optinsn_slot() - is an address in a detour?
 * @addr: the address
 *
 * Context: any, also NMI, with RCU watching.
 * Return: true if it is.
 */
bool is_kprobe_optinsn_slot(unsigned long addr)
{
	return kprobe_slots_contain(&kprobe_optinsn_slots, addr);
}
NOKPROBE_SYMBOL(is_kprobe_optinsn_slot);

/**
 * kprobe_optinsn_owner() - find the probe whose detour is at an address
 * @addr: the address
 *
 * Context: any, also NMI; preemption off for as long as the probe is used.
 * Return: the probe, or NULL.
 */
struct optimized_kprobe *kprobe_optinsn_owner(unsigned long addr)
{
	return kprobe_slot_owner(&kprobe_optinsn_slots, addr);
}
NOKPROBE_SYMBOL(kprobe_optinsn_owner);

#endif /* CONFIG_OPTPROBES */
