// SPDX-License-Identifier: GPL-2.0-only
/* What the reasons of <linux/kprobes-refusal.h> and <linux/kprobes-optimize.h> are called. */

#include <linux/errno.h>
#include <linux/kprobes.h>

#include "refusal.h"

#define ERROR(name, err, word, text)	[KPROBE_REFUSAL_##name] = err,
static const int errors[] = { KPROBE_REFUSALS(ERROR) };

#define WORD(name, err, word, text)	[KPROBE_REFUSAL_##name] = word,
static const char * const words[] = { KPROBE_REFUSALS(WORD) };

#define TEXT(name, err, word, text)	[KPROBE_REFUSAL_##name] = text,
const char *kprobe_refusal_texts[] = { KPROBE_REFUSALS(TEXT) };

int kprobe_refusal_error(enum kprobe_refusal why)
{
	return errors[why];
}

/* The reason for an error that a hook or ftrace has returned without one. */
enum kprobe_refusal kprobe_refusal_of_error(int err)
{
	switch (err) {
	case 0:
		return KPROBE_REFUSAL_NONE;
	case -ENOMEM:
		return KPROBE_REFUSAL_NO_MEMORY;
	}

	return KPROBE_REFUSAL_ARCH;
}

const char *kprobe_refusal_name(enum kprobe_refusal why)
{
	return words[why];
}

#ifdef CONFIG_OPTPROBES
#define NOOPT(name, word)		[KPROBE_NOOPT_##name] = word,
static const char * const noopt_words[] = { KPROBE_NOOPTS(NOOPT) };

const char *kprobe_noopt_name(enum kprobe_noopt why)
{
	return noopt_words[why];
}
#endif
