// Groups scattered rows: each work item, a partition or a part of a large one, in a table in shared
// memory. The groups of a whole partition are written at once, since no other block has them; those
// of a part go to the table in device memory, as do rows of partitions with too many groups.
#ifndef MPGA_KERNELS_PARTITIONS_CUH
#define MPGA_KERNELS_PARTITIONS_CUH

#include "aggregate.cuh"
#include "programs.cuh"

template <class Source, class Key, class Program>
__device__ __forceinline__ void aggregate_partitions(const Launch& p) {
  extern __shared__ u64 shared[];
  __shared__ u64 next;
  BlockTable<Key, Program, false> table(p, shared);
  Tally tally = {};
  for (;;) {
    if (threadIdx.x == 0) next = atomicAdd(&p.work->next_item, 1ull);
    table.init();
    __syncthreads();  // the table is empty, next is there
    if (next >= p.work->num_items) break;
    const WorkItem item = p.items[next];
    const bool refused = aggregate_range<Source>(p, table, item.begin, item.end);
    // The table has all rows.
    if (__syncthreads_or(refused)) insert_refused<Source, Key, Program, false>(p, shared, item.begin, item.end, tally);
    tally.lost += item.whole ? table.emit() * (threadIdx.x == 0) : table.flush(tally.did);
    __syncthreads();  // the table may be emptied
  }
  report(p, tally);
}

#endif
