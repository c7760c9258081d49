/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with a probed instruction of each kind. They are defined in forms.c.
 */
#ifndef _POWERPC_KERNEL_KPROBES_TESTS_FORMS_H
#define _POWERPC_KERNEL_KPROBES_TESTS_FORMS_H

#include "helpers.h"

/* The version of the architecture that has the instruction. */
enum kpb_isa {
	KPB_ANY_ISA,
	KPB_ISA_3_0,
	KPB_ISA_3_1,
};

/**
 * struct kpb_form - a function, and how its probed instruction is executed
 * @name: of the instruction
 * @place: the function
 * @alone: mode with a pre handler
 * @watched: mode with a post handler
 * @hits: of one call
 * @isa: what the CPU must have
 * @no_jump: it cannot be optimized
 */
struct kpb_form {
	const char		*name;
	struct kpb_place	place;
	const char		*alone;
	const char		*watched;
	unsigned int		hits;
	enum kpb_isa		isa;
	bool			no_jump;
};

extern const struct kpb_form kpb_forms[];
extern const unsigned int nr_kpb_forms;

const void *kpb_form_gen_params(const void *prev, char *desc);
bool kpb_cpu_has(enum kpb_isa isa);

/* Arguments that functions are called with, to compare their results. */
static const unsigned long kpb_args[] __maybe_unused = {
	0, 1, 5, 8, 0x7fffffff, (unsigned long)0xfedcba9876543210ULL,
};

KPB_DECLARE(b);
KPB_DECLARE(bl);
KPB_DECLARE(blr);
KPB_DECLARE(blrl);
KPB_DECLARE(bctr);
KPB_DECLARE(bctrl);
KPB_DECLARE(push);
KPB_DECLARE(addpcis);
KPB_DECLARE(pla);
KPB_DECLARE(pl);

#endif /* _POWERPC_KERNEL_KPROBES_TESTS_FORMS_H */
