// Empties the table in device memory.
//
//   launch  any grid and block    writes  table
#include "table.cuh"

extern "C" __global__ void __launch_bounds__(1024) table_reset(const __grid_constant__ Launch p) {
  const Shape& s = p.shape;
  const u32 words = slot_words(s), key_words = slot_key_words(s);
  const u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
  if (first < sizeof(TableHeader) / sizeof(u64)) p.table.memory[first] = 0;
#pragma unroll 1
  for (u64 slot = first; slot <= p.table.slots; slot += threads) {
    u64* at = table_slot(p.table, words, slot);
    at[0] = empty_slot(s, slot == p.table.slots);
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
#pragma unroll 1
      for (u32 i = 0; i < s.folds[f].words; i++) at[key_words + s.folds[f].offset + i] = identity(s.folds[f], i);
    }
  }
}
