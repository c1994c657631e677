// The fourth phase of SP-EGA (Wang, Shen, Lei, 2025, section 4.1.4): the rows that the first phase
// left go into the table, which was emptied in between, with linear probing.
//
//   launch  any grid; kLookThreads threads
//   reads   rows, rest, num_rest    writes  table; status: rows, overflow, probes
//
// A row that finds no slot within probe_max steps is counted as overflow.
#include "aggregate.cuh"
#include "params_two_phase.h"
#include "table_program.cuh"

template <class Key, class Program>
__device__ __forceinline__ void two_phase_rest(const TwoPhaseLaunch& p) {
  extern __shared__ u32 shared[];
  const Launch& l = p.launch;
  const BlockSums sums(shared, l);
  Tally tally = {};
  take_rows<Key, Program>(
      l, *p.num_rest, l.probe_max, sums.slots != 0, sums, tally.did, [&](u64 n) { return u64(p.rest[n]); },
      [&](const u64(&)[kLooks<Key>], u32 left) { tally.lost += u32(__popc(left)); });
  sums.flush(l);
  const u64 lost = block_sum(tally.lost), probes = block_sum(tally.did.probes), groups = block_sum(tally.did.groups);
  if (threadIdx.x != 0) return;
  if (groups != 0) atomicAdd(&table_header(l.table)->groups, groups);
  if (probes != 0) atomicAdd(&l.status->probes, probes);
  if (lost != 0) {
    atomicAdd(&l.status->overflow, lost);
    atomicAdd(&l.status->rows, 0 - lost);  // the first phase has counted them
  }
}

#define MPGA_KERNEL(name, Key, Program)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(kLookThreads) two_phase_rest_##name(const __grid_constant__ TwoPhaseLaunch p) { \
    two_phase_rest<Key, Program>(p);                                                                                                     \
  }
MPGA_TABLE_PROGRAMS(MPGA_KERNEL)
