/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with a probed instruction of each kind. They are defined in forms.c, as are kp_forms,
 * which the generic suite of such functions uses.
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

bool kpb_cpu_has(enum kpb_isa isa);

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
