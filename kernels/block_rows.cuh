// Groups a block's part of the rows in its table, and flushes that to the table in device memory.
#ifndef MPGA_KERNELS_BLOCK_ROWS_CUH
#define MPGA_KERNELS_BLOCK_ROWS_CUH

#include "aggregate.cuh"
#include "programs.cuh"

template <class Key, class Program, Tables kTables>
__device__ __forceinline__ void aggregate_block_rows(const Launch& p) {
  extern __shared__ u64 shared[];
  BlockTable<Key, Program, kTables> table(p, shared);
  Tally tally = {};
  table.init();
  __syncthreads();  // the table is empty
  const u64 part = kTables == Tables::kShares ? blockIdx.x / p.shares : blockIdx.x;
  const u64 begin = min(p.rows.count, part * p.rows_per_block);
  const u64 end = min(p.rows.count, begin + p.rows_per_block);
  if (kTables == Tables::kShares) choose_hot<false, Columns>(p, table, begin, end);
  const bool refused = aggregate_range<Columns>(p, table, begin, end);
  // The table has all rows.
  if (__syncthreads_or(refused)) insert_refused<Columns, Key, Program, kTables>(p, shared, begin, end, tally);
  tally.lost += table.flush(tally.did);
  report(p, tally);
}

#endif
