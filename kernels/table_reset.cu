// Empties the table in device memory, word by word, whatever the slots.
//
//   launch  any grid and block    writes  table
#include "table.cuh"

constexpr u32 kSlotWordsMax = 1 + kKeyBytesMax / 8 + kFoldsMax * kStateWordsMax;

extern "C" __global__ void __launch_bounds__(1024) table_reset(const __grid_constant__ Launch p) {
  __shared__ u64 empty[kSlotWordsMax];
  const Shape& s = p.shape;
  const u32 words = slot_words(s), key_words = slot_key_words(s);
  for (u32 i = threadIdx.x; i < key_words; i += blockDim.x) empty[i] = i == 0 ? empty_slot(s, false) : 0;
  for (u32 f = threadIdx.x; f < s.num_folds; f += blockDim.x) {
#pragma unroll 1
    for (u32 i = 0; i < s.folds[f].words; i++) empty[key_words + s.folds[f].offset + i] = identity(s.folds[f], i);
  }
  __syncthreads();  // the words of an empty slot are there
  const u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
  if (first < sizeof(TableHeader) / sizeof(u64)) p.table.memory[first] = 0;
  u64* memory = table_slot(p.table, words, 0);
  const u64 last = p.table.slots * words;
  const u32 step = u32(threads % words);
  u32 word = u32(first % words);
#pragma unroll 4
  for (u64 i = first; i < last + words; i += threads) {
    memory[i] = i == last ? empty_slot(s, true) : empty[word];
    word += step;
    if (word >= words) word -= words;
  }
}
