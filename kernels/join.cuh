// What the kernels of joins have in common. Pairs are appended to what is there:
//
//   matches of a row -> take_places: a place for each, one addition a tile -> append, below the capacity
//
// Rows of a tile are row i of thread t at i * blockDim.x + t, and pairs come in order of rows within a tile, so that
// a gather by them reads neighbouring rows. Key of 4 bytes, 8, or several words; words are not kept where they are read
// once.
#ifndef MPGA_KERNELS_JOIN_CUH
#define MPGA_KERNELS_JOIN_CUH

#include "block.cuh"
#include "key.cuh"
#include "params_join.h"

__device__ __forceinline__ bool bit_of(const u32* bitmap, u64 row) { return (bitmap[row / 32] >> (row % 32) & 1) != 0; }

// Whether a key is not NULL.
__device__ __forceinline__ bool has_key(const JoinSide& side, u64 row) {
  return side.valid == nullptr || bit_of(side.valid, row);
}

// What a row is called in pairs.
__device__ __forceinline__ u32 called(const JoinSide& side, u64 row) {
  return side.numbers == nullptr ? u32(row) : side.numbers[row];
}

// Sets a bit. Bits that are set are not set again, since a heavy key's rows would wait for each other.
__device__ __forceinline__ void mark(u32* bitmap, u64 row) {
  const u32 bit = 1u << (row % 32);
  if ((*static_cast<volatile u32*>(bitmap + row / 32) & bit) == 0) atomicOr(bitmap + row / 32, bit);
}

// How many pairs a row gives that has a number of matches.
template <class Count>
__device__ __forceinline__ Count pairs_of(u32 kind, Count matches) {
  switch (kind) {
    case kJoinLeft: return matches == 0 ? Count(1) : matches;
    case kJoinSemi: return matches != 0;
    case kJoinAnti: return matches == 0;
  }
  return matches;
}

// Gives the pairs of a tile places behind those that are there. All threads of the block call it.
template <class Count, u32 kRows>
__device__ __forceinline__ void take_places(const Count* counts, u64* places, u64* taken) {
  __shared__ u64 sums[kRows * 32];  // of warps, row after row
  __shared__ u64 base;
  const u32 warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = lane_id();
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    Count sum = counts[i];
    for (u32 d = 1; d < 32; d *= 2) {
      const Count below = __shfl_up_sync(kAllLanes, sum, d);
      if (lane >= d) sum += below;
    }
    places[i] = u64(sum - counts[i]);
    if (lane == 31) sums[i * warps + warp] = u64(sum);
  }
  __syncthreads();  // the warps' sums are there
  if (warp == 0) {
    u64 before = 0;
    for (u32 k = 0; k < kRows * warps; k += 32) {
      const bool has = k + lane < kRows * warps;
      const u64 own = has ? sums[k + lane] : 0;
      u64 sum = own;
      for (u32 d = 1; d < 32; d *= 2) {
        const u64 below = __shfl_up_sync(kAllLanes, sum, d);
        if (lane >= d) sum += below;
      }
      if (has) sums[k + lane] = before + sum - own;
      before += __shfl_sync(kAllLanes, sum, 31);
    }
    if (lane == 0) base = before == 0 ? 0 : atomicAdd(taken, before);
  }
  __syncthreads();  // the warps' places are there
#pragma unroll
  for (u32 i = 0; i < kRows; i++) places[i] += base + sums[i * warps + warp];
  __syncthreads();  // sums may be written again
}

// Writes a pair where there is room for it.
__device__ __forceinline__ void append(const JoinLaunch& p, u64 at, u32 build, u32 probe) {
  if (at >= p.capacity) return;
  if (p.out_build != nullptr) p.out_build[at] = build;
  p.out_probe[at] = probe;
}

// The part of a hash that a slot keeps. A key of 4 bytes is its own, which no other key has.
template <class Key>
__device__ __forceinline__ u32 tag_of(const Key& key, u64 hash) { return u32(hash >> 32); }
template <>
__device__ __forceinline__ u32 tag_of<Key4>(const Key4& key, u64) { return key.value; }

// Whether the key of a row, whose tag is the same, is a key.
__device__ __forceinline__ bool is_key(const void*, u64, const Key4&) { return true; }
__device__ __forceinline__ bool is_key(const void* keys, u64 row, const Key8& key) {
  return static_cast<const u64*>(keys)[row] == key.value;
}
__device__ __forceinline__ bool is_key(const void* keys, u64 row, const KeyN& key) {
  const u64* words = static_cast<const u64*>(keys) + row * key.num_words;
  for (u32 i = 0; i < key.num_words; i++) {
    if (words[i] != key.words[i]) return false;
  }
  return true;
}

// The first row of a key + 1 in a table of join_build, or 0. The slot that the search begins at is read already.
template <class Key>
__device__ __forceinline__ u32 find_row(const void* keys, const u64* table, u64 slots, const Key& key, u64 hash, u64 at, u64 seen) {
  const u32 tag = tag_of(key, hash);
  for (;;) {
    if (seen == 0) return 0;
    if (u32(seen) == tag && is_key(keys, (seen >> 32) - 1, key)) return u32(seen >> 32);
    if (++at == slots) at = 0;
    seen = __ldg(table + at);
  }
}

#endif
