// Turns the counts of partitions into where they begin, and cuts partitions into work items.
//
//   launch  one block of whole warps
//   reads   cursors: counts    writes  offsets; cursors: offsets; if there are any, items and work
#include "block.cuh"

extern "C" __global__ void __launch_bounds__(1024) partition_offsets(const __grid_constant__ Launch p) {
  const u32 partitions = 1u << p.radix_bits;
  const bool items = p.items != nullptr;
  u64 rows = 0;
  u32 num_items = 0;
#pragma unroll 1
  for (u32 base = 0; base < partitions; base += blockDim.x) {
    const u32 i = base + threadIdx.x;
    const u32 count = i < partitions ? u32(p.cursors[i]) : 0;
    const u32 parts = items ? u32((count + p.rows_per_item - 1) / p.rows_per_item) : 0;
    u32 total, total_parts;
    const u64 begin = rows + block_scan(count, &total);
    u32 item = num_items + block_scan(parts, &total_parts);
    if (i < partitions) {
      p.offsets[i] = begin;
      p.cursors[i] = begin;
#pragma unroll 1
      for (u32 k = 0; k < parts; k++, item++) {
        const u64 from = begin + k * p.rows_per_item;
        p.items[item] = {from, min(begin + count, from + p.rows_per_item), parts == 1};
      }
    }
    rows += total;
    num_items += total_parts;
  }
  if (threadIdx.x != 0) return;
  p.offsets[partitions] = rows;
  if (items) p.work->num_items = num_items;
}
