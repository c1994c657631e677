// Groups scattered rows: each work item, a partition or a part of a large one, in a table in shared
// memory. The groups of a whole partition are written at once, since no other block has them; those
// of a part go to the table in device memory, as do rows of partitions with too many groups.
#ifndef MPGA_KERNELS_PARTITIONS_CUH
#define MPGA_KERNELS_PARTITIONS_CUH

#include "claims.cuh"
#include "programs.cuh"

// kClaims: rows claim slots. The next item is asked for while one is worked on.
template <class Source, class Key, class Program, bool kClaims>
__device__ __forceinline__ void aggregate_partitions(const Launch& p) {
  extern __shared__ u64 shared[];
  __shared__ WorkItem next;  // without rows: there is none
  BlockTable<Key, Program, Tables::kSingle> table(p, shared);
  Tally tally = {};
  const u64 num_items = p.work->num_items;
  if (threadIdx.x == 0) {
    const u64 first = atomicAdd(&p.work->next_item, 1ull);
    next = first < num_items ? p.items[first] : WorkItem{};
  }
  for (;;) {
    table.init();
    __syncthreads();  // the table is empty, next is there
    const WorkItem item = next;
    if (item.begin == item.end) break;
    u64 ahead = num_items;
    if (threadIdx.x == 0) ahead = atomicAdd(&p.work->next_item, 1ull);
    table.hot = kNoSlot;
    if (!item.whole) choose_hot<kClaims, Source>(p, table, item.begin, item.end);
    bool refused;
    if constexpr (kClaims) {
      refused = claim_range<Source>(p, table, item.begin, item.end);
    } else {
      refused = aggregate_range<Source>(p, table, item.begin, item.end);
    }
    WorkItem following = {};
    if (ahead < num_items) following = p.items[ahead];
    // The table has all rows, and all threads have the item.
    if (__syncthreads_or(refused)) insert_refused<Source, Key, Program, Tables::kSingle>(p, shared, item.begin, item.end, tally);
    tally.lost += item.whole ? table.emit() : table.flush(tally.did);
    if (threadIdx.x == 0) next = following;
    __syncthreads();  // the table may be emptied
  }
  report(p, tally);
}

#endif
