// The first and the third phase of SP-EGA (Wang, Shen, Lei, 2025, sections 4.1.1 and 4.1.3): a row
// whose key has its first slot, or finds it free, is accumulated there; the others are listed.
//
//   launch  any grid; kLookThreads threads
//   reads   rows    writes  table, rest, num_rest; status: rows, probes
//
// A group is aggregated here as a whole or not at all: all its rows look at one slot, and a slot
// never changes its owner. The paper takes a third of the table for this phase, since the results
// have to be gathered in the rest of that memory; here they have memory of their own, so that the
// whole table takes part and leaves two thirds of the rows that the paper leaves, or fewer.
#include "aggregate.cuh"
#include "params_two_phase.h"
#include "table_program.cuh"

template <class Key, class Program>
__device__ __forceinline__ void two_phase_first(const TwoPhaseLaunch& p) {
  __shared__ u64 rest_begin;
  extern __shared__ u32 shared[];
  const BlockSums sums(shared, p.launch);
  Tally tally = {};
  take_rows<Key, Program>(
      p.launch, p.launch.rows.count, 1, sums.slots != 0, sums, tally.did, [](u64 row) { return row; },
      [&](const u64(&rows)[kLooks<Key>], u32 left) {
        u32 total;
        u64 before = block_scan(u32(__popc(left)), &total);
        if (total == 0) return;
        if (threadIdx.x == 0) rest_begin = atomicAdd(p.num_rest, u64(total));
        __syncthreads();  // rest_begin is there
#pragma unroll
        for (u32 i = 0; i < kLooks<Key>; i++) {
          if (left >> i & 1) p.rest[rest_begin + before++] = u32(rows[i]);
        }
        __syncthreads();  // rest_begin may be written again
      });
  sums.flush(p.launch);
  report(p.launch, tally);
}

#define MPGA_KERNEL(name, Key, Program)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(kLookThreads) two_phase_first_##name(const __grid_constant__ TwoPhaseLaunch p) { \
    two_phase_first<Key, Program>(p);                                                                                                     \
  }
MPGA_TABLE_PROGRAMS(MPGA_KERNEL)
