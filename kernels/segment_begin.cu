// Sets the states of the groups to those without values, in a table's words, and the status to zero.
//
//   launch  any grid; kSegmentThreads threads     writes  groups.states, groups.status
#include "params_sorted.h"
#include "state.cuh"

extern "C" __global__ void __launch_bounds__(kSegmentThreads) segment_begin(const __grid_constant__ SortLaunch p) {
  const u64 first = u64(blockIdx.x) * kSegmentThreads + threadIdx.x, step = u64(gridDim.x) * kSegmentThreads;
  if (first == 0) *p.groups.status = GroupsStatus{};
  const u64 groups = p.count < p.groups.capacity ? p.count : p.groups.capacity;
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    const Fold& fold = p.shape.folds[f];
    for (u64 i = first; i < groups * fold.words; i += step) p.groups.states[f][i] = identity(fold, u32(i % fold.words));
  }
}
