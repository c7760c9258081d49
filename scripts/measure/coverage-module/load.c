// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module to be probed while it works: the kernel's compression. Writing N to the
 * parameter "rounds" compresses and expands data N times, and fails if the data then
 * differ.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/zlib.h>

#define SIZE	16384

static u8 *plain, *packed, *again;
static void *deflate_space, *inflate_space;
static DEFINE_MUTEX(zlib_mutex);

/* Some of it repeats, some does not. */
static void fill(unsigned int round)
{
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, round + 1);
	for (i = 0; i < SIZE; i++) {
		u32 chance = prandom_u32_state(&rnd);

		plain[i] = i >= 64 && chance % 8 ? plain[i - 1 - chance / 8 % 64] :
						   chance >> 24;
	}
}

static int pack(int level)
{
	struct z_stream_s z = {
		.next_in	= plain,
		.avail_in	= SIZE,
		.next_out	= packed,
		.avail_out	= 2 * SIZE,
		.workspace	= deflate_space,
	};
	int ret;

	if (zlib_deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL,
			      Z_DEFAULT_STRATEGY) != Z_OK)
		return -EINVAL;
	ret = zlib_deflate(&z, Z_FINISH);
	zlib_deflateEnd(&z);
	return ret == Z_STREAM_END ? z.total_out : -EINVAL;
}

static int unpack(unsigned int size)
{
	struct z_stream_s z = {
		.next_in	= packed,
		.avail_in	= size,
		.next_out	= again,
		.avail_out	= SIZE,
		.workspace	= inflate_space,
	};
	int ret;

	if (zlib_inflateInit2(&z, MAX_WBITS) != Z_OK)
		return -EINVAL;
	ret = zlib_inflate(&z, Z_FINISH);
	zlib_inflateEnd(&z);
	return ret == Z_STREAM_END ? z.total_out : -EINVAL;
}

static int round_trip(unsigned int round)
{
	int size;

	fill(round);
	memset(again, 0, SIZE);
	size = pack(round % 10);
	if (size < 0)
		return size;
	return unpack(size) == SIZE && !memcmp(plain, again, SIZE) ? 0 : -EIO;
}

static int rounds_set(const char *val, const struct kernel_param *kp)
{
	static unsigned int round;
	int nr, ret = kstrtoint(val, 0, &nr);

	guard(mutex)(&zlib_mutex);
	while (!ret && nr-- > 0)
		ret = round_trip(round++);
	return ret;
}

static const struct kernel_param_ops rounds_ops = { .set = rounds_set };
module_param_cb(rounds, &rounds_ops, NULL, 0200);
MODULE_PARM_DESC(rounds, "how often to compress and expand");

static void free_all(void)
{
	vfree(plain);
	vfree(packed);
	vfree(again);
	vfree(deflate_space);
	vfree(inflate_space);
}

static int __init load_init(void)
{
	plain = vmalloc(SIZE);
	packed = vmalloc(2 * SIZE);
	again = vmalloc(SIZE);
	deflate_space = vmalloc(zlib_deflate_workspacesize(MAX_WBITS, MAX_MEM_LEVEL));
	inflate_space = vmalloc(zlib_inflate_workspacesize());
	if (plain && packed && again && deflate_space && inflate_space)
		return 0;

	free_all();
	return -ENOMEM;
}

static void __exit load_exit(void)
{
	free_all();
}

module_init(load_init);
module_exit(load_exit);
MODULE_DESCRIPTION("Compression, to be probed");
MODULE_LICENSE("GPL");
