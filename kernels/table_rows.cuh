// Takes rows to their slots of the table in device memory.
#ifndef MPGA_KERNELS_TABLE_ROWS_CUH
#define MPGA_KERNELS_TABLE_ROWS_CUH

#include "aggregate.cuh"

// Calls take(row, at) for each of rows.count keys, with the key's slot, or null where there is none;
// threads without a row call it with a null slot and a row beyond them, so that whole warps do. A sealed
// table takes no more keys.
template <class Key, bool kSealed = false, class Take>
__device__ __forceinline__ void take_slots(const Launch& p, const void* keys, Tally& tally, Take take) {
  const u32 words = slot_words(p.shape);
  const u64 threads = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < p.rows.count; tile += threads) {
    const u64 row = tile + threadIdx.x;
    u64* at = nullptr;
    if (row < p.rows.count) {
      const Key key = Key::load(keys, row, p.shape.key_bytes / 8);
      at = kSealed ? find(p.table, words, key, p.probe_max, tally.did) : find_or_insert(p.table, words, key, p.probe_max, tally.did);
    }
    take(row, at);
  }
}

#endif
