// Cuts the probe rows of partitions into items of item_rows at most, so that a partition of many rows is the work of
// several blocks (Wu et al., 2025, section 4.1.4).
//
//   launch  any grid of whole warps, with a thread for each partition
//   reads   build_offsets, probe_offsets     writes  items; adds to work.items
#include "join.cuh"

extern "C" __global__ void __launch_bounds__(kJoinThreads) join_plan(const __grid_constant__ JoinLaunch p) {
  const u64 partition = u64(blockIdx.x) * kJoinThreads + threadIdx.x;
  if (partition >= 1ull << p.radix_bits) return;
  const u64 rows = p.probe_offsets[partition + 1] - p.probe_offsets[partition];
  const bool empty = p.build_offsets[partition + 1] == p.build_offsets[partition];
  if (rows == 0 || (empty && (p.kind == kJoinInner || p.kind == kJoinSemi))) return;
  const u32 count = u32((rows + p.item_rows - 1) / p.item_rows);
  const u64 first = atomicAdd(&p.work->items, u64(count));
  for (u32 i = 0; i < count; i++) p.items[first + i] = {u32(partition), i};
}
