// Groups scattered rows: each work item, a partition or a part of a large one, in a table in shared
// memory. The groups of a whole partition are written at once, since no other block has them; those
// of a part go to the table in device memory, as do rows of partitions with too many groups.
#ifndef MPGA_KERNELS_PARTITIONS_CUH
#define MPGA_KERNELS_PARTITIONS_CUH

#include "claims.cuh"
#include "programs.cuh"

// Item i of those of a launch; without rows: there is none.
__device__ __forceinline__ WorkItem item_at(const Launch& p, u64 i, u64 num_whole, u64 num_items) {
  if (i >= num_items) return {};
  return p.items[i < num_whole ? i : (1u << p.radix_bits) + i - num_whole];
}

// kClaims: rows claim slots. The next item is asked for while one is worked on.
template <class Source, class Key, class Program, bool kClaims>
__device__ __forceinline__ void aggregate_partitions(const Launch& p) {
  extern __shared__ u64 shared[];
  __shared__ WorkItem next;  // without rows: there is none
  BlockTable<Key, Program, Tables::kSingle> table(p, shared);
  Tally tally = {};
  const u64 num_whole = p.work->num_whole, num_items = num_whole + p.work->num_parts;
  if (threadIdx.x == 0) next = item_at(p, atomicAdd(&p.work->next_item, 1ull), num_whole, num_items);
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
    const WorkItem following = item_at(p, ahead, num_whole, num_items);
    // The table has all rows, and all threads have the item.
    if (__syncthreads_or(refused)) insert_refused<Source, Key, Program, Tables::kSingle>(p, shared, item.begin, item.end, tally);
    tally.lost += item.whole ? table.emit() : table.flush(tally.did);
    if (threadIdx.x == 0) next = following;
    __syncthreads();  // the table may be emptied
  }
  report(p, tally);
}

#endif
