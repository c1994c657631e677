// What the threads of a block do together. Blocks are of whole warps, of at most 32.
#ifndef MPGA_KERNELS_BLOCK_CUH
#define MPGA_KERNELS_BLOCK_CUH

#include "params.h"

constexpr u32 kAllLanes = 0xffffffff;

__device__ __forceinline__ u32 lane_id() { return threadIdx.x % 32; }

// Fills words of shared memory with a pattern of 16 bytes, all threads together.
__device__ __forceinline__ void fill_shared(u64* at, u32 words, ulonglong2 pattern) {
  ulonglong2* vectors = reinterpret_cast<ulonglong2*>(at);
#pragma unroll 4
  for (u32 i = threadIdx.x; i < words / 2; i += blockDim.x) vectors[i] = pattern;
  if (words % 2 != 0 && threadIdx.x == 0) at[words - 1] = pattern.x;
}

// The sum over the block, in thread 0.
__device__ __forceinline__ u64 block_sum(u64 value) {
  __shared__ u64 sums[32];
  for (u32 d = 16; d > 0; d /= 2) value += __shfl_down_sync(kAllLanes, value, d);
  if (lane_id() == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();  // all warps' sums are there
  if (threadIdx.x < 32) {
    value = lane_id() < blockDim.x / 32 ? sums[lane_id()] : 0;
    for (u32 d = 16; d > 0; d /= 2) value += __shfl_down_sync(kAllLanes, value, d);
  }
  __syncthreads();  // sums may be written again
  return value;
}

// The sum of the values of the threads before this one; total: of all.
__device__ __forceinline__ u32 block_scan(u32 value, u32* total) {
  __shared__ u32 sums[32];
  const u32 warp = threadIdx.x / 32;
  u32 sum = value;
  for (u32 d = 1; d < 32; d *= 2) {
    const u32 below = __shfl_up_sync(kAllLanes, sum, d);
    if (lane_id() >= d) sum += below;
  }
  if (lane_id() == 31) sums[warp] = sum;
  __syncthreads();  // all warps' sums are there
  if (warp == 0) {
    u32 s = lane_id() < blockDim.x / 32 ? sums[lane_id()] : 0;
    for (u32 d = 1; d < 32; d *= 2) {
      const u32 below = __shfl_up_sync(kAllLanes, s, d);
      if (lane_id() >= d) s += below;
    }
    sums[lane_id()] = s;
  }
  __syncthreads();  // all warps' starts are there
  *total = sums[31];
  const u32 before = warp > 0 ? sums[warp - 1] : 0;
  __syncthreads();  // sums may be written again
  return before + sum - value;
}

#endif
