// Where rows have no ranks: merges each row into its group, one atomic operation or more for each fold: ranks.cuh.
//
//   launch  any grid; kRankThreads threads
//   reads   rows, ranks, groups (numbers), too_many; status: overflow    writes  launch.groups
//
// Does nothing where rows or groups found no room.
#include "ranks.cuh"
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(kRankThreads) rank_merge(const __grid_constant__ RankLaunch p) {
  const Launch& l = p.launch;
  if (*p.too_many == 0 || l.groups.status->overflow != 0) return;
  const u64 step = u64(gridDim.x) * kRankThreads;
  u64 w[kStateWordsMax];
#pragma unroll 1
  for (u64 row = u64(blockIdx.x) * kRankThreads + threadIdx.x; row < l.rows.count; row += step) {
    const u64 group = p.groups[p.ranks[row]];
#pragma unroll 1
    for (u32 f = 0; f < l.shape.num_folds; f++) {
      const Fold& fold = l.shape.folds[f];
      if (row_state(fold, l.rows, row, w)) merge_state(fold, l.groups.states[f] + group * fold.words, 1, w);
    }
  }
}
