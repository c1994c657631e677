// Packs the values of key columns into keys, and says whether a value is outside of its range.
//
//   launch  blocks of kKeysThreads, which go over all rows
//   reads   the parts' values and bitmaps    writes  keys, outside
#include "params_keys.h"

constexpr u32 kKeyWordsMax = 8;

__device__ __forceinline__ u64 load_integer(const KeyPart& part, u64 row) {
  switch (part.type) {
    case kInt32: return u64(i64(static_cast<const int*>(part.values)[row]));
    case kUint32: return static_cast<const u32*>(part.values)[row];
  }
  return static_cast<const u64*>(part.values)[row];
}

extern "C" __global__ void __launch_bounds__(kKeysThreads) pack_keys(const __grid_constant__ KeysLaunch p) {
  bool outside = false;
  const u32 words = (p.key_bytes + 7) / 8;
  const u64 rows = p.count == nullptr ? p.rows : min(p.rows, *p.count);
  for (u64 row = u64(blockIdx.x) * kKeysThreads + threadIdx.x; row < rows; row += u64(gridDim.x) * kKeysThreads) {
    u64 key[kKeyWordsMax] = {};
#pragma unroll
    for (u32 i = 0; i < kKeyPartsMax; i++) {
      if (i >= p.num_parts) break;
      const KeyPart& part = p.parts[i];
      const bool is_null = part.valid != nullptr && (part.valid[row / 32] >> row % 32 & 1) == 0;
      u64 code = is_null ? part.null_code : load_integer(part, row) - part.base;
      outside = outside || (!is_null && code > part.range);
      const u64 null = is_null && part.null_bit >= 0 ? u64(1) << part.null_bit : 0;
#pragma unroll
      for (u32 w = 0; w < kKeyWordsMax; w++) {  // registers have no index
        if (w == part.word) key[w] |= code << part.shift;
        if (w == part.null_word) key[w] |= null;
      }
    }
    if (p.key_bytes == 4) {
      static_cast<u32*>(p.keys)[row] = u32(key[0]);
      continue;
    }
    u64* out = static_cast<u64*>(p.keys) + row * words;
#pragma unroll
    for (u32 w = 0; w < kKeyWordsMax; w++) {
      if (w < words) out[w] = key[w];
    }
  }
  if (outside) *p.outside = 1;
}
