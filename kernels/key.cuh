// Keys of 4 bytes, of 8, and of more words than one: how they are loaded, hashed and stored. Where a key
// goes is a number of 64 bits that a block's have in common, and one of 32 beyond it: one addition.
#ifndef MPGA_KERNELS_KEY_CUH
#define MPGA_KERNELS_KEY_CUH

#include "hash.cuh"

struct Key4 {
  static constexpr u32 kBytes = 4;
  using Word = u32;
  u32 value;

  static __device__ __forceinline__ Key4 load(const void* keys, u64 row, u32) {
    return {static_cast<const u32*>(keys)[row]};
  }
  __device__ __forceinline__ void store(void* keys, u64 first, u32 row) const { (static_cast<u32*>(keys) + first)[row] = value; }
  __device__ __forceinline__ u64 hash(u64 seed) const { return mix64(value ^ seed); }
  // A hash for the tables of one block only, whose upper bits count: a sixth of the instructions.
  __device__ __forceinline__ u32 block_hash() const { return (value ^ value >> 16) * 0x9e3779b1u; }
};

struct Key8 {
  static constexpr u32 kBytes = 8;
  using Word = u64;
  u64 value;

  static __device__ __forceinline__ Key8 load(const void* keys, u64 row, u32) {
    return {static_cast<const u64*>(keys)[row]};
  }
  __device__ __forceinline__ void store(void* keys, u64 first, u32 row) const { (static_cast<u64*>(keys) + first)[row] = value; }
  __device__ __forceinline__ u64 hash(u64 seed) const { return mix64(value ^ seed); }
  __device__ __forceinline__ u32 block_hash() const { return u32(hash(0)); }
};

// A wider key stays where it is. Words lie stride apart.
struct KeyN {
  static constexpr u32 kBytes = 0;
  const u64* words;
  u32 num_words;
  u32 stride;

  static __device__ __forceinline__ KeyN load(const void* keys, u64 row, u32 num_words) {
    return {static_cast<const u64*>(keys) + row * num_words, num_words, 1};
  }
  __device__ __forceinline__ void store(void* keys, u64 first, u32 row) const {
#pragma unroll 1
    for (u32 i = 0; i < num_words; i++) static_cast<u64*>(keys)[(first + row) * num_words + i] = words[u64(i) * stride];
  }
  __device__ __noinline__ u64 hash(u64 seed) const {
    u64 h = seed;
#pragma unroll 1
    for (u32 i = 0; i < num_words; i++) h = combine(h, words[u64(i) * stride]);
    return mix64(h);
  }
  __device__ __forceinline__ u32 block_hash() const { return u32(hash(0)); }
};

#endif
