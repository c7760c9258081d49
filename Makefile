# SPDX-License-Identifier: GPL-2.0-only
# Every target runs one script, which documents itself; scripts/README.md lists them.
# Build products are kept outside this directory (see scripts/README.md).

# Every target goes through this, which gets the base that BASE chooses if need be.
start := @scripts/build/start

# Targets that are scripts of the same name, by folder.
test := shell examples systemtap pitfalls
longer := stress adversary truth
others := test-arches test-debug test-matrix
measure := bench sweep coverage pictures coherence gcov
prove := check paths litmus model defects decode-check configs

help:
	@echo 'make run          build for x86_64, boot in QEMU, show the probes at work (ARCH=arm64, ppc64le)'
	@echo 'make test         KUnit on four architectures, userland tests on three of them'
	@echo '                  (ARCH=x86_64 and SUITE=kprobes_test narrow it, V=1 shows all)'
	@echo 'make selftests    only the base'"'"'s own selftests of kprobe events'
	@echo 'make shell        a shell in the booted x86_64 kernel (ARCH=arm64, ppc64le)'
	@echo 'make examples     build and run the examples of the manual (ARCH=arm64, ppc64le)'
	@echo 'make systemtap    a script of SystemTap on our kernel'
	@echo 'make series       patches for git am (DIR=where; VERIFY=1 applies, BUILD=1 builds, CHECK=1 checks each)'
	@echo 'make check        checkpatch, sparse, W=1, kernel-doc on our files'
	@echo 'make paths        can nothing on the path of a hit be probed in kernels of many builds? (ARCH=)'
	@echo 'make bench        what a probe costs, base and ours side by side (ARCH=arm64, BIG=1)'
	@echo 'make sweep        probes on one in 20 instructions of the kernel, under load (EVERY=, SEED=)'
	@echo 'make coverage     how many probes are optimized, and why others are not (SAMPLE=, ALL=1, ARCH=)'
	@echo 'make pictures     draw what bench and coverage have recorded (RECORD=1 make bench records)'
	@echo 'make adversary    optimized probes in thousands of random functions (SEEDS=, FUNCTIONS=)'
	@echo 'make stress       ten minutes of everything at once (MINUTES=, KERNEL=x86_64-lockdep)'
	@echo 'make coherence    does QEMU execute code that another CPU has rewritten, or stale code?'
	@echo 'make mutants      plant errors, one at a time: do the tests catch them? (SAMPLE=, SEED=, FILES=, ARCH=)'
	@echo 'make gcov         which lines and branches of ours the tests execute (SUITE=, LIST=1, KEEP=1)'
	@echo 'make decode-check compare the x86 decoder with objdump (ARCH=arm64: that of arm64)'
	@echo 'make model        random sequences of calls against a model of what they do (OPS=, SEED=, THREADS=)'
	@echo 'make truth        what is said about each address, against what happens (PASSES=, ARCH=)'
	@echo 'make litmus       judge the litmus tests of lockless lookups'
	@echo 'make defects      known defects of the base, shown in the base and absent in ours (DEFECT=)'
	@echo 'make configs      is kconfig silent in 55 configurations of each architecture? (ARCH=, SEED=)'
	@echo 'make pitfalls     which test covers which known hard case'
	@echo 'make test-arches  build the other architectures, boot those that QEMU can, and more of arm64'
	@echo 'make test-debug   all suites under lockdep, KASAN and KCSAN'
	@echo 'make test-matrix  KUnit with other preemption, unwinders, mitigations, page sizes, compilers'
	@echo 'make clean        remove everything that was made (BASE=7.3: only what that base has)'
	@echo 'make ... BASE=7.3 any of these on Linux 7.3 instead of 6.12 (KPROBES_BASE=a tree or tarball)'
	@echo 'KPROBES_OUT=DIR   where build products go instead of ~/.cache/kprobes-linux'

run:
	$(start) scripts/test/demo

# Only the part with the kernel's own selftests.
selftests: export SUITE = selftests
selftests: export ARCH := $(or $(ARCH),x86_64)

test selftests:
	$(start) scripts/test/run

mutants:
	$(start) scripts/prove/mutate

$(test):
	$(start) scripts/test/$@

$(others):
	$(start) scripts/test/others $(@:test-%=%)

$(longer):
	$(start) scripts/test/longer $@

$(measure):
	$(start) scripts/measure/$@

$(prove):
	$(start) scripts/prove/$@

series:
	$(start) scripts/build/series $(DIR) $(if $(VERIFY),--verify) $(if $(BUILD),--build) \
		$(if $(CHECK),--check)

clean:
	@scripts/build/clean

.PHONY: help run test selftests mutants series clean $(test) $(others) $(longer) $(measure) $(prove)
