// Inserts rows into the table in device memory (LPHGA: Wang, Shen, Lei, 2025, section 3.2). Rows
// of a key without a slot go to `out`, in no order; none is dropped:
// accumulated + status.overflow == rows.count. A sealed table takes rows of the keys that it has.
//
//   launch  any grid; at most 1024 threads
//   reads   rows    writes  table; out, if it has keys; status: rows, overflow, probes
#include "refuse.cuh"
#include "table_rows.cuh"
#include "warp_rows.cuh"

template <class Key, bool kSealed>
__device__ __forceinline__ void table_insert(const Launch& p) {
  Tally tally = {};
  const u32 key_words = slot_key_words(p.shape);
  take_slots<Key, kSealed>(p, p.rows.keys, tally, [&](u64 row, u64* at) {
    refuse_rows<Key>(p, row, row < p.rows.count && at == nullptr);
    __syncwarp();  // after the search
    accumulate_warp(p.shape, p.rows, row, at == nullptr ? nullptr : at + key_words);
  });
  report(p, tally);
}

extern "C" __global__ void __launch_bounds__(1024) table_insert_k4(const __grid_constant__ Launch p) { table_insert<Key4, false>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_k8(const __grid_constant__ Launch p) { table_insert<Key8, false>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_kn(const __grid_constant__ Launch p) { table_insert<KeyN, false>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_k4(const __grid_constant__ Launch p) { table_insert<Key4, true>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_k8(const __grid_constant__ Launch p) { table_insert<Key8, true>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_insert_sealed_kn(const __grid_constant__ Launch p) { table_insert<KeyN, true>(p); }
