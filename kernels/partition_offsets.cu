// Turns the counts of partitions into where they begin, and cuts partitions into work items; for two
// passes, also those of the first pass into tiles.
//
//   launch  a block of kThreads for as many partitions; in two passes, those of one of the first are a
//           block's
//   reads   cursors: counts, which stay    writes  offsets; if there are any, items and work; for two
//           passes, first_cursors, tiles
//
// Items are whole partitions, in any order, and behind as many as there are partitions, parts: these are
// smaller, and taken last, so that blocks end at the same time.
#include "block.cuh"

constexpr u32 kThreads = 1024;

// Room for n items of this thread, in any order with those of others.
__device__ __forceinline__ u32 take_items(u32 n, u64* next) {
  u32 sum = n;
  for (u32 d = 1; d < 32; d *= 2) {
    const u32 below = __shfl_up_sync(kAllLanes, sum, d);
    if (lane_id() >= d) sum += below;
  }
  u32 first = 0;
  if (lane_id() == 31 && sum != 0) first = u32(atomicAdd(next, u64(sum)));
  return __shfl_sync(kAllLanes, first, 31) + sum - n;
}

// Makes items of each lane's partition.
__device__ __forceinline__ void make_items(const Launch& p, u32 begin, u32 end) {
  const bool has = begin != end, whole = end - begin <= p.rows_per_item;
  const u32 at = take_items(has && whole, &p.work->num_whole);
  if (has && whole) p.items[at] = {begin, end, 1};
  const u32 parts = whole ? 0 : u32((end - begin + p.rows_per_part - 1) / p.rows_per_part);
  u32 left = __ballot_sync(kAllLanes, parts != 0);
  if (left == 0) return;
  const u32 first = take_items(parts, &p.work->num_parts);
#pragma unroll 1
  for (; left != 0; left &= left - 1) {
    const u32 lane = u32(__ffs(left)) - 1, count = __shfl_sync(kAllLanes, parts, lane);
    const u64 row = __shfl_sync(kAllLanes, begin, lane), row_end = __shfl_sync(kAllLanes, end, lane);
    WorkItem* items = p.items + (1u << p.radix_bits) + __shfl_sync(kAllLanes, first, lane);
#pragma unroll 1
    for (u32 i = lane_id(); i < count; i += 32) {
      items[i] = {row + i * p.rows_per_part, min(row_end, row + (i + 1) * p.rows_per_part), 0};
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) partition_offsets(const __grid_constant__ Launch p) {
  __shared__ u32 begins[kThreads + 1];
  const u32 partitions = 1u << p.radix_bits, first = blockIdx.x * kThreads, own = first + threadIdx.x;
  u32 counted = 0, before, total;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < first; i += kThreads) counted += u32(p.cursors[i]);
  block_scan(counted, &before);
  const u32 count = own < partitions ? u32(p.cursors[own]) : 0;
  const u32 begin = before + block_scan(count, &total), end = begin + count;
  if (own < partitions) p.offsets[own] = begin;
  if (own == partitions - 1) p.offsets[partitions] = end;
  if (p.items != nullptr) make_items(p, begin, end);
  if (p.first_bits == 0) return;

  begins[threadIdx.x] = begin;
  if (threadIdx.x == kThreads - 1) begins[kThreads] = end;
  __syncthreads();  // the block's begins are there
  const u32 second_bits = p.radix_bits - p.first_bits, partition = (first >> second_bits) + threadIdx.x;
  u32 from = 0, to = 0;
  if (threadIdx.x < kThreads >> second_bits) {
    from = begins[threadIdx.x << second_bits];
    to = begins[(threadIdx.x + 1) << second_bits];
    p.first_cursors[partition] = from;
  }
  u32 tile = take_items((to - from + p.tile_rows - 1) / p.tile_rows, &p.work->num_tiles);
#pragma unroll 1
  for (u64 row = from; row < to; row += p.tile_rows) p.tiles[tile++] = {row, u32(min(to - row, u64(p.tile_rows))), partition};
}
