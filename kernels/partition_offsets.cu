// Turns the counts of partitions into where they begin, and cuts partitions into work items; for two
// passes, also those of the first pass into tiles.
//
//   launch  one block of whole warps, no fewer threads than the first of two passes has partitions;
//           shared: offsetsSharedBytes in launch_scatter.go
//   reads   cursors: counts    writes  offsets; cursors: offsets; if there are any, items and work;
//           for two passes, first_cursors, tiles
#include "block.cuh"

// Partitions lie in shared memory so that threads with neighbouring ones are in different banks.
__device__ __forceinline__ u32 bank(u32 partition) { return partition + partition / 32; }

// Room for n items of this thread, in any order with those of others.
__device__ __forceinline__ u32 take_items(u32 n, u32* next) {
  u32 sum = n;
  for (u32 d = 1; d < 32; d *= 2) {
    const u32 below = __shfl_up_sync(kAllLanes, sum, d);
    if (lane_id() >= d) sum += below;
  }
  u32 first = 0;
  if (lane_id() == 31 && sum != 0) first = atomicAdd(next, sum);
  return __shfl_sync(kAllLanes, first, 31) + sum - n;
}

extern "C" __global__ void __launch_bounds__(1024) partition_offsets(const __grid_constant__ Launch p) {
  extern __shared__ u32 begins[];  // counts, then where partitions begin
  __shared__ u32 num_items, num_tiles;
  const u32 partitions = 1u << p.radix_bits, share = (partitions + blockDim.x - 1) / blockDim.x;
  const u32 own = min(partitions, threadIdx.x * share), own_end = min(partitions, own + share);
#pragma unroll 4
  for (u32 i = threadIdx.x; i < partitions; i += blockDim.x) begins[bank(i)] = u32(p.cursors[i]);
  if (threadIdx.x == 0) num_items = num_tiles = 0;
  __syncthreads();  // counts are there

  u32 rows = 0, total;
#pragma unroll 1
  for (u32 i = own; i < own_end; i++) rows += begins[bank(i)];
  u32 begin = block_scan(rows, &total);
#pragma unroll 1
  for (u32 i = own; i < own_end; i++) {
    const u32 count = begins[bank(i)];
    begins[bank(i)] = begin;
    begin += count;
  }
  if (threadIdx.x == 0) begins[bank(partitions)] = p.offsets[partitions] = total;
  __syncthreads();  // all begins are there

#pragma unroll 1
  for (u32 base = 0; base < partitions; base += blockDim.x) {
    const u32 i = base + threadIdx.x;
    u32 from = 0, end = 0;
    if (i < partitions) {
      from = begins[bank(i)];
      end = begins[bank(i + 1)];
      p.offsets[i] = p.cursors[i] = from;
    }
    if (p.items == nullptr) continue;
    const bool whole = end - from <= p.rows_per_item;
    const u64 part = whole ? p.rows_per_item : p.rows_per_part;
    u32 item = take_items(u32((end - from + part - 1) / part), &num_items);
#pragma unroll 1
    for (u64 row = from; row < end; row += part) p.items[item++] = {row, min(u64(end), row + part), whole};
  }
  if (p.first_bits != 0) {
    const u32 second_bits = p.radix_bits - p.first_bits, i = threadIdx.x;
    u32 from = 0, end = 0;
    if (i < 1u << p.first_bits) {
      from = begins[bank(i << second_bits)];
      end = begins[bank((i + 1) << second_bits)];
      p.first_cursors[i] = from;
    }
    u32 tile = take_items((end - from + p.tile_rows - 1) / p.tile_rows, &num_tiles);
#pragma unroll 1
    for (u64 row = from; row < end; row += p.tile_rows) p.tiles[tile++] = {row, u32(min(end - row, u64(p.tile_rows))), i};
  }
  __syncthreads();  // items and tiles are counted
  if (threadIdx.x != 0 || p.items == nullptr) return;
  p.work->num_items = num_items;
  p.work->num_tiles = num_tiles;
}
