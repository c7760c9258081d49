/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: run a handler at almost any instruction of the kernel.
 *
 * This header is the interface for users of probes and for other subsystems. The
 * interface between the core and an architecture is <linux/kprobes-arch.h>, which is
 * included at the end, so that architecture code needs only this header.
 *
 * Documentation/trace/kprobes.rst is the manual.
 */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/ftrace.h>
#include <linux/kprobes-refusal.h>
#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <asm/kprobes.h>

#ifndef CONFIG_KPROBES
#include <asm-generic/kprobes.h>

/* These complete the structures below without probes. */
typedef int kprobe_opcode_t;
struct arch_specific_insn {
	int dummy;
};
#endif

struct kprobe;
struct kretprobe;
struct kretprobe_instance;
struct pt_regs;
struct seq_buf;
struct task_struct;

/**
 * typedef kprobe_pre_handler_t - called before the probed instruction
 * @p: the probe as it was registered
 * @regs: state of the interrupted code; it may be changed
 *
 * Return: 0 to continue with the probed instruction. Non-zero means that execution
 * continues at the instruction pointer in @regs: the probed instruction is not
 * executed, and neither later handlers at this address nor post handlers are called.
 */
typedef int (*kprobe_pre_handler_t)(struct kprobe *p, struct pt_regs *regs);

/**
 * typedef kprobe_post_handler_t - called after the probed instruction
 * @p: the probe as it was registered
 * @regs: state after the instruction
 * @flags: always 0
 */
typedef void (*kprobe_post_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      unsigned long flags);

/**
 * typedef kprobe_fault_handler_t - called for a fault of the instruction or a handler
 * @p: the probe as it was registered
 * @regs: state at the fault
 * @trapnr: the architecture's number of the fault
 *
 * Return: 1 if the handler has repaired the cause or set a new instruction pointer, 0 to
 * have the fault handled as if there were no probe.
 */
typedef int (*kprobe_fault_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      int trapnr);

/**
 * typedef kretprobe_handler_t - called at the entry or return of a function
 * @ri: this call of the function
 * @regs: state at entry, or after the return with the return value in place
 *
 * Return: for an entry handler, 0 to have the return of this call reported, non-zero not
 * to. For a return handler, the value is ignored.
 */
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri,
				   struct pt_regs *regs);

/* Bits of kprobe.flags. A caller may set the three that have a comment. */
#define KPROBE_FLAG_GONE		1
/* Registers the probe, but no handler is called before enable_kprobe(). */
#define KPROBE_FLAG_DISABLED		2
#define KPROBE_FLAG_OPTIMIZED		4
#define KPROBE_FLAG_FTRACE		8
#define KPROBE_FLAG_ON_FUNC_ENTRY	16
/* Refuse a symbol name that several symbols have; cleared by registration. */
#define KPROBE_FLAG_UNIQUE		32
/**
 * define KPROBE_FLAG_REENTRANT - handlers can be called inside of others
 *
 * The handlers can be called while another handler on this CPU, even one of the same probe, has
 * been interrupted by a softirq, an interrupt or an NMI. Without it, such a hit is missed. Not for
 * probes with a fault handler, nor for jprobes: -EINVAL. Backends that are not the core's own
 * ignore it.
 */
#define KPROBE_FLAG_REENTRANT		64
/* All others may be left from an earlier registration, and are ignored. */
#define KPROBE_FLAGS			127

/**
 * struct kprobe - a probe on one instruction
 * @hlist: not linked; shares its storage with members of the core
 * @origin: for the core: who has registered the probe
 * @next: for the core: the next probe that the same call detaches
 * @refusal: for the core: why the last registration failed
 * @call: for the core: the call in progress that uses this structure
 * @reap: for the core, in the probe of an address: links those to be freed; empty while in use
 * @list: linked exactly while the probe is registered
 * @nmissed: hits for which no handler could be called; of a kretprobe also returns that were not
 *	     reported because RCU did not watch
 * @addr: address of the probe; after registration the one in use, which may be
 *	  after a landing pad at the start of the function
 * @symbol_name: symbol to probe; set either this or @addr, not both
 * @offset: added to the symbol or to @addr
 * @nmissed_rcu: those of @nmissed where RCU did not watch, modulo 2^32
 * @pre_handler: called before the instruction, may be NULL
 * @post_handler: called after it, may be NULL. A probe that has one is never
 *		  jump optimized, and claims a function entry for itself
 *		  against livepatch
 * @fault_handler: called for faults in this probe's handlers or in the probed
 *		   instruction, may be NULL; needs HAVE_KPROBE_FAULT_HANDLER
 * @opcode: original instruction as a value, for architecture code only
 * @ainsn: what the architecture keeps about the instruction; not set in probes
 *	   of users
 * @flags: KPROBE_FLAG_*, such as KPROBE_FLAG_REENTRANT; readers take it as a snapshot
 *
 * To register a structure again after unregister_kprobe(), clear @flags; and
 * clear @addr when @symbol_name is used, or set it anew when @offset is.
 */
struct kprobe {
	union {
		struct hlist_node	hlist;
		struct {
			union {
				struct kprobe_origin	*origin;
				struct kprobe		*next;
				enum kprobe_refusal	refusal;
			};
			struct kprobe_call	*call;
		};
		struct list_head	reap;
	};
	struct list_head		list;
	unsigned long			nmissed;
	kprobe_opcode_t			*addr;
	const char			*symbol_name;
	unsigned int			offset;
	unsigned int			nmissed_rcu;
	kprobe_pre_handler_t		pre_handler;
	kprobe_post_handler_t		post_handler;
	kprobe_fault_handler_t		fault_handler;
	kprobe_opcode_t			opcode;
	struct arch_specific_insn	ainsn;
	u32				flags;
};

/**
 * kprobe_gone() - has the probed code been freed?
 * @p: the probe
 *
 * Context: any.
 * Return: true if it has.
 */
static inline bool kprobe_gone(struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_GONE;
}

/**
 * kprobe_disabled() - is the probe disabled or gone?
 * @p: the probe
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kprobe_disabled(struct kprobe *p)
{
	return READ_ONCE(p->flags) & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_GONE);
}

/**
 * kprobe_optimized() - does the probe have a jump, or is it about to get one?
 * @p: the core's probe, as get_kprobe() returns it; not that of a user
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kprobe_optimized(struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_OPTIMIZED;
}

/**
 * kprobe_ftrace() - is the probe called by ftrace?
 * @p: the probe
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kprobe_ftrace(struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_FTRACE;
}

/* More per-call data than this is refused with -E2BIG. */
#define KRETPROBE_MAX_DATA_SIZE		4096

/**
 * struct kretprobe_holder - reference of calls in flight to their kretprobe
 * @rp: the kretprobe, NULL after its unregistration
 * @fast: the same, if its returns take the fast path: it has a handler and no fault handler
 *
 * It outlives the kretprobe until the last call in flight has returned.
 */
struct kretprobe_holder {
	struct kretprobe __rcu	*rp;
	struct kretprobe __rcu	*fast;
};

/**
 * struct kretprobe - a probe on the entry and the return of a function
 * @kp: the probe on the entry; its pre and post handler are set by
 *	register_kretprobe()
 * @handler: called when the function has returned, may be NULL
 * @entry_handler: called at its entry, may be NULL
 * @maxactive: how many calls can be in flight, on all CPUs together; 0 or less for a
 *	       default, which is written back. The pool can then grow, but not with
 *	       KRETPROBE_ON_RETHOOK
 * @nmissed: calls that were not hooked because too many were in flight
 * @data_size: bytes of user data in each instance
 * @rh: instance pool (KRETPROBE_ON_RETHOOK)
 * @rph: instance pool (otherwise)
 */
struct kretprobe {
	struct kprobe			kp;
	kretprobe_handler_t		handler;
	kretprobe_handler_t		entry_handler;
	int				maxactive;
	int				nmissed;
	size_t				data_size;
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	struct rethook			*rh;
#else
	struct kretprobe_holder		*rph;
#endif
};

/**
 * struct kretprobe_instance - one hooked call of a probed function
 * @node: link to the task (KRETPROBE_ON_RETHOOK)
 * @llist: link to the task (otherwise)
 * @rph: the pool it belongs to
 * @fp: the stack frame, in a form that the architecture chooses
 * @block: the block of the pool that it returns to, as kernel/kprobes/pool.h says
 * @bit: what stands for it in the word of the block
 * @ret_addr: the return address; unknown in the entry handler
 * @rp: the kretprobe
 * @task: the task that made the call
 * @data: @kretprobe.data_size bytes for the user, kept from entry to return
 *
 * @ret_addr, @rp and @task are for handlers, while they run. Functions that handlers call
 * use get_kretprobe() and, at the return, get_kretprobe_retaddr().
 */
struct kretprobe_instance {
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	struct rethook_node		node;
#else
	struct llist_node		llist;
	struct kretprobe_holder		*rph;
	void				*fp;
	struct kretprobe_block		*block;
	unsigned long			bit;
#endif
	kprobe_opcode_t			*ret_addr;
	struct kretprobe		*rp;
	struct task_struct		*task;
	char				data[];
};

/**
 * struct kretprobe_blackpoint - a function whose return must not be hooked
 * @name: its symbol
 * @addr: its address, looked up at boot
 */
struct kretprobe_blackpoint {
	const char	*name;
	void		*addr;
};

#ifdef CONFIG_KPROBES

int register_kprobe(struct kprobe *p);
int kprobe_check(struct kprobe *p);
int kretprobe_check(struct kretprobe *rp);
void unregister_kprobe(struct kprobe *p);
int register_kprobes(struct kprobe **kps, int num);
void unregister_kprobes(struct kprobe **kps, int num);
int enable_kprobe(struct kprobe *p);
int disable_kprobe(struct kprobe *p);

/* For code built into the kernel; documented at their definitions. */
enum kprobe_refusal kprobe_why_refused(struct kprobe *p);
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset);
int kprobe_for_each_symbol(const char *name, int (*fn)(unsigned long addr, void *data),
			   void *data);
bool within_kprobe_blacklist(unsigned long addr);
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type,
		       char *sym);
void kprobe_free_init_mem(void);
void kprobe_busy_begin(void);
void kprobe_busy_end(void);
void kprobe_abandon_hit(void);

#else /* !CONFIG_KPROBES */

static inline int register_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline int kprobe_check(struct kprobe *p) { return -EOPNOTSUPP; }
static inline int kretprobe_check(struct kretprobe *rp) { return -EOPNOTSUPP; }
static inline void unregister_kprobe(struct kprobe *p) { }
static inline int register_kprobes(struct kprobe **kps, int num) { return -EOPNOTSUPP; }
static inline void unregister_kprobes(struct kprobe **kps, int num) { }
static inline int enable_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline int disable_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline struct kprobe *get_kprobe(void *addr) { return NULL; }
static inline struct kprobe *kprobe_running(void) { return NULL; }
static inline int kprobe_fault_handler(struct pt_regs *regs, int trapnr) { return 0; }

static inline enum kprobe_refusal kprobe_why_refused(struct kprobe *p)
{
	return KPROBE_REFUSAL_UNSUPPORTED;
}

static inline int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
				       unsigned long offset)
{
	return -EOPNOTSUPP;
}

static inline int kprobe_for_each_symbol(const char *name,
					 int (*fn)(unsigned long addr, void *data), void *data)
{
	return -EOPNOTSUPP;
}

/* Without a list of text that must not be probed, none may be. */
static inline bool within_kprobe_blacklist(unsigned long addr) { return true; }

static inline int kprobe_get_kallsym(unsigned int symnum, unsigned long *value,
				     char *type, char *sym)
{
	return -ERANGE;
}

static inline void kprobe_free_init_mem(void) { }
static inline void kprobe_busy_begin(void) { }
static inline void kprobe_busy_end(void) { }
static inline void kprobe_abandon_hit(void) { }
static inline bool is_kprobe_insn_slot(unsigned long addr) { return false; }
static inline bool is_kprobe_optinsn_slot(unsigned long addr) { return false; }

#endif /* CONFIG_KPROBES */

#ifdef CONFIG_KPROBES_FILES
int kprobe_print_candidates(const char *name, struct seq_buf *s);
#else
static inline int kprobe_print_candidates(const char *name, struct seq_buf *s) { return 0; }
#endif

#ifdef CONFIG_OPTPROBES
void wait_for_kprobe_optimizer(void);
#else
/* Without jump optimization there is nothing to wait for. */
static inline void wait_for_kprobe_optimizer(void) { }
#endif

#ifdef CONFIG_KRETPROBES

int register_kretprobe(struct kretprobe *rp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);

#else

static inline int register_kretprobe(struct kretprobe *rp) { return -EOPNOTSUPP; }
static inline void unregister_kretprobe(struct kretprobe *rp) { }
static inline int register_kretprobes(struct kretprobe **rps, int num) { return -EOPNOTSUPP; }
static inline void unregister_kretprobes(struct kretprobe **rps, int num) { }

#endif /* CONFIG_KRETPROBES */

/**
 * struct jprobe - a probe whose handler has the parameters of the probed function
 * @kp: the probe on the entry; its pre and post handler are set by register_jprobe()
 * @entry: the handler, which ends with jprobe_return()
 *
 * The handler sees its arguments in registers and, in a copy of 64 bytes (128 on 64-bit powerpc),
 * on the stack. What it changes is not seen by the probed function. It must not sleep.
 */
struct jprobe {
	struct kprobe	kp;
	void		*entry;
};

/* For initializers of jprobe.entry. */
#define JPROBE_ENTRY(handler)	((void *)(handler))

#ifdef CONFIG_JPROBES

int register_jprobe(struct jprobe *jp);
void unregister_jprobe(struct jprobe *jp);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
void jprobe_return(void);

#else

static inline int register_jprobe(struct jprobe *jp) { return -EOPNOTSUPP; }
static inline void unregister_jprobe(struct jprobe *jp) { }
static inline int register_jprobes(struct jprobe **jps, int num) { return -EOPNOTSUPP; }
static inline void unregister_jprobes(struct jprobe **jps, int num) { }
static inline void jprobe_return(void) { }

#endif /* CONFIG_JPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE
void kprobe_ftrace_kill(void);
#else
static inline void kprobe_ftrace_kill(void) { }
#endif

/**
 * disable_kretprobe() - stop hooking new calls
 * @rp: a registered kretprobe
 *
 * Returns of calls in flight are still reported to the handler.
 *
 * Context: as disable_kprobe().
 * Return: as disable_kprobe().
 */
static inline int disable_kretprobe(struct kretprobe *rp)
{
	return disable_kprobe(&rp->kp);
}

/**
 * enable_kretprobe() - hook calls again
 * @rp: a registered kretprobe
 *
 * Context: as enable_kprobe().
 * Return: as enable_kprobe().
 */
static inline int enable_kretprobe(struct kretprobe *rp)
{
	return enable_kprobe(&rp->kp);
}

/**
 * disable_jprobe() - stop calling the handler
 * @jp: a registered jprobe
 *
 * Context: as disable_kprobe().
 * Return: as disable_kprobe().
 */
static inline int disable_jprobe(struct jprobe *jp)
{
	return disable_kprobe(&jp->kp);
}

/**
 * enable_jprobe() - call the handler again
 * @jp: a registered jprobe
 *
 * Context: as enable_kprobe().
 * Return: as enable_kprobe().
 */
static inline int enable_jprobe(struct jprobe *jp)
{
	return enable_kprobe(&jp->kp);
}

#ifdef CONFIG_KPROBES
#include <linux/kprobes-arch.h>
#endif

/*
 * Return probes for unwinders and tracers. is_kretprobe_trampoline() recognizes a return
 * address that was replaced. kretprobe_find_ret_addr() finds the real addresses of a
 * task's hooked frames, newest first: @cur is the cursor of the caller, NULL at first.
 * The task is current or does not run. Any context; 0 means there is none.
 */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

static nokprobe_inline
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	return rethook_find_ret_addr(tsk, (unsigned long)fp, cur);
}

#elif defined(CONFIG_KRETPROBES)

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr == (unsigned long)kretprobe_trampoline_addr();
}

unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur);

#else

static nokprobe_inline
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	return 0;
}

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr) { return false; }

#endif

/**
 * get_kretprobe() - find the kretprobe that an instance belongs to
 * @ri: the instance
 *
 * Context: in a handler, or with RCU held some other way.
 * Return: the kretprobe, or NULL after its unregistration.
 */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
static nokprobe_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	/* Unregistration clears the handler first and the data never. */
	if (!rcu_access_pointer(ri->node.rethook->handler))
		return NULL;
	return ri->node.rethook->data;
}
#elif defined(CONFIG_KRETPROBES)
static nokprobe_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	/*
	 * In a handler, preemption is off. Then lockdep is not asked: it would complain about
	 * interrupts that are masked without its knowledge, as inside of local_irq_save().
	 */
	return rcu_dereference_check(ri->rph->rp, (!preemptible() && rcu_is_watching()) ||
						  rcu_read_lock_any_held());
}
#else
static nokprobe_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return NULL;
}
#endif

/**
 * get_kretprobe_retaddr() - the real return address of a call
 * @ri: the instance
 *
 * Context: in the return handler, where it is the real address even when
 *	    several kretprobes share the frame.
 * Return: the address.
 */
static nokprobe_inline
unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return (unsigned long)ri->ret_addr;
}

/* Tasks die with calls in flight; rethook cleans up after itself. */
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
void kprobe_flush_task(struct task_struct *tsk);
#else
static inline void kprobe_flush_task(struct task_struct *tsk) { }
#endif

/**
 * kprobe_page_fault() - offer a kernel fault to the current probe
 * @regs: state at the fault
 * @trap: the architecture's number of the fault
 *
 * Called early in fault handlers. Handlers and out-of-line steps run with
 * preemption off, so a preemptible context cannot be one of them.
 *
 * Context: exception.
 * Return: true if the fault was handled.
 */
static nokprobe_inline bool kprobe_page_fault(struct pt_regs *regs,
					      unsigned int trap)
{
	return IS_ENABLED(CONFIG_KPROBES) && !user_mode(regs) &&
	       !preemptible() && kprobe_running() &&
	       kprobe_fault_handler(regs, trap);
}

#endif /* _LINUX_KPROBES_H */
