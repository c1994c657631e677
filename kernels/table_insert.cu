// Inserts rows into the table in device memory (LPHGA: Wang, Shen, Lei, 2025, section 3.2). Rows
// of a key without a slot go to `out`, in no order; none is dropped:
// accumulated + status.overflow == rows.count. A sealed table takes rows of the keys that it has.
//
//   launch  any grid; at most 1024 threads
//   reads   rows    writes  table; out, if it has keys; status: rows, overflow, probes
#include "refuse.cuh"
#include "table_program.cuh"
#include "table_rows.cuh"

template <class Key, class Program>
__device__ __forceinline__ void table_insert(const Launch& p) {
  extern __shared__ u32 shared[];
  constexpr u32 kRows = kLooks<Key>;
  const u32 words = slot_words(p.shape);
  const u64 step = u64(gridDim.x) * blockDim.x * kRows;
  const BlockSums sums(shared, p);
  Tally tally = {};
  bool repeats = false;
  u32 tiles = 0;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x * kRows; tile < p.rows.count; tile += step) {
    const u64 first = tile + threadIdx.x;
    u64 rows[kRows];
    Key keys[kRows];
    typename Program::Row values[kRows];
    u64* at[kRows];
    u32 here = 0;  // a bit a row
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      rows[i] = first + u64(i) * blockDim.x;
      if (rows[i] >= p.rows.count) continue;
      here |= 1u << i;
      keys[i] = Key::load(p.rows.keys, rows[i], p.shape.key_bytes / 8);
      values[i] = Program::load(p, rows[i]);
    }
    find_slots(p.table, words, keys, here, p.probe_max, sums.slots != 0, at, tally.did);
    __syncwarp();  // after the searches
    if (tiles++ % kRepeatTiles == 0) repeats = slots_repeat(at);
#pragma unroll
    for (u32 i = 0; i < kRows; i++) refuse_rows<Key>(p, rows[i], (here >> i & 1) && at[i] == nullptr);
    add_rows<Program>(p, rows, values, at, repeats, sums);
  }
  sums.flush(p);
  report(p, tally);
}

template <class Key>
__device__ __forceinline__ void table_insert_sealed(const Launch& p) {
  Tally tally = {};
  const u32 key_words = slot_key_words(p.shape);
  take_slots<Key, true>(p, p.rows.keys, tally, [&](u64 row, u64* at) {
    refuse_rows<Key>(p, row, row < p.rows.count && at == nullptr);
    __syncwarp();  // after the search
    accumulate_warp(p.shape, p.rows, row, at == nullptr ? nullptr : at + key_words);
  });
  report(p, tally);
}

#define MPGA_KERNEL(name, Key, Program)                                                                              \
  extern "C" __global__ void __launch_bounds__(1024) table_insert_##name(const __grid_constant__ Launch p) { \
    table_insert<Key, Program>(p);                                                                                   \
  }
MPGA_TABLE_PROGRAMS(MPGA_KERNEL)

extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_k4(const __grid_constant__ Launch p) { table_insert_sealed<Key4>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_k8(const __grid_constant__ Launch p) { table_insert_sealed<Key8>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_kn(const __grid_constant__ Launch p) { table_insert_sealed<KeyN>(p); }
