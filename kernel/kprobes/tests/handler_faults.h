/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults of handlers, for the suites of backends that report them: bodies of cases, for which
 * an architecture provides a function to be probed.
 */
#ifndef _KERNEL_KPROBES_TESTS_HANDLER_FAULTS_H
#define _KERNEL_KPROBES_TESTS_HANDLER_FAULTS_H

#include <linux/kprobes.h>
#include <linux/mm.h>

struct kunit;

/* Nothing is ever mapped there, and it is no user address, whose fixup may differ. */
#define KP_BAD_ADDRESS	(-PAGE_SIZE)

int kp_handler_fault_goes_to_its_probe(struct kunit *test, kprobe_opcode_t *addr,
				       void (*call)(struct kunit *test));
void kp_interrupt_fault_is_not_the_handlers(struct kunit *test, const char *symbol,
					    void (*call)(struct kunit *test));

#endif /* _KERNEL_KPROBES_TESTS_HANDLER_FAULTS_H */
