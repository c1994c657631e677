// Writes the groups of the table in device memory behind those that are there already.
//
//   launch  any grid; whole warps
//   reads   slots [slot_begin, slot_end) of table    writes  groups; status: groups, overflow (groups that found no room)
#include "compact.cuh"
#include "table.cuh"

extern "C" __global__ void __launch_bounds__(1024) table_compact(const __grid_constant__ Launch p) {
  if (table_header(p.table)->groups == 0) return;
  const Shape& s = p.shape;
  const u32 words = slot_words(s), key_words = slot_key_words(s);
  compact_slots(
      p, [&](u64 slot) { return slot_taken(s, table_slot(p.table, words, slot), slot == p.table.slots); },
      [&](u64 slot, u64 row) {
        const u64* at = table_slot(p.table, words, slot);
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
      });
}
