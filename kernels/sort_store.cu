// Copies what is sorted to where it is wanted, side 1, if the last pass left it on the other side.
//
//   launch  any grid
//   reads   plan; keys, order of side 0     writes  those of side 1
#include "sort.cuh"

__device__ __forceinline__ void copy_words(void* to, const void* from, u64 words) {
  const u64 step = u64(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step) {
    static_cast<u32*>(to)[i] = static_cast<const u32*>(from)[i];
  }
}

extern "C" __global__ void __launch_bounds__(kSortThreads) sort_store(const __grid_constant__ SortLaunch p) {
  if (p.plan->side == 1) return;
  copy_words(p.keys[1], p.keys[0], p.count * p.shape.key_bytes / 4);
  copy_words(p.order[1], p.order[0], p.count * (p.moved == kNoColumn ? 4 : p.shape.column_bytes[p.moved]) / 4);
}
