// Groups rows in one table per block, in shared memory, which is flushed to the table in device
// memory at the end: for few groups.
//
//   launch  any grid; at most 1024 threads; shared: of BlockTable, blockSharedBytes in launch.go
//   reads   rows    writes  table; status: rows, overflow, probes
//
// The rows that a block's table refuses go to the table at once. status.overflow counts rows, and
// groups of a block, that found no slot there: 0, or the answer is void.
#include "aggregate.cuh"
#include "programs.cuh"

template <class Key, class Program>
__device__ __forceinline__ void aggregate_shared(const Launch& p) {
  extern __shared__ u64 shared[];
  BlockTable<Key, Program, true> table(p, shared);
  Tally tally = {};
  table.init();
  __syncthreads();  // the table is empty
  const u64 begin = min(p.rows.count, blockIdx.x * p.rows_per_block);
  const u64 end = min(p.rows.count, begin + p.rows_per_block);
  const bool refused = aggregate_range<Columns>(p, table, begin, end);
  // The table has all rows.
  if (__syncthreads_or(refused)) insert_refused<Columns, Key, Program, true>(p, shared, begin, end, tally);
  tally.lost += table.flush(tally.did);
  report(p, tally);
}

#define MPGA_KERNEL(name, Key, Program)                                                                             \
  extern "C" __global__ void MPGA_REGISTERS(Key, Program) aggregate_shared_##name(const __grid_constant__ Launch p) { \
    aggregate_shared<Key, Program>(p);                                                                              \
  }
MPGA_PROGRAMS(MPGA_KERNEL)
