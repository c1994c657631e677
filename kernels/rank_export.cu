// Turns the states of groups from a table's words to those of groups: ranks.cuh, state.cuh.
//
//   launch  any grid    reads  status: groups, overflow    writes  launch.groups
#include "params_ranks.h"
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(512) rank_export(const __grid_constant__ RankLaunch p) {
  const Groups& out = p.launch.groups;
  const Shape& s = p.launch.shape;
  if (out.status->overflow != 0) return;
  const u64 threads = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 group = u64(blockIdx.x) * blockDim.x + threadIdx.x; group < out.status->groups; group += threads) {
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
      export_state(s.folds[f], out.states[f] + group * s.folds[f].words);
    }
  }
}
