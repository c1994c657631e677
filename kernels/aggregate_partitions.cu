// Groups scattered rows: each work item, a partition or a part of a large one, in a table in shared
// memory. The groups of a whole partition are written at once, since no other block has them; those
// of a part go to the table in device memory, as do rows of partitions with too many groups.
//
//   launch  as many blocks as run at a time; at most 1024 threads; shared: as aggregate_shared
//   reads   rows, items    writes  groups, table, work; status: rows, groups, overflow, probes
//
// status.overflow counts rows and groups that found no slot, or no room: 0, or the answer is void.
#include "aggregate.cuh"
#include "programs.cuh"

template <class Key, class Program>
__device__ __forceinline__ void aggregate_partitions(const Launch& p) {
  extern __shared__ u64 shared[];
  __shared__ u64 next;
  BlockTable<Key, Program> table(p, shared);
  Tally tally = {};
  for (;;) {
    if (threadIdx.x == 0) next = atomicAdd(&p.work->next_item, 1ull);
    table.init();
    __syncthreads();  // the table is empty, next is there
    if (next >= p.work->num_items) break;
    const WorkItem item = p.items[next];
    aggregate_rows(p, table, item.begin, item.end, tally);
    __syncthreads();  // the table has all rows
    tally.lost += item.whole ? table.emit() * (threadIdx.x == 0) : table.flush(tally.did);
    __syncthreads();  // the table may be emptied
  }
  report(p, tally);
}

#define MPGA_KERNEL(name, Key, Program)                                                                \
  extern "C" __global__ void __launch_bounds__(1024) aggregate_partitions_##name(const __grid_constant__ Launch p) { \
    aggregate_partitions<Key, Program>(p);                                                             \
  }
MPGA_PROGRAMS(MPGA_KERNEL)
