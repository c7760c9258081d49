// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of kprobe_model that come and go with this module.
 */
#include <linux/module.h>

#include "text.h"

int model_m_text(int v);
int model_m_traced(int v);

MODEL_TEXT(model_m_text);
MODEL_TRACED(model_m_traced)

static const struct model_coming coming = {
	.text	= model_m_text,
	.traced	= model_m_traced,
};

static int __init kprobe_model_target_init(void)
{
	kprobe_model_coming(&coming);
	return 0;
}

static void __exit kprobe_model_target_exit(void)
{
	kprobe_model_coming(NULL);
}

module_init(kprobe_model_target_init);
module_exit(kprobe_model_target_exit);
MODULE_DESCRIPTION("Functions of kprobe_model that come and go");
MODULE_LICENSE("GPL");
