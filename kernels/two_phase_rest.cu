// The fourth phase of SP-EGA (Wang, Shen, Lei, 2025, section 4.1.4): the rows that the first phase
// left go into the table, which was emptied in between, with linear probing.
//
//   launch  any grid; kLookThreads threads
//   reads   rows, rest, num_rest    writes  table; status: rows, overflow, probes
//
// A row that finds no slot within probe_max steps is counted as overflow.
#include "aggregate.cuh"
#include "params_two_phase.h"
#include "table_program.cuh"

template <class Key, class Program>
__device__ __forceinline__ void two_phase_rest(const TwoPhaseLaunch& p) {
  extern __shared__ u32 shared[];
  constexpr u32 kRows = kLooks<Key>;
  const Launch& l = p.launch;
  const u32 words = slot_words(l.shape);
  const u64 count = *p.num_rest, step = u64(gridDim.x) * (kLookThreads * kRows);
  const BlockSums sums(shared, l);
  Tally tally = {};
  bool repeats = false;
  u32 tiles = 0;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * (kLookThreads * kRows); tile < count; tile += step) {
    u64 rows[kRows];
    Key keys[kRows];
    typename Program::Row values[kRows];
    u64* at[kRows];
    u32 here = 0;  // a bit a row
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      const u64 k = tile + i * kLookThreads + threadIdx.x;
      rows[i] = 0;
      if (k >= count) continue;
      here |= 1u << i;
      rows[i] = p.rest[k];
    }
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      if (!(here >> i & 1)) continue;
      keys[i] = Key::load(l.rows.keys, rows[i], l.shape.key_bytes / 8);
      values[i] = Program::load(l, rows[i]);
    }
    find_slots(l.table, words, keys, here, l.probe_max, sums.slots != 0, at, tally.did);
    __syncwarp();  // after the searches
    if (tiles++ % kRepeatTiles == 0) repeats = slots_repeat(at);
#pragma unroll
    for (u32 i = 0; i < kRows; i++) tally.lost += (here >> i & 1) && at[i] == nullptr;
    add_rows<Program>(l, rows, values, at, repeats, sums);
  }
  sums.flush(l);
  const u64 lost = block_sum(tally.lost), probes = block_sum(tally.did.probes), groups = block_sum(tally.did.groups);
  if (threadIdx.x != 0) return;
  if (groups != 0) atomicAdd(&table_header(l.table)->groups, groups);
  if (probes != 0) atomicAdd(&l.status->probes, probes);
  if (lost != 0) {
    atomicAdd(&l.status->overflow, lost);
    atomicAdd(&l.status->rows, 0 - lost);  // the first phase has counted them
  }
}

#define MPGA_KERNEL(name, Key, Program)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(kLookThreads) two_phase_rest_##name(const __grid_constant__ TwoPhaseLaunch p) { \
    two_phase_rest<Key, Program>(p);                                                                                                     \
  }
MPGA_TABLE_PROGRAMS(MPGA_KERNEL)
