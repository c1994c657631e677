// Inserts rows into the table in device memory (LPHGA: Wang, Shen, Lei, 2025, section 3.2). Rows
// of a key without a slot go to `out`, in no order; none is dropped:
// accumulated + status.overflow == rows.count. A sealed table takes rows of the keys that it has.
//
//   launch  any grid; at most 1024 threads
//   reads   rows    writes  table; out, if it has keys; status: rows, overflow, probes
#include "table_rows.cuh"
#include "warp_rows.cuh"

__device__ inline void move_row(const Launch& p, u64 from, u64 to) {
#pragma unroll 1
  for (u32 c = 0; c < p.shape.num_columns; c++) {
    const u32 words = p.shape.column_bytes[c] / 4;
    const u32* in = static_cast<const u32*>(p.rows.columns[c]) + from * words;
    u32* out = static_cast<u32*>(p.out.columns[c]) + to * words;
#pragma unroll 1
    for (u32 i = 0; i < words; i++) out[i] = in[i];
    if (p.out.valid[c] == nullptr) continue;
    const u32 bit = 1u << (to % 32);
    if (is_valid(p.rows.valid[c], from)) {
      atomicOr(p.out.valid[c] + to / 32, bit);
    } else {
      atomicAnd(p.out.valid[c] + to / 32, ~bit);
    }
  }
}

template <class Key, bool kSealed>
__device__ __forceinline__ void table_insert(const Launch& p) {
  Tally tally = {};
  const u32 key_words = slot_key_words(p.shape);
  take_slots<Key, kSealed>(p, p.rows.keys, tally, [&](u64 row, u64* at) {
    const bool refused = row < p.rows.count && at == nullptr;
    const u32 lanes = __ballot_sync(kAllLanes, refused);
    if (lanes != 0) {
      const u32 leader = u32(__ffs(lanes)) - 1, count = u32(__popc(lanes));
      u64 to = 0;
      if (lane_id() == leader) {
        to = atomicAdd(&p.status->overflow, u64(count));
        atomicAdd(&p.status->rows, 0 - u64(count));  // not aggregated
      }
      to = __shfl_sync(kAllLanes, to, leader) + u64(__popc(lanes & ((1u << lane_id()) - 1)));
      if (refused && p.out.keys != nullptr) {
        Key::load(p.rows.keys, row, p.shape.key_bytes / 8).store(p.out.keys, to, 0);
        move_row(p, row, to);
      }
    }
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
