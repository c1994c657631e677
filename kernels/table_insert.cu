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
  const BlockSums sums(shared, p);
  Tally tally = {};
  take_rows<Key, Program>(
      p, p.rows.count, p.probe_max, sums.slots != 0, sums, tally.did, [](u64 row) { return row; },
      [&](const u64(&rows)[kLooks<Key>], u32 left) {
#pragma unroll
        for (u32 i = 0; i < kLooks<Key>; i++) refuse_rows<Key>(p, rows[i], left >> i & 1);
      });
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
