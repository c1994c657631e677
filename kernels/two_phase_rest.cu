// The fourth phase of SP-EGA (Wang, Shen, Lei, 2025, section 4.1.4): the rows that the first phase
// left go into the table, which was emptied in between, with linear probing.
//
//   launch  any grid; kTwoPhaseThreads threads
//   reads   rows, rest, num_rest    writes  table; status: rows, overflow, probes
//
// A row that finds no slot within probe_max steps is counted as overflow.
#include "aggregate.cuh"
#include "params_two_phase.h"
#include "warp_rows.cuh"

template <class Key>
__device__ __forceinline__ void two_phase_rest(const TwoPhaseLaunch& p) {
  const Launch& l = p.launch;
  const u32 words = slot_words(l.shape), key_words = slot_key_words(l.shape);
  const u64 count = *p.num_rest, step = u64(gridDim.x) * kTwoPhaseThreads;
  Tally tally = {};
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * kTwoPhaseThreads; tile < count; tile += step) {
    const u64 i = tile + threadIdx.x;
    u64 row = 0, *at = nullptr;
    if (i < count) {
      row = p.rest[i];
      const Key key = Key::load(l.rows.keys, row, l.shape.key_bytes / 8);
      at = find_or_insert(l.table, words, key, l.probe_max, tally.did);
      if (at == nullptr) tally.lost++;
    }
    accumulate_warp(l.shape, l.rows, row, at == nullptr ? nullptr : at + key_words);
  }
  const u64 lost = block_sum(tally.lost), probes = block_sum(tally.did.probes), groups = block_sum(tally.did.groups);
  if (threadIdx.x != 0) return;
  if (groups != 0) atomicAdd(&table_header(l.table)->groups, groups);
  if (probes != 0) atomicAdd(&l.status->probes, probes);
  if (lost != 0) {
    atomicAdd(&l.status->overflow, lost);
    atomicAdd(&l.status->rows, 0 - lost);  // the first phase has counted them
  }
}

extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_rest_k4(const __grid_constant__ TwoPhaseLaunch p) { two_phase_rest<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_rest_k8(const __grid_constant__ TwoPhaseLaunch p) { two_phase_rest<Key8>(p); }
extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_rest_kn(const __grid_constant__ TwoPhaseLaunch p) { two_phase_rest<KeyN>(p); }
