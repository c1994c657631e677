// The group-by of libcudf (Inside RAPIDS libcudf, 2026, sections 4 to 8). Sets hold numbers of rows, and keys stay in
// the input:
//
//   rank_rows -> rank_globally -> rank_groups -> rank_sums or rank_merge -> rank_export
//
// rank_rows gives each row the rank of its key among the keys of its block, at most kRanks, and brings a row of each of
// the block's keys to the global set. Then rank_groups scans the set and numbers the groups, and rank_sums accumulates
// rows by rank in shared memory; each block merges its states into those of the groups. If any block meets more keys,
// rank_globally brings all rows to the global set, and rank_merge merges row by row. The text's host chooses between
// the two ways; here kernels see for themselves which way it is, so that the host waits for none.
#ifndef MPGA_KERNELS_RANKS_CUH
#define MPGA_KERNELS_RANKS_CUH

#include "join.cuh"
#include "params_ranks.h"

// Whether a row has a key.
template <class Key>
__device__ __forceinline__ bool row_has(const void* keys, u32 row, const Key& key) { return is_key(keys, row, key); }
template <>
__device__ __forceinline__ bool row_has<Key4>(const void* keys, u32 row, const Key4& key) {
  return static_cast<const u32*>(keys)[row] == key.value;
}

// Returns the row of a row's key that a set has, which is the row itself where the key is new, and kNoRow where the set
// is full of other keys. A set is in shared or in device memory.
template <class Key>
__device__ __forceinline__ u32 find_or_add(const Rows& rows, u32* set, u64 slots, const Key& key, u32 row) {
  u64 slot = slot_of(key.hash(0), slots);
#pragma unroll 1
  for (u64 step = 0; step < slots; step++) {
    u32 now = *static_cast<volatile u32*>(set + slot);
    if (now == kNoRow) now = atomicCAS(set + slot, kNoRow, row);  // relaxed: keys lie in the input
    if (now == kNoRow) return row;
    if (row_has(rows.keys, now, key)) return now;
    if (++slot == slots) slot = 0;
  }
  return kNoRow;
}

// Brings a row to the global set. A row that finds no slot is counted: then the answer is void.
template <class Key>
__device__ __forceinline__ u32 add_globally(const RankLaunch& p, u64 row) {
  const Rows& rows = p.launch.rows;
  const u32 of = find_or_add(rows, p.set, p.slots, Key::load(rows.keys, row, p.launch.shape.key_bytes / 8), u32(row));
  if (of == kNoRow) atomicAdd(&p.launch.groups.status->overflow, 1ull);
  return of;
}

#define MPGA_RANK_KERNELS(name)                                                                                                           \
  extern "C" __global__ void __launch_bounds__(kRankThreads) name##_k4(const __grid_constant__ RankLaunch p) { name<Key4>(p); }          \
  extern "C" __global__ void __launch_bounds__(kRankThreads) name##_k8(const __grid_constant__ RankLaunch p) { name<Key8>(p); }          \
  extern "C" __global__ void __launch_bounds__(kRankThreads) name##_kn(const __grid_constant__ RankLaunch p) { name<KeyN>(p); }

#endif
