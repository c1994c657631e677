// Writes the groups of the table in device memory behind those that are there already.
//
//   launch  any grid; whole warps
//   reads   table    writes  groups; status: groups, overflow (groups that found no room)
#include "block.cuh"
#include "table.cuh"

extern "C" __global__ void __launch_bounds__(1024) table_compact(const __grid_constant__ Launch p) {
  __shared__ u64 first;
  if (table_header(p.table)->groups == 0) return;
  const Shape& s = p.shape;
  const u32 words = slot_words(s), key_words = slot_key_words(s);
  const u64 threads = u64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x; tile <= p.table.slots; tile += threads) {
    const u64 slot = tile + threadIdx.x;
    const bool last = slot == p.table.slots;
    const u64* at = table_slot(p.table, words, slot);
    const bool taken = slot <= p.table.slots && slot_taken(s, at, last);
    u32 total;
    const u32 before = block_scan(taken ? 1 : 0, &total);
    if (total == 0) continue;
    if (threadIdx.x == 0) {
      first = atomicAdd(&p.groups.status->groups, u64(total));
      const u64 room = p.groups.capacity > first ? p.groups.capacity - first : 0;
      if (total > room) atomicAdd(&p.groups.status->overflow, total - room);
    }
    __syncthreads();  // first is there
    const u64 row = first + before;
    if (taken && row < p.groups.capacity) {
      store_key(s, at, p.groups.keys, row);
      u64 w[kStateWordsMax];
#pragma unroll 1
      for (u32 f = 0; f < s.num_folds; f++) {
        const Fold& fold = s.folds[f];
#pragma unroll 1
        for (u32 i = 0; i < fold.words; i++) w[i] = at[key_words + fold.offset + i];
        export_state(fold, w);
#pragma unroll 1
        for (u32 i = 0; i < fold.words; i++) p.groups.states[f][row * fold.words + i] = w[i];
      }
    }
    __syncthreads();  // first may be written again
  }
}
