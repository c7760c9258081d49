// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pools of return probe instances where 64 bits cannot be exchanged at once:
 * the kernel's objpool, which does not grow.
 */

#include <linux/objpool.h>
#include <linux/slab.h>

#include "retpool.h"

static int init_instance(void *obj, void *context)
{
	struct kretprobe_instance *ri = obj;

	ri->rph = context;
	return 0;
}

static int free_holder(struct objpool_head *head, void *context)
{
	kfree(context);
	return 0;
}

struct kretprobe_holder *retpool_create(int nr, size_t data_size, bool grows)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);
	int ret;

	if (!rph)
		return ERR_PTR(-ENOMEM);

	ret = objpool_init(&rph->pool, nr,
			   sizeof(struct kretprobe_instance) + data_size,
			   GFP_KERNEL, rph, init_instance, free_holder);
	if (ret) {
		kfree(rph);
		return ERR_PTR(ret);
	}

	return rph;
}

/* The holder itself goes with the last instance. */
void retpool_destroy(struct kretprobe_holder *rph)
{
	objpool_fini(&rph->pool);
}
