/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with a probed instruction of each kind. They are defined in forms.c.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_FORMS_H
#define _ARM64_KERNEL_PROBES_TESTS_FORMS_H

#include "helpers.h"

/**
 * struct kpb_form - a function, and how its probed instruction is executed
 * @name: of the instruction
 * @place: the function
 * @alone: mode with a pre handler
 * @watched: mode with a post handler
 * @hits: of one call
 */
struct kpb_form {
	const char		*name;
	struct kpb_place	place;
	const char		*alone;
	const char		*watched;
	unsigned int		hits;
};

#define NR_KPB_FORMS	28

extern const struct kpb_form kpb_forms[NR_KPB_FORMS];

/* Arguments that functions are called with, to compare their results. */
static const unsigned long kpb_args[] __maybe_unused = {
	0, 1, 5, 8, 0x7fffffff, 0xfedcba9876543210,
};

KPB_DECLARE(nop);
KPB_DECLARE(pad);
KPB_DECLARE(mov);
KPB_DECLARE(mov_w);
KPB_DECLARE(adds);
KPB_DECLARE(push);
KPB_DECLARE(pop);
KPB_DECLARE(sign);
KPB_DECLARE(b);
KPB_DECLARE(b_cond);
KPB_DECLARE(cbz);
KPB_DECLARE(tbnz);
KPB_DECLARE(loop);
KPB_DECLARE(bl);
KPB_DECLARE(blr);
KPB_DECLARE(br);
KPB_DECLARE(ret);
KPB_DECLARE(adr);
KPB_DECLARE(adrp);
KPB_DECLARE(ldr_lit);
KPB_DECLARE(ldrsw_lit);
KPB_DECLARE(prfm_lit);
KPB_DECLARE(mrs_daif);
KPB_DECLARE(msr_daif);
KPB_DECLARE(msr_daifset);
KPB_DECLARE(mrs);

#endif /* _ARM64_KERNEL_PROBES_TESTS_FORMS_H */
