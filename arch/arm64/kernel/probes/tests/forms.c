// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions with a probed instruction of each kind, for the suites of breakpoints and of
 * jumps.
 */

#include <linux/array_size.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>

#include "forms.h"
#include "targets.h"

/* What the copy of an instruction needs. */
KPB_FUNCTION(nop, "777: nop\n add x0, x0, #1");
KPB_FUNCTION(pad, "777: hint #36\n add x0, x0, #1");
KPB_FUNCTION(mov, "777: mov x9, x0\n add x0, x9, #2");
KPB_FUNCTION(mov_w, "777: mov w0, w0");
KPB_FUNCTION(adds, "777: adds x1, x0, #5\n adc x0, x0, x0");
KPB_FUNCTION(push, "777: stp x29, x30, [sp, #-16]!\n mov x30, #0\n"
	     "ldp x29, x30, [sp], #16\n add x0, x0, #1");
KPB_FUNCTION(pop, "stp x0, x30, [sp, #-32]!\n mov x30, #0\n"
	     "777: ldp x0, x30, [sp], #32\n add x0, x0, #1");
KPB_FUNCTION(sign, "777: hint #25\n add x0, x0, #1\n hint #29");
KPB_FUNCTION(b, "777: b 1f\n add x0, x0, #7\n1:");
KPB_FUNCTION(b_cond, "cmp x0, #5\n 777: b.hi 1f\n add x0, x0, #7\n1:");
KPB_FUNCTION(cbz, "777: cbz x0, 1f\n add x0, x0, #7\n1:");
KPB_FUNCTION(tbnz, "777: tbnz x0, #3, 1f\n add x0, x0, #7\n1:");
KPB_FUNCTION(loop, "mov x1, #4\n1: add x0, x0, #1\n sub x1, x1, #1\n 777: cbnz x1, 1b");
KPB_FUNCTION(bl, "mov x9, x30\n 777: bl kpb_callee\n mov x30, x9\n add x0, x0, #1");
KPB_FUNCTION(blr, "mov x9, x30\n adrp x1, kpb_callee\n add x1, x1, :lo12:kpb_callee\n"
	     "777: blr x1\n mov x30, x9\n add x0, x0, #1");
/* Through x16, so that it may land on what calls go to. */
KPB_FUNCTION(br, "adrp x16, kpb_callee\n add x16, x16, :lo12:kpb_callee\n 777: br x16");
KPB_FUNCTION(ret, "add x0, x0, #1\n 777: ret");
KPB_FUNCTION(adr, "777: adr x1, .\n adr x2, 777b\n sub x1, x1, x2\n add x0, x0, x1");
KPB_FUNCTION(adrp, "777: adrp x1, kpb_data\n ldr x1, [x1, :lo12:kpb_data]\n add x0, x0, x1");
KPB_FUNCTION(ldr_lit, "777: ldr x1, 1f\n add x0, x0, x1\n ret\n .balign 8\n1: .quad 0x89abcdef01");
KPB_FUNCTION(ldrsw_lit, "777: ldrsw x1, 1f\n add x0, x0, x1\n ret\n1: .long 0x89abcdef");
KPB_FUNCTION(prfm_lit, "777: prfm pldl1keep, .\n add x0, x0, #1");
KPB_FUNCTION(mrs_daif, "777: mrs x1, daif\n add x0, x0, x1");
KPB_FUNCTION(msr_daif, "mrs x1, daif\n msr daifset, #3\n mrs x2, daif\n"
	     "777: msr daif, x1\n mrs x1, daif\n eor x2, x2, x1\n add x0, x0, x2");
KPB_FUNCTION(msr_daifset, "mrs x1, daif\n 777: msr daifset, #3\n mrs x2, daif\n"
	     "msr daif, x1\n add x0, x0, x2");
KPB_FUNCTION(mrs, "777: mrs x1, tpidr_el0\n add x0, x0, x1");

#define BOOSTED(name, watched)	{ #name, KPB_TARGET(name), "boosted", watched, 1 }
#define EMULATED(name, hits)	{ #name, KPB_TARGET(name), "emulated", "emulated", hits }

const struct kp_form kp_forms[] = {
	BOOSTED(nop, "emulated"),
	BOOSTED(pad, "emulated"),
	BOOSTED(mov, "emulated"),
	BOOSTED(mov_w, "emulated"),
	BOOSTED(add, "emulated"),
	BOOSTED(adds, "emulated"),
	BOOSTED(load, "stepped"),
	BOOSTED(push, "stepped"),
	BOOSTED(pop, "stepped"),
	BOOSTED(sign, "stepped"),
	BOOSTED(mrs, "stepped"),
	EMULATED(b, 1),
	EMULATED(b_cond, 1),
	EMULATED(cbz, 1),
	EMULATED(tbnz, 1),
	EMULATED(loop, 4),
	EMULATED(bl, 1),
	EMULATED(blr, 1),
	EMULATED(br, 1),
	EMULATED(ret, 1),
	EMULATED(adr, 1),
	EMULATED(adrp, 1),
	EMULATED(ldr_lit, 1),
	EMULATED(ldrsw_lit, 1),
	EMULATED(prfm_lit, 1),
	EMULATED(mrs_daif, 1),
	EMULATED(msr_daif, 1),
	EMULATED(msr_daifset, 1),
};

const unsigned int nr_kp_forms = ARRAY_SIZE(kp_forms);

bool kp_form_exists(const struct kp_form *f)
{
	return true;
}

/* Where landing pads are needed, no jump replaces one, nor a call that has to land on one. */
enum kp_form_jump kp_form_jump(const struct kp_form *f)
{
	if (system_supports_bti_kernel() &&
	    (f->target.fn == kpb_pad || f->target.fn == kpb_sign || f->target.fn == kpb_blr))
		return KP_FORM_NEVER_JUMPS;
	return KP_FORM_ALWAYS_JUMPS;
}
