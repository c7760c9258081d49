// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host program of scripts/prove/decode-check for arm64: the kernel's decode-insn.c,
 * which is included, asked about any number of words.
 *
 *	host rows			print the table, one row a line
 *	host counts			how many of all 2^32 words each row decides on
 *	host words FILE SEED N [ROW]	write N words to FILE: those that ROW decides on,
 *					which may be fewer, or else any
 *	host computations FILE TO	write what probe_insn_computation() makes of the words
 *					of FILE
 *	host judge FILE			print the row of each word of FILE, the word, and whether
 *					the predicates of the decoder say that it is exclusive
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decode-insn.c>
#include <simulate-insn.c>

#define ROWS	ARRAY_SIZE(probe_insn_rows)
#define WORD	32

static const char * const forms[NR_PROBE_FORMS] = {
	[PROBE_FORM_REJECT] = "reject", [PROBE_FORM_COPY] = "copy",
	[PROBE_FORM_CONTEXT] = "context", [PROBE_FORM_B] = "b", [PROBE_FORM_BCOND] = "bcond",
	[PROBE_FORM_BL] = "bl", [PROBE_FORM_BR] = "br", [PROBE_FORM_BLR] = "blr",
	[PROBE_FORM_ADR] = "adr", [PROBE_FORM_LDR_LIT] = "ldr-lit",
	[PROBE_FORM_PRFM_LIT] = "prfm-lit",
};

/* The words of kernel/kprobes/refusal.c, as far as they are used. */
static const char * const refusals[NR_KPROBE_REFUSALS] = {
	[KPROBE_REFUSAL_NONE] = "-", [KPROBE_REFUSAL_INVALID] = "invalid",
	[KPROBE_REFUSAL_TRAP] = "trap", [KPROBE_REFUSAL_SLEEP] = "sleep",
	[KPROBE_REFUSAL_CONTROL] = "control", [KPROBE_REFUSAL_FAR] = "far",
	[KPROBE_REFUSAL_TRANSACTION] = "transaction", [KPROBE_REFUSAL_ENCODING] = "encoding",
	[KPROBE_REFUSAL_REACH] = "reach", [KPROBE_REFUSAL_SEQUENCE] = "sequence",
	[KPROBE_REFUSAL_SYNDROME] = "syndrome",
};

static const char * const users[] = {
	[INSN_REJECTED] = "reject", [INSN_GOOD_NO_SLOT] = "simulate", [INSN_GOOD] = "copy",
};

static void die(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	exit(2);
}

static void *get_memory(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		die("out of memory");
	return p;
}

static unsigned int row_of(u32 insn)
{
	return probe_insn_decode(insn) - probe_insn_rows;
}

static void print_rows(void)
{
	const struct probe_insn_row *r;

	for (r = probe_insn_rows; r < probe_insn_rows + ROWS; r++) {
		if (r->form >= NR_PROBE_FORMS || r->refusal >= NR_KPROBE_REFUSALS ||
		    !refusals[r->refusal])
			die("a row has a form or a refusal without a name");
		printf("%08x %08x %s %s %s %x %d %d\n", r->mask, r->value, forms[r->form],
		       refusals[r->refusal], users[r->user], r->computes, r->narrow,
		       !!r->simulate);
	}
}

/* Words that have their upper bits in common are compared with few of the rows only. */
#define LOW_BITS	21

static void print_counts(void)
{
	static u64 counts[ROWS];
	u32 above = ~0u << LOW_BITS;
	unsigned int i, few[ROWS], n;
	u64 top, insn;

	for (top = 0; top < 1ULL << WORD; top += 1u << LOW_BITS) {
		for (i = n = 0; i < ROWS; i++) {
			if (!((top ^ probe_insn_rows[i].value) & probe_insn_rows[i].mask & above))
				few[n++] = i;
		}
		for (insn = top; insn < top + (1u << LOW_BITS); insn++) {
			for (i = 0; (insn & probe_insn_rows[few[i]].mask) !=
				    probe_insn_rows[few[i]].value;)
				i++;
			counts[few[i]]++;
		}
	}
	for (i = 0; i < ROWS; i++)
		printf("%" PRIu64 "\n", counts[i]);
}

/* Splitmix64: each seed gives another sequence, on each machine the same. */
static u64 next_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The lowest bits of a value, moved to where the mask has zeros. */
static u32 spread(u32 mask, u64 bits)
{
	unsigned int bit;
	u32 out = 0;

	for (bit = 0; bit < WORD; bit++) {
		if (mask >> bit & 1)
			continue;
		out |= (bits & 1) << bit;
		bits >>= 1;
	}

	return out;
}

static void write_word(FILE *f, u32 insn)
{
	u8 bytes[4] = { insn, insn >> 8, insn >> 16, insn >> 24 };

	if (fwrite(bytes, sizeof(bytes), 1, f) != 1)
		die("cannot write words");
}

static void write_words(FILE *f, u64 seed, u64 n, const struct probe_insn_row *r)
{
	u32 mask = r ? r->mask : 0, value = r ? r->value : 0, insn;
	u64 all = 1ULL << (WORD - hweight32(mask)), i;
	/* The same words, wherever in the table the row is. */
	u64 state = seed ^ (u64)mask << WORD ^ value;

	for (i = 0; i < (all < n ? all : n); i++) {
		insn = value | spread(mask, all <= n ? i : next_random(&state));
		/* What a narrower row takes is not this row's. */
		if (r && probe_insn_decode(insn) != r)
			continue;
		write_word(f, insn);
	}
	if (fclose(f))
		die("cannot write words");
}

static u32 *read_words(const char *path, u64 *nr)
{
	FILE *f = fopen(path, "rb");
	u8 bytes[4];
	u32 *words;
	long size;
	u64 i;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
		die("cannot read words");
	rewind(f);
	*nr = size / sizeof(bytes);
	words = get_memory(size + 1);
	for (i = 0; i < *nr; i++) {
		if (fread(bytes, sizeof(bytes), 1, f) != 1)
			die("cannot read words");
		words[i] = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (u32)bytes[3] << 24;
	}
	fclose(f);

	return words;
}

static void write_computations(const char *path, FILE *to)
{
	u64 nr, i;
	u32 *words = read_words(path, &nr);

	for (i = 0; i < nr; i++)
		write_word(to, probe_insn_computation(words[i]));
	if (fclose(to))
		die("cannot write words");
}

/* What is to be known of each word beside its disassembly. */
static void judge(const char *path)
{
	u64 nr, i;
	u32 *words = read_words(path, &nr);

	for (i = 0; i < nr; i++)
		printf("%u %08x%s%s\n", row_of(words[i]), words[i],
		       probe_insn_is_load_exclusive(words[i]) ? " +load" : "",
		       probe_insn_is_store_exclusive(words[i]) ? " +store" : "");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	FILE *f;

	if (!strcmp(what, "rows") && argc == 2) {
		print_rows();
	} else if (!strcmp(what, "counts") && argc == 2) {
		print_counts();
	} else if (!strcmp(what, "words") && (argc == 5 || argc == 6)) {
		f = fopen(argv[2], "wb");
		if (!f)
			die("cannot write words");
		if (argc == 6 && strtoul(argv[5], NULL, 10) >= ROWS)
			die("no such row");
		write_words(f, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
			    argc == 6 ? probe_insn_rows + strtoul(argv[5], NULL, 10) : NULL);
	} else if (!strcmp(what, "computations") && argc == 4) {
		f = fopen(argv[3], "wb");
		if (!f)
			die("cannot write words");
		write_computations(argv[2], f);
	} else if (!strcmp(what, "judge") && argc == 3) {
		judge(argv[2]);
	} else {
		die("see the top of host.c");
	}

	return 0;
}
