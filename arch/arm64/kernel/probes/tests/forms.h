/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with a probed instruction of each kind. They are defined in forms.c, as are
 * kp_forms, which the generic suite of such functions uses.
 */
#ifndef _ARM64_KERNEL_PROBES_TESTS_FORMS_H
#define _ARM64_KERNEL_PROBES_TESTS_FORMS_H

#include "helpers.h"

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
