// Merges groups into the table in device memory. Those that find no slot go to `groups`, if it has keys, in no order.
//
//   launch  any grid; at most 1024 threads
//   reads   in[0, rows.count)    writes  table; groups, if it has keys; status: rows, overflow (groups that found no slot), probes
#include "refuse.cuh"
#include "table_rows.cuh"

template <class Key>
__device__ __forceinline__ void table_merge(const Launch& p) {
  Tally tally = {};
  const u32 key_words = slot_key_words(p.shape);
  take_slots<Key>(p, p.in.keys, tally, [&](u64 group, u64* at) {
    if (at == nullptr) {
      if (group < p.rows.count) refuse_group<Key>(p, group);
      return;
    }
    u64 w[kStateWordsMax];
#pragma unroll 1
    for (u32 f = 0; f < p.shape.num_folds; f++) {
      const Fold& fold = p.shape.folds[f];
#pragma unroll 1
      for (u32 i = 0; i < fold.words; i++) w[i] = p.in.states[f][group * fold.words + i];
      import_state(fold, w);
      merge_state(fold, at + key_words + fold.offset, 1, w);
    }
  });
  report(p, tally);
}

extern "C" __global__ void __launch_bounds__(1024) table_merge_k4(const __grid_constant__ Launch p) { table_merge<Key4>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_merge_k8(const __grid_constant__ Launch p) { table_merge<Key8>(p); }
extern "C" __global__ void __launch_bounds__(1024) table_merge_kn(const __grid_constant__ Launch p) { table_merge<KeyN>(p); }
