// The first and the third phase of SP-EGA (Wang, Shen, Lei, 2025, sections 4.1.1 and 4.1.3): a row
// whose key has its first slot, or finds it free, is accumulated there; the others are listed.
//
//   launch  any grid; kTwoPhaseThreads threads
//   reads   rows    writes  table, rest, num_rest; status: rows, probes
//
// A group is aggregated here as a whole or not at all: all its rows look at one slot, and a slot
// never changes its owner. The paper takes a third of the table for this phase, since the results
// have to be gathered in the rest of that memory; here they have memory of their own, so that the
// whole table takes part and leaves two thirds of the rows that the paper leaves, or fewer.
#include "aggregate.cuh"
#include "params_two_phase.h"
#include "warp_rows.cuh"

template <class Key>
__device__ __forceinline__ void two_phase_first(const TwoPhaseLaunch& p) {
  __shared__ u64 rest_begin;
  const Launch& l = p.launch;
  const u32 words = slot_words(l.shape), key_words = slot_key_words(l.shape);
  const u64 step = u64(gridDim.x) * (kTwoPhaseThreads * kTwoPhaseRows);
  Tally tally = {};
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * (kTwoPhaseThreads * kTwoPhaseRows); tile < l.rows.count; tile += step) {
    Key keys[kTwoPhaseRows];
#pragma unroll
    for (u32 i = 0; i < kTwoPhaseRows; i++) {
      const u64 row = tile + i * kTwoPhaseThreads + threadIdx.x;
      if (row < l.rows.count) keys[i] = Key::load(l.rows.keys, row, l.shape.key_bytes / 8);
    }
    u32 left = 0;  // a bit a row
#pragma unroll
    for (u32 i = 0; i < kTwoPhaseRows; i++) {
      const u64 row = tile + i * kTwoPhaseThreads + threadIdx.x;
      u64* at = nullptr;
      if (row < l.rows.count) {
        at = find_or_insert(l.table, words, keys[i], 1, tally.did);
        if (at == nullptr) left |= 1u << i;
      }
      accumulate_warp(l.shape, l.rows, row, at == nullptr ? nullptr : at + key_words);
    }
    u32 total;
    u64 before = block_scan(u32(__popc(left)), &total);
    if (total == 0) continue;
    if (threadIdx.x == 0) rest_begin = atomicAdd(p.num_rest, u64(total));
    __syncthreads();  // rest_begin is there
#pragma unroll
    for (u32 i = 0; i < kTwoPhaseRows; i++) {
      if (left >> i & 1) p.rest[rest_begin + before++] = u32(tile + i * kTwoPhaseThreads + threadIdx.x);
    }
    __syncthreads();  // rest_begin may be written again
  }
  report(l, tally);
}

extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_first_k4(const __grid_constant__ TwoPhaseLaunch p) { two_phase_first<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_first_k8(const __grid_constant__ TwoPhaseLaunch p) { two_phase_first<Key8>(p); }
extern "C" __global__ void __launch_bounds__(kTwoPhaseThreads) two_phase_first_kn(const __grid_constant__ TwoPhaseLaunch p) { two_phase_first<KeyN>(p); }
