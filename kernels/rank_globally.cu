// Where a block has met too many keys: finds for each row the row of its key in the global set: ranks.cuh.
//
//   launch  any grid; kRankThreads threads
//   reads   rows, too_many    writes  set, ranks; status: overflow
#include "ranks.cuh"

template <class Key>
__device__ __forceinline__ void rank_globally(const RankLaunch& p) {
  if (*p.too_many == 0) return;
  const u64 step = u64(gridDim.x) * kRankThreads;
#pragma unroll 1
  for (u64 row = u64(blockIdx.x) * kRankThreads + threadIdx.x; row < p.launch.rows.count; row += step) {
    p.ranks[row] = add_globally<Key>(p, row);
  }
}

MPGA_RANK_KERNELS(rank_globally)
