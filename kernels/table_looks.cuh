// Looks at the first slots of several rows of a thread in the table in device memory, all of them under way at once: a
// look takes as long as hundreds of instructions.
#ifndef MPGA_KERNELS_TABLE_LOOKS_CUH
#define MPGA_KERNELS_TABLE_LOOKS_CUH

#include "table.cuh"

// A slot, and its word 0 where nobody has it, and where a key has.
struct Slot {
  u64 *at, empty, full;
};

__device__ __forceinline__ Slot first_slot(const Table& t, u32 words, Key4 key) {
  return {table_slot(t, words, slot_of(key.hash(0), t.slots)), 0, key.value | kTaken4};
}

__device__ __forceinline__ Slot first_slot(const Table& t, u32 words, Key8 key) {
  if (key.value == kEmptyKey) return {table_slot(t, words, t.slots), ~kEmptyKey, kEmptyKey};
  return {table_slot(t, words, slot_of(key.hash(0), t.slots)), kEmptyKey, key.value};
}

// Rows of a thread that look at their slots at once. A wide key is read from memory, as its slot is.
template <class Key>
constexpr u32 kLooks = Key::kBytes == 0 ? 1 : 4;

// Takes slots for those keys that a mask has, if these have them or find them free, and clears their bits. A look at a
// table of few slots goes through the cache of the multiprocessor, which may be late: that a slot is taken stays true,
// and that one is free is certain only once it is claimed. Of a large table that cache would have whole lines read.
template <u32 kRows>
__device__ __forceinline__ void look(const Slot (&slots)[kRows], u32& wanted, bool few, u64* (&at)[kRows], Insertions& did) {
  u64 now[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (wanted >> i & 1) now[i] = few ? __ldca(slots[i].at) : *static_cast<volatile u64*>(slots[i].at);
  }
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!(wanted >> i & 1)) continue;
    did.probes++;
    if (now[i] == slots[i].empty) {
      now[i] = atomicCAS(slots[i].at, slots[i].empty, slots[i].full);
      if (now[i] == slots[i].empty) {
        did.groups++;
        now[i] = slots[i].full;
      }
    }
    if (now[i] == slots[i].full) {
      at[i] = slots[i].at;
      wanted &= ~(1u << i);
    }
  }
}

// Sets at to slots of those keys that a mask has, within probe_max steps from their first; null of others. few: the
// table has few slots.
template <class Key, u32 kRows>
__device__ __forceinline__ void find_slots(const Table& t, u32 words, const Key (&keys)[kRows], u32 wanted, u32 probe_max, bool few, u64* (&at)[kRows],
                                           Insertions& did) {
  Slot slots[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    at[i] = nullptr;
    if (wanted >> i & 1) slots[i] = first_slot(t, words, keys[i]);
  }
  look(slots, wanted, few, at, did);
  u64* const end = table_slot(t, words, t.slots);
#pragma unroll 1
  for (u32 step = 1; wanted != 0 && step < probe_max; step++) {
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      if (!(wanted >> i & 1)) continue;
      slots[i].at += words;
      if (slots[i].at == end) slots[i].at = table_slot(t, words, 0);
    }
    look(slots, wanted, few, at, did);
  }
}

__device__ __forceinline__ void find_slots(const Table& t, u32 words, const KeyN (&keys)[1], u32 wanted, u32 probe_max, bool, u64* (&at)[1], Insertions& did) {
  at[0] = wanted != 0 ? find_or_insert(t, words, keys[0], probe_max, did) : nullptr;
}

#endif
