# SPDX-License-Identifier: GPL-2.0-only
# Every target is a script of the same name; they say what they do, and keep
# what they make outside this directory (see README.md).

targets := run test selftests shell series check bench sweep coverage adversary stress coherence mutants gcov defects pitfalls test-arches test-debug test-matrix

help:
	@echo 'make run          build for x86_64, boot in QEMU, show the probes at work'
	@echo 'make test         KUnit on five architectures, userland tests on x86_64'
	@echo '                  (ARCH=x86_64 and SUITE=kprobes_test narrow it, V=1 shows all)'
	@echo 'make selftests    only the base'"'"'s own selftests of kprobe events'
	@echo 'make shell        a shell in the booted x86_64 kernel'
	@echo 'make series       patches for git am (DIR=where; VERIFY=1 applies, BUILD=1 builds each)'
	@echo 'make check        checkpatch, sparse, W=1, kernel-doc on our files'
	@echo 'make bench        what a probe costs, base and ours side by side'
	@echo 'make sweep        probes on every 20th instruction of the kernel, under load (EVERY=, SEED=)'
	@echo 'make coverage     how many probes become jumps, and why others do not (SAMPLE=, ALL=1)'
	@echo 'make adversary    optimized probes in thousands of random functions (SEEDS=, FUNCTIONS=)'
	@echo 'make stress       ten minutes of everything at once (MINUTES=, KERNEL=x86_64-lockdep)'
	@echo 'make coherence    does QEMU execute what another CPU has rewritten, or something older?'
	@echo 'make mutants      plant errors, one at a time: each has to be caught by a test'
	@echo 'make gcov         which lines and branches of ours the tests execute (SUITE=, LIST=1, KEEP=1)'
	@echo 'make defects      what the base does wrong, shown in the base and in ours'
	@echo 'make pitfalls     which test shows what of the list of known hard cases'
	@echo 'make test-arches  build the other architectures'
	@echo 'make test-debug   all suites under lockdep, KASAN and KCSAN'
	@echo 'make test-matrix  KUnit with other preemption, unwinders, mitigations, compiler'
	@echo 'make clean        remove everything that was made'

run test selftests shell check bench sweep coverage adversary stress coherence mutants gcov defects pitfalls test-arches test-debug test-matrix:
	@scripts/$@

series:
	@scripts/series $(DIR) $(if $(VERIFY),--verify) $(if $(BUILD),--build)

clean:
	@scripts/clean

.PHONY: help clean $(targets)
