// Writes the groups of slots behind those that are there already.
#ifndef MPGA_KERNELS_COMPACT_CUH
#define MPGA_KERNELS_COMPACT_CUH

#include "block.cuh"

// Calls write(slot, row) for each of the slots [slot_begin, slot_end) that are taken, with the row of its group among
// p.groups, and counts the groups, and those that find no room. Whole warps call it.
template <class Taken, class Write>
__device__ __forceinline__ void compact_slots(const Launch& p, Taken taken, Write write) {
  __shared__ u64 first;
  const u64 threads = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 tile = p.slot_begin + u64(blockIdx.x) * blockDim.x; tile < p.slot_end; tile += threads) {
    const u64 slot = tile + threadIdx.x;
    const bool has = slot < p.slot_end && taken(slot);
    u32 total;
    const u32 before = block_scan(has ? 1 : 0, &total);
    if (total == 0) continue;
    if (threadIdx.x == 0) {
      first = atomicAdd(&p.groups.status->groups, u64(total));
      const u64 room = p.groups.capacity > first ? p.groups.capacity - first : 0;
      if (total > room) atomicAdd(&p.groups.status->overflow, total - room);
    }
    __syncthreads();  // first is there
    const u64 row = first + before;
    if (has && row < p.groups.capacity) write(slot, row);
    __syncthreads();  // first may be written again
  }
}

#endif
