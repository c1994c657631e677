// Turns the states of the groups from a table's words into those of groups.
//
//   launch  any grid; kSegmentThreads threads     reads and writes  groups.states
#include "params_sorted.h"
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(kSegmentThreads) segment_end(const __grid_constant__ SortLaunch p) {
  const u64 found = p.groups.status->groups, groups = found < p.groups.capacity ? found : p.groups.capacity;
  const u64 first = u64(blockIdx.x) * kSegmentThreads + threadIdx.x, step = u64(gridDim.x) * kSegmentThreads;
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    const Fold& fold = p.shape.folds[f];
    if (fold.op != kMin && fold.op != kMax && (fold.op < kMoments2 || fold.op > kComoments)) continue;  // the same words
    for (u64 g = first; g < groups; g += step) export_state(fold, p.groups.states[f] + g * fold.words);
  }
}
