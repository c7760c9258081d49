# SPDX-License-Identifier: GPL-2.0-only
# Probes come and go while a CPU is offline.
# checks: 57
# needs: CONFIG_HOTPLUG_CPU
. /guest/lib.sh

FN=vfs_statx
CPU=/sys/devices/system/cpu/cpu1/online
EVENT=$TRACING/events/kprobes/hotplug_probe

set_probe() {
	echo "p:hotplug_probe $1" >$TRACING/kprobe_events && echo 1 >$EVENT/enable
}
drop_probe() { echo 0 >$EVENT/enable && echo >$TRACING/kprobe_events; }
cpu() { echo "$1" >$CPU && [ "$(cat $CPU)" = "$1" ]; }
# Hits on that CPU, and on no other.
hits_on_1() {
	echo >$TRACING/trace
	taskset 2 stat /init >/dev/null
	[ "$(grep -c '\[001\].*hotplug_probe' $TRACING/trace)" -gt 0 ]
}
no_hits() {
	echo >$TRACING/trace
	taskset 2 stat /init >/dev/null
	! grep -q hotplug_probe $TRACING/trace
}

# At the entry ftrace calls the probe; after it there is a breakpoint.
for place in $FN "$FN+$(first_after $FN)"; do
	for round in 1 2 3; do
		check "$place $round: the CPU goes" cpu 0
		check "$place $round: a probe comes" set_probe $place
		check "$place $round: the CPU comes" cpu 1
		check "$place $round: it knows of the probe" hits_on_1
		check "$place $round: it goes again" cpu 0
		check "$place $round: the probe goes" drop_probe
		check "$place $round: the CPU comes" cpu 1
		check "$place $round: it knows of no probe" no_hits
	done
done
check "the list is empty" no_probes

# Code that a CPU runs on its way up and down: each probe is refused, or can be hit.
# With breakpoints only, because a detour does not need an IDT.
echo 0 >/proc/sys/debug/kprobes-optimization 2>/dev/null
for fn in start_secondary cr4_init cpu_init_exception_handling load_current_idt load_ucode_ap \
	  cpuhp_ap_sync_alive cpu_init fpu__init_cpu rcutree_report_cpu_starting ap_starting \
	  notify_cpu_starting smp_store_cpu_info identify_secondary_cpu check_tsc_sync_target \
	  lapic_online setup_local_APIC cpu_startup_entry secondary_startup_64 early_setup_idt \
	  set_cpu_sibling_map cpuhp_online_idle cpuhp_report_idle_dead rcutree_report_cpu_dead \
	  sched_cpu_dying tick_cpu_dying native_cpu_disable do_idle \
	  secondary_start_kernel __secondary_switched set_cpu_boot_mode_flag finalise_el2 cpuinfo_store_cpu check_local_cpu_capabilities \
	  numa_add_cpu init_gic_priority_masking cpu_psci_cpu_boot cpu_psci_cpu_die cpu_die \
	  psci_0_2_cpu_off __cpu_disable gic_starting_cpu arch_timer_starting_cpu \
	  early_setup_secondary early_init_mmu_secondary secondary_cpu_time_init \
	  add_cpu_to_masks smp_setup_cpu_maps xics_setup_cpu pseries_cpu_disable \
	  pseries_cpu_offline_self smp_pSeries_kick_cpu arch_cpu_idle_dead; do
	i=0
	while [ $i -lt 24 ]; do
		echo "p:up/${fn}_$i $fn+$i" && { echo 1 >$TRACING/events/up/${fn}_$i/enable ||
			echo "-:up/${fn}_$i"; }
		i=$((i + 1))
	done 2>/dev/null >>$TRACING/kprobe_events
done
nr=$(grep -c . $KPROBES/list)
echo "    $nr probes"
check "some of what a CPU runs on its way up can be probed" [ "$nr" -ge 10 ]
check "what it runs first cannot" sh -c \
	"! grep -q 'start_secondary\|cr4_init\|secondary_start\|secondary_switched\|set_cpu_boot\|finalise_el2\|early_setup_idt\|early_setup_sec\|offline_self' $KPROBES/list"
check "nor what it runs while RCU is not watching" sh -c \
	"! grep -q 'rcutree_report\|cpuhp_report_idle_dead' $KPROBES/list"
for round in 1 2; do
	check "$round: the CPU goes with these" cpu 0
	check "$round: and comes" cpu 1
done
echo 0 >$TRACING/events/up/enable
echo >$TRACING/kprobe_events
check "the list is empty again" no_probes
