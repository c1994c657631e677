// Sums over the tiles of a grid in one pass: the decoupled look-back of Merrill and Garland (Single-pass
// Parallel Prefix Scan with Decoupled Look-back, NVIDIA, 2016).
//
// A tile publishes its own sum, adds those of the tiles before it until one of them has published
// the sum of all up to it, and publishes that. Tiles are named by a ticket, so that a tile waits
// only for tiles whose blocks run. Flag and sum are one word: relaxed accesses are enough.
#ifndef MPGA_KERNELS_SCAN_CUH
#define MPGA_KERNELS_SCAN_CUH

#include "params.h"

// The epoch tells a scan from those before it in the same memory, which is zeroed once; 1 to 127.
constexpr u32 kSumBits = 56;
constexpr u64 kSumMask = (1ull << kSumBits) - 1;

__device__ __forceinline__ void publish(u64* at, u64 epoch, u64 all, u64 sum) {
  *static_cast<volatile u64*>(at) = (epoch * 2 + all) << kSumBits | sum;
}

// Publishes a tile's own sum. Words are stride apart.
__device__ __forceinline__ void publish_own(u64* words, u64 stride, u64 tile, u64 epoch, u64 own) {
  publish(words + tile * stride, epoch, tile == 0, own);
}

// Returns the sum of the tiles before the tile, whose own sum is published.
__device__ inline u64 sum_published(u64* words, u64 stride, u64 tile, u64 epoch, u64 own) {
  if (tile == 0) return 0;
  u64 sum = 0;
  for (u64 t = tile; t-- > 0;) {
    u64 word = *static_cast<volatile u64*>(words + t * stride);
    while (word >> kSumBits < epoch * 2) {
      __nanosleep(32);
      word = *static_cast<volatile u64*>(words + t * stride);
    }
    sum += word & kSumMask;
    if (word >> kSumBits == epoch * 2 + 1) break;
  }
  publish(words + tile * stride, epoch, 1, sum + own);
  return sum;
}

// Publishes a tile's own sum, and returns the sum of the tiles before it.
__device__ inline u64 sum_before(u64* words, u64 stride, u64 tile, u64 epoch, u64 own) {
  publish_own(words, stride, tile, epoch, own);
  return sum_published(words, stride, tile, epoch, own);
}

// The tile of this block. The barriers order its shared memory before and after.
__device__ inline u32 take_tile(u32* next) {
  __shared__ u32 tile;
  __syncthreads();
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  __syncthreads();
  return tile;
}

#endif
