// The hashes of package partition (hash.go), checked against the same vectors.
#ifndef MPGA_KERNELS_HASH_CUH
#define MPGA_KERNELS_HASH_CUH

#include "params.h"

__device__ __forceinline__ u64 mix64(u64 x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

// A permutation of the 32-bit numbers, and its inverse.
__device__ __forceinline__ u32 mix32(u32 x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ x >> 16;
}

__device__ __forceinline__ u32 unmix32(u32 x) {
  x ^= x >> 16;
  x *= 0x7ed1b41du;
  x ^= x >> 13 ^ x >> 26;
  x *= 0xa5cb9243u;
  return x ^ x >> 16;
}

__device__ __forceinline__ u64 combine(u64 h, u64 word) {
  const u64 x = h ^ 0x6a09e667f3bcc908ull, y = word ^ 0xbb67ae8584caa73bull;
  return (__umul64hi(x, y) ^ x * y) + (x + y);
}

__device__ __forceinline__ u64 hash_words(const u64* words, u32 n, u64 seed) {
  u64 h = seed;
  for (u32 i = 0; i < n; i++) h = combine(h, words[i]);
  return mix64(h);
}

// The partition of a hash: its high bits. No bits name one partition.
__device__ __forceinline__ u32 partition_of(u64 hash, u32 radix_bits) { return u32(hash >> 1 >> (63 - radix_bits)); }

// The slot of a hash in a table of any size: its low bits decide, since the high ones name the
// partition.
__device__ __forceinline__ u64 slot_of(u64 hash, u64 slots) {
  return __umul64hi(hash << 32 | hash >> 32, slots);
}

#endif
