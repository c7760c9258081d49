/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences of what can be done with probes, written as words:
 *
 *   +a1  +a1p  +a1d     register probe a, b, c or d on function 1, 2 or 3; with a post handler;
 *                       disabled; function 9 does not exist
 *   set:a1p  +a         prepare it; register it as it is
 *   +a1,b2p  -a,b       in one call; unregister
 *   on:a  off:a         enable and disable
 *   on  off             the same for all of them, by the global switch
 *   kill:a              the code that a is on goes away
 *   hit:ab              three calls of each function are seen once by each handler of a and b, and
 *                       not at all by others
 *   enabled:a  disabled:a  armed:a  idle:a  gone:a  bare:a
 *                       what its user has asked for; the state of its site, or there is none
 *
 * A word that ends with "!BUSY" fails with -EBUSY. A suite has more words.
 */
#ifndef _KERNEL_KPROBES_TESTS_SCENARIO_H
#define _KERNEL_KPROBES_TESTS_SCENARIO_H

#include <linux/types.h>

#include "watch.h"

struct kp_scene;

/* What ends with a colon has an argument. */
struct kp_word {
	const char	*name;
	int		(*fn)(struct kunit *test, struct kp_scene *s, const char *arg);
};

struct kp_scene {
	/* Words of the suite; the last one has no name. */
	const struct kp_word	*words;
	const char		*symbol[3];
	/* Of the probed instructions. */
	unsigned int		offset;
	struct kp_watch		probe[4];

	u32			(*fn[3])(u32 v);
};

/* A script, and its name as the parameter of a case. */
struct kp_script {
	const char	*name;
	const char	*text;
};

static inline struct kprobe *kp_scene_probe(struct kp_scene *s, char name)
{
	return &s->probe[name - 'a'].kp;
}

void kp_play(struct kunit *test, struct kp_scene *s, const char *script);
void kp_scene_end(struct kp_scene *s);

#endif /* _KERNEL_KPROBES_TESTS_SCENARIO_H */
