// Gives each key a code, from 0 on, in no order (dictionary encoding: Wu et al., SIGMOD 2025, section 4.4). The table has
// one word of states, the code. The dictionary is p.in.keys, the codes of rows are p.out.keys, 4 bytes each.
//
//   code_keys_insert  reads rows.keys    writes table; status: rows, overflow, probes    any grid
//   code_keys_slots   writes dictionary, codes of slots; groups.status: groups    any grid, whole warps
//   code_keys_rows    reads rows.keys    writes codes of rows                     any grid
//   code_keys_groups  reads dictionary, out.keys: codes of groups    writes groups.keys; takes status.overflow from the rows
#include "aggregate.cuh"
#include "compact.cuh"
#include "table_program.cuh"

extern "C" __global__ void __launch_bounds__(1024) code_keys_slots(const __grid_constant__ Launch p) {
  const Shape& s = p.shape;
  const u32 words = slot_words(s), key_words = slot_key_words(s);
  compact_slots(
      p, [&](u64 slot) { return slot_taken(s, table_slot(p.table, words, slot), slot == p.table.slots); },
      [&](u64 slot, u64 code) {
        u64* at = table_slot(p.table, words, slot);
        store_key(s, at, p.in.keys, code);
        at[key_words] = code;
      });
}

// Programs of take_rows: one that gives a row the code of its slot, and one that does nothing.
template <bool kGives>
struct Codes {
  struct Row {};
  static __device__ __forceinline__ Row load(const Launch&, u64) { return {}; }
  static __device__ __forceinline__ void add(const Launch& p, u64 row, Row, const u64* at, const BlockSums&) {
    if (kGives && at != nullptr) static_cast<u32*>(p.out.keys)[row] = u32(at[slot_key_words(p.shape)]);
  }
  static __device__ __forceinline__ void add_warp(const Launch& p, u64 row, Row value, const u64* at, const BlockSums& sums) {
    add(p, row, value, at, sums);
  }
};

// Whether the table fits the cache of a multiprocessor.
__device__ __forceinline__ bool has_few_slots(const Launch& p) { return p.table.slots * slot_words(p.shape) <= 1 << 14; }

// Takes all rows to their slots: keys come to the table, which gets no others later, or rows get codes. A row of a key
// that the table has no room for keeps the code that it has: the answer is void.
template <class Key, bool kGives>
__device__ __forceinline__ void code_rows(const Launch& p) {
  const BlockSums none(nullptr, p);
  Tally tally = {};
  take_rows<Key, Codes<kGives>>(
      p, p.rows.count, p.probe_max, has_few_slots(p), none, tally.did, [](u64 row) { return row; },
      [&](const u64(&)[kLooks<Key>], u32 left) { tally.lost += u32(__popc(left)); });
  if (!kGives) report(p, tally);
}

#define MPGA_KERNELS(name, gives)                                                                                                    \
  extern "C" __global__ void __launch_bounds__(1024) name##_k4(const __grid_constant__ Launch p) { code_rows<Key4, gives>(p); }      \
  extern "C" __global__ void __launch_bounds__(1024) name##_k8(const __grid_constant__ Launch p) { code_rows<Key8, gives>(p); }      \
  extern "C" __global__ void __launch_bounds__(1024) name##_kn(const __grid_constant__ Launch p) { code_rows<KeyN, gives>(p); }
MPGA_KERNELS(code_keys_insert, false)
MPGA_KERNELS(code_keys_rows, true)

extern "C" __global__ void __launch_bounds__(1024) code_keys_groups(const __grid_constant__ Launch p) {
  const u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x, step = u64(gridDim.x) * blockDim.x;
  const u64 groups = min(p.groups.status->groups, p.groups.capacity);
  const u32* codes = static_cast<const u32*>(p.out.keys);
  const u32 width = p.shape.key_bytes / 4;
  for (u64 i = first; i < groups * width; i += step) {
    static_cast<u32*>(p.groups.keys)[i] = static_cast<const u32*>(p.in.keys)[codes[i / width] * u64(width) + i % width];
  }
  if (first == 0) {
    p.groups.status->overflow += p.status->overflow;
    p.groups.status->rows -= min(p.status->overflow, p.groups.status->rows);  // the rows that overflow have wrong codes
    p.groups.status->probes = p.status->probes;
  }
}
