// Numbers the groups of the global set, all slots of which it reads; gathers their keys, and gives them states without
// values: ranks.cuh.
//
//   launch  any grid; whole warps
//   reads   set, rows
//   writes  groups (numbers), launch.groups; status: groups, rows, overflow (groups that found no room)
#include "ranks.cuh"
#include "state.cuh"

__device__ __forceinline__ void begin_group(const RankLaunch& p, u32 row, u64 group) {
  const Shape& s = p.launch.shape;
  const Groups& out = p.launch.groups;
  p.groups[row] = u32(group);
  if (s.key_bytes == 4) {
    static_cast<u32*>(out.keys)[group] = static_cast<const u32*>(p.launch.rows.keys)[row];
  } else {
    KeyN::load(p.launch.rows.keys, row, s.key_bytes / 8).store(out.keys, group, 0);
  }
#pragma unroll 1
  for (u32 f = 0; f < s.num_folds; f++) {
    const Fold& fold = s.folds[f];
#pragma unroll 1
    for (u32 w = 0; w < fold.words; w++) out.states[f][group * fold.words + w] = identity(fold, w);
  }
}

extern "C" __global__ void __launch_bounds__(512) rank_groups(const __grid_constant__ RankLaunch p) {
  __shared__ u64 first;
  const Groups& out = p.launch.groups;
  const u64 vectors = p.slots / kSlotsAtOnce, threads = u64(gridDim.x) * blockDim.x;
  if (blockIdx.x == 0 && threadIdx.x == 0) out.status->rows = p.launch.rows.count;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < vectors; tile += threads) {
    const u64 at = tile + threadIdx.x;
    uint4 four = make_uint4(kNoRow, kNoRow, kNoRow, kNoRow);
    if (at < vectors) four = reinterpret_cast<const uint4*>(p.set)[at];
    const u32 rows[kSlotsAtOnce] = {four.x, four.y, four.z, four.w};
    u32 taken = 0;
#pragma unroll
    for (u32 i = 0; i < kSlotsAtOnce; i++) taken += rows[i] != kNoRow;
    if (!__syncthreads_or(taken != 0)) continue;
    u32 total;
    const u32 before = block_scan(taken, &total);
    if (threadIdx.x == 0) {
      first = atomicAdd(&out.status->groups, u64(total));
      const u64 room = out.capacity > first ? out.capacity - first : 0;
      if (total > room) atomicAdd(&out.status->overflow, total - room);
    }
    __syncthreads();  // first is there
    u64 group = first + before;
#pragma unroll
    for (u32 i = 0; i < kSlotsAtOnce; i++) {
      if (rows[i] == kNoRow) continue;
      if (group < out.capacity) begin_group(p, rows[i], group);
      group++;
    }
    __syncthreads();  // first may be written again
  }
}
