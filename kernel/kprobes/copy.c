// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text as it is without probes, and copies of its instructions in slots.
 */

#include <linux/array_size.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "copy.h"
#include "site.h"
#include "slots.h"

static bool changes_text(const struct kprobe_site *site)
{
	return site->kind == KPROBE_SITE_BREAKPOINT &&
	       (site->state == KPROBE_SITE_READY || site->state == KPROBE_SITE_ARMED);
}

/* What was at a site before the probe changed it. */
#if defined(CONFIG_OPTPROBES) && defined(CONFIG_HAVE_OPTPROBES_RANGE)
#define MAX_PATCH	MAX_OPTIMIZED_LENGTH

static const void *saved_text(const struct kprobe_site *site, unsigned int *len)
{
	bool jump = site->head.kp.flags & KPROBE_FLAG_JUMP;

	*len = jump ? site->head.op.optinsn.jump : sizeof(site->saved);
	return jump ? (const void *)site->head.op.optinsn.detour->text : &site->saved;
}
#else
#define MAX_PATCH	sizeof(kprobe_opcode_t)

static const void *saved_text(const struct kprobe_site *site, unsigned int *len)
{
	*len = sizeof(site->saved);
	return &site->saved;
}
#endif

/* Copy the part of @text, which belongs at @at, that is inside the buffer. */
static void overlay(u8 *buf, unsigned long addr, unsigned int len,
		    const u8 *text, unsigned long at, unsigned int size)
{
	unsigned long from = max(addr, at), to = min(addr + len, at + size);

	if (from < to)
		memcpy(buf + (from - addr), text + (from - at), to - from);
}

/**
 * kprobe_read_text() - read text as it is without probes
 * @addr: address of the text
 * @buf: buffer for the text
 * @len: how many bytes
 *
 * Context: kprobe_mutex held; and text_mutex, if the text is to stay as it is.
 * Return: 0, or -EFAULT.
 */
int kprobe_read_text(unsigned long addr, void *buf, unsigned int len)
{
	struct kprobe_site *site;
	unsigned int size;
	const void *text;

	if (copy_from_kernel_nofault(buf, (void *)addr, len))
		return -EFAULT;

	for_each_kprobe_site_in(site, addr - (MAX_PATCH - 1), addr + len) {
		if (!changes_text(site))
			continue;
		text = saved_text(site, &size);
		overlay(buf, addr, len, text, kprobe_site_addr(site), size);
	}

	if (IS_ENABLED(CONFIG_OPTPROBES) && IS_ENABLED(CONFIG_HAVE_OPTPROBES_RANGE))
		arch_kprobe_restore_text(buf, addr, len);
	return 0;
}

#ifdef CONFIG_MODULES
/**
 * kprobe_in_livepatch() - is an address in the text of a livepatch?
 * @addr: the address
 *
 * Such text is relocated again whenever an object that it patches is loaded.
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_in_livepatch(unsigned long addr)
{
	struct module *mod;

	guard(preempt)();

	mod = __module_text_address(addr);
	return mod && is_livepatch_module(mod);
}
#else
bool kprobe_in_livepatch(unsigned long addr)
{
	return false;
}
#endif

/*
 * Preparing a probe whose instruction is executed by a copy in a slot, unless it is emulated. A
 * copy may branch back by itself, if it can be near enough: it is boosted. Otherwise it is stepped.
 */

#ifdef __ARCH_WANT_KPROBES_COPY

/* Returns the error that stands for the reason, if there is one. */
static int refuse(struct kprobe *p, enum kprobe_refusal why)
{
	lockdep_assert_held(&kprobe_mutex);

	kprobe_to_site(p)->refusal = why;
	return kprobe_refusal_error(why);
}

int kprobe_vet_insn(struct kprobe *p)
{
	lockdep_assert_held(&text_mutex);

	return refuse(p, arch_decide_kprobe(p));
}

static int fill_slot(struct kprobe *p, kprobe_opcode_t *slot)
{
	kprobe_opcode_t code[KPROBE_INSN_SLOT_SIZE / sizeof(kprobe_opcode_t)];
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = KPROBE_TRAP;
	ret = refuse(p, arch_copy_kprobe(p, slot, code)) ?:
	      arch_write_slot(slot, code, sizeof(code));
	if (!ret)
		perf_event_text_poke(slot, NULL, 0, slot, sizeof(code));
	return ret;
}

int arch_prepare_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = NULL;
	unsigned int ways;
	int ret;

	ret = kprobe_vet_insn(p);
	if (ret)
		return ret;

	ways = arch_kprobe_ways(p);
	if (p->ainsn.boost || ways & KPROBE_NEEDS_NEAR)
		slot = kprobe_slot_get(&kprobe_insn_slots, (unsigned long)p->addr);
	if (!slot) {
		/* A copy that does not branch back can be anywhere. */
		p->ainsn.boost = false;
		if (!(ways & KPROBE_NEEDS_COPY))
			return 0;
		slot = kprobe_slot_get(&kprobe_insn_slots, KPROBE_SLOT_ANYWHERE);
	}
	if (!slot)
		return refuse(p, KPROBE_REFUSAL_NO_MEMORY);

	ret = fill_slot(p, slot);
	if (ret) {
		free_insn_slot(slot, 0);
		return ret;
	}
	p->ainsn.insn = slot;
	return 0;
}

void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = p->ainsn.insn;

	if (!slot)
		return;

	perf_event_text_poke(slot, slot, KPROBE_INSN_SLOT_SIZE, NULL, 0);
	/* Hits are over, but a boosted copy may have been preempted. */
	free_insn_slot(slot, p->ainsn.boost);
	p->ainsn.insn = NULL;
}

const char *kprobe_mode(const struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);

	if (kprobe_is_boosted(p))
		return "boosted";
	return arch_kprobe_ways(p) & KPROBE_EMULATES ? "emulated" : "stepped";
}

#else /* !__ARCH_WANT_KPROBES_COPY */

int kprobe_vet_insn(struct kprobe *p)
{
	int ret = arch_prepare_kprobe(p);

	if (!ret)
		arch_remove_kprobe(p);
	return ret;
}

const char *kprobe_mode(const struct kprobe *p)
{
	return "breakpoint";
}

#endif
