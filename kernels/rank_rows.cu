// Ranks rows by the order in which a block meets their keys, and brings a row of each key to the global set: ranks.cuh.
//
//   launch  any grid; kRankThreads threads
//   reads   rows    writes  set, ranks, block_rows, block_counts, too_many; status: overflow
//
// A block that meets more than kRanks keys stops, and sets too_many: its ranks then are of no use. The global set has
// kNoRow in all slots before, and too_many is 0.
#include "ranks.cuh"

template <class Key>
__device__ __forceinline__ void rank_rows(const RankLaunch& p) {
  __shared__ u32 set[kRankSlots];
  __shared__ u32 first_rows[kRanks];  // by rank
  __shared__ u32 count;
  const Rows& rows = p.launch.rows;
  const u32 key_words = p.launch.shape.key_bytes / 8;
  for (u32 i = threadIdx.x; i < kRankSlots; i += kRankThreads) set[i] = kNoRow;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();  // the set is empty
  const u64 step = u64(gridDim.x) * kRankThreads;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * kRankThreads; tile < rows.count; tile += step) {
    const u32 row = u32(tile) + threadIdx.x;
    const bool has = tile + threadIdx.x < rows.count;
    u32 met = row;
    bool refused = false;
    if (has) met = find_or_add(rows, set, kRankSlots, Key::load(rows.keys, row, key_words), row);
    if (has && met == row) {
      const u32 rank = atomicAdd(&count, 1u);
      refused = rank >= kRanks;
      if (!refused) first_rows[rank] = row;
      p.ranks[row] = rank;
    }
    // The barrier: ranks of new keys are there, and all threads know whether there is room for them.
    if (__syncthreads_or(refused)) {
      if (threadIdx.x == 0) *p.too_many = 1;
      return;
    }
    if (met != row) p.ranks[row] = p.ranks[met];
  }
  for (u32 rank = threadIdx.x; rank < count; rank += kRankThreads) {
    p.block_rows[u64(blockIdx.x) * kRanks + rank] = add_globally<Key>(p, first_rows[rank]);
  }
  if (threadIdx.x == 0) p.block_counts[blockIdx.x] = count;
}

MPGA_RANK_KERNELS(rank_rows)
