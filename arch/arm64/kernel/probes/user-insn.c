// SPDX-License-Identifier: GPL-2.0-only
/*
 * How uprobes execute instructions. They simulate those that kprobes simulate, too, and
 * single-step copies of the others in hardware.
 *
 * With a guarded control stack (GCS), calls store their return address there as well, and returns
 * are checked against it. A simulation must do the same, since the CPU may execute the other half
 * of the pair.
 */

#include <kunit/static_stub.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include <asm/gcs.h>
#include <asm/insn.h>
#include <asm/ptrace.h>

#include "decode-insn.h"
#include "simulate-insn.h"

/*
 * Store the return address of a call where GCS wants it. Returns false if that fails; the task
 * then gets SIGSEGV. May fault and sleep.
 */
bool probe_user_push_return(unsigned long addr)
{
	int err = 0;

	KUNIT_STATIC_STUB_REDIRECT(probe_user_push_return, addr);

	if (task_gcs_el0_enabled(current))
		push_user_gcs(addr, &err);
	if (err)
		force_sig(SIGSEGV);
	return !err;
}

/*
 * Check a return as GCS does. Returns false if another address is expected; the task then gets
 * SIGSEGV. May fault and sleep.
 */
bool probe_user_pop_return(unsigned long addr)
{
	unsigned long expected;
	int err = 0;

	KUNIT_STATIC_STUB_REDIRECT(probe_user_pop_return, addr);

	if (!task_gcs_el0_enabled(current))
		return true;

	expected = pop_user_gcs(&err);
	if (!err && expected == addr)
		return true;

	/* The CPU checks the address before it removes it. */
	if (!err)
		push_user_gcs(expected, &err);
	force_sig(SIGSEGV);
	return false;
}

static void user_bl(u32 opcode, long addr, struct pt_regs *regs)
{
	if (probe_user_push_return(addr + AARCH64_INSN_SIZE))
		probe_simulate_bl(opcode, addr, regs);
}

static void user_blr(u32 opcode, long addr, struct pt_regs *regs)
{
	if (probe_user_push_return(addr + AARCH64_INSN_SIZE))
		probe_simulate_blr(opcode, addr, regs);
}

static void user_ret(u32 opcode, long addr, struct pt_regs *regs)
{
	u32 rn = aarch64_insn_decode_register(AARCH64_INSN_REGTYPE_RN, opcode);

	if (probe_user_pop_return(pt_regs_read_reg(regs, rn)))
		probe_simulate_ret(opcode, addr, regs);
}

/* How uprobes execute an instruction. The handler is NULL unless it is to be simulated. */
enum probe_insn arm_probe_decode_insn(probe_opcode_t insn, struct arch_probe_insn *api)
{
	const struct probe_insn_row *row = probe_insn_decode(insn);

	api->handler = row->user == INSN_GOOD_NO_SLOT ? row->simulate : NULL;
	if (api->handler == probe_simulate_bl)
		api->handler = user_bl;
	else if (api->handler == probe_simulate_blr)
		api->handler = user_blr;
	else if (api->handler == probe_simulate_ret)
		api->handler = user_ret;
	return row->user;
}
