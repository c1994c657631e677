// The table in device memory: linear probing, one slot of consecutive words a group, so that a
// group of a 4-byte key and one sum is half a sector. Slots never become free again.
//
//   4-byte key   word 0: the key, and 1 << 32 where it is taken
//   8-byte key   word 0: the key, or kEmptyKey; the key that equals kEmptyKey has a slot of its
//                own behind all others, taken when it holds that key
//   wider keys   word 0: a tag, kTagLocked while its owner writes the key, then kTagReady, with
//                62 bits of the hash; then the key
//
// The words of the states follow. Any number of threads insert; none removes.
#ifndef MPGA_KERNELS_TABLE_CUH
#define MPGA_KERNELS_TABLE_CUH

#include "key.cuh"
#include "state.cuh"

constexpr u64 kTaken4 = 1ull << 32;
constexpr u64 kEmptyKey = 0x9ae16a3b2f90404full;
constexpr u64 kTagLocked = 1, kTagReady = 2, kTagStates = 3;

__device__ __forceinline__ u32 slot_key_words(const Shape& s) {
  return s.key_bytes <= 8 ? 1 : 1 + s.key_bytes / 8;
}

__device__ __forceinline__ u32 slot_words(const Shape& s) { return slot_key_words(s) + s.state_words; }

__device__ __forceinline__ TableHeader* table_header(const Table& t) {
  return reinterpret_cast<TableHeader*>(t.memory);
}

__device__ __forceinline__ u64* table_slot(const Table& t, u32 words, u64 slot) {
  return t.memory + sizeof(TableHeader) / sizeof(u64) + slot * words;
}

// Word 0 of a slot that nobody has taken; last: of the slot behind all others.
__device__ __forceinline__ u64 empty_slot(const Shape& s, bool last) {
  if (s.key_bytes != 8) return 0;
  return last ? ~kEmptyKey : kEmptyKey;
}

// What a thread did to a table.
struct Insertions {
  u64 groups, probes;
};

// Takes a slot, or finds that another thread has taken it for the same key.
__device__ __forceinline__ bool take(u64* word, u64 empty, u64 full, Insertions& did) {
  u64 now = *static_cast<volatile u64*>(word);
  if (now == empty) {
    now = atomicCAS(word, empty, full);
    if (now == empty) {
      did.groups++;
      return true;
    }
  }
  return now == full;
}

// Returns the slot of a key, or null when probe_max slots are taken by others.
static __device__ __noinline__ u64* find_or_insert(const Table& t, u32 words, Key4 key, u32 probe_max, Insertions& did) {
  u64 slot = slot_of(key.hash(0), t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max; step++) {
    u64* at = table_slot(t, words, slot);
    did.probes++;
    if (take(at, 0, key.value | kTaken4, did)) return at;
    if (++slot == t.slots) slot = 0;
  }
  return nullptr;
}

static __device__ __noinline__ u64* find_or_insert(const Table& t, u32 words, Key8 key, u32 probe_max, Insertions& did) {
  if (key.value == kEmptyKey) {
    u64* at = table_slot(t, words, t.slots);
    did.probes++;
    take(at, ~kEmptyKey, kEmptyKey, did);
    return at;
  }
  u64 slot = slot_of(key.hash(0), t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max; step++) {
    u64* at = table_slot(t, words, slot);
    did.probes++;
    if (take(at, kEmptyKey, key.value, did)) return at;
    if (++slot == t.slots) slot = 0;
  }
  return nullptr;
}

__device__ __forceinline__ bool equal_words(const volatile u64* at, u32 at_stride, const KeyN& key) {
#pragma unroll 1
  for (u32 i = 0; i < key.num_words; i++) {
    if (at[u64(i) * at_stride] != key.words[u64(i) * key.stride]) return false;
  }
  return true;
}

static __device__ __noinline__ u64* find_or_insert(const Table& t, u32 words, const KeyN& key, u32 probe_max, Insertions& did) {
  const u64 hash = key.hash(0), tag = hash & ~kTagStates;
  u64 slot = slot_of(hash, t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max;) {
    u64* at = table_slot(t, words, slot);
    u64 now = atomicCAS(at, 0, tag | kTagLocked);
    if (now == 0) {
#pragma unroll 1
      for (u32 i = 0; i < key.num_words; i++) at[1 + i] = key.words[u64(i) * key.stride];
      __threadfence();  // whoever sees the tag ready sees the key
      atomicExch(at, tag | kTagReady);
      did.groups++;
      did.probes++;
      return at;
    }
    if (now == (tag | kTagLocked)) continue;  // perhaps the same key: its owner is about to write it
    did.probes++;
    if (now == (tag | kTagReady)) {
      __threadfence();
      if (equal_words(at + 1, 1, key)) return at;
    }
    if (++slot == t.slots) slot = 0;
    step++;
  }
  return nullptr;
}

// Returns the slot of a key, or null when the table has none. Nobody inserts meanwhile.
static __device__ __noinline__ u64* find(const Table& t, u32 words, Key4 key, u32 probe_max, Insertions& did) {
  u64 slot = slot_of(key.hash(0), t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max; step++) {
    u64* at = table_slot(t, words, slot);
    const u64 now = *at;
    did.probes++;
    if (now == (key.value | kTaken4)) return at;
    if (now == 0) return nullptr;
    if (++slot == t.slots) slot = 0;
  }
  return nullptr;
}

static __device__ __noinline__ u64* find(const Table& t, u32 words, Key8 key, u32 probe_max, Insertions& did) {
  const bool last = key.value == kEmptyKey;
  u64 slot = last ? t.slots : slot_of(key.hash(0), t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max; step++) {
    u64* at = table_slot(t, words, slot);
    const u64 now = *at;
    did.probes++;
    if (now == key.value) return at;
    if (last || now == kEmptyKey) return nullptr;
    if (++slot == t.slots) slot = 0;
  }
  return nullptr;
}

static __device__ __noinline__ u64* find(const Table& t, u32 words, const KeyN& key, u32 probe_max, Insertions& did) {
  const u64 hash = key.hash(0), ready = (hash & ~kTagStates) | kTagReady;
  u64 slot = slot_of(hash, t.slots);
#pragma unroll 1
  for (u32 step = 0; step < probe_max; step++) {
    u64* at = table_slot(t, words, slot);
    const u64 now = *at;
    did.probes++;
    if (now == ready && equal_words(at + 1, 1, key)) return at;
    if (now == 0) return nullptr;
    if (++slot == t.slots) slot = 0;
  }
  return nullptr;
}

// Whether a slot holds a group.
__device__ __forceinline__ bool slot_taken(const Shape& s, const u64* at, bool last) {
  if (s.key_bytes == 8) return (*at == kEmptyKey) == last;
  return *at != 0;
}

__device__ __forceinline__ void store_key(const Shape& s, const u64* at, void* keys, u64 row) {
  if (s.key_bytes == 4) {
    static_cast<u32*>(keys)[row] = u32(*at);
  } else if (s.key_bytes == 8) {
    static_cast<u64*>(keys)[row] = *at;
  } else {
    KeyN{at + 1, s.key_bytes / 8, 1}.store(keys, row, 0);
  }
}

// Merges a row's states into a slot.
__device__ inline void accumulate_row(const Shape& s, const Rows& rows, u64 row, u64* states) {
  u64 w[kStateWordsMax];
#pragma unroll 1
  for (u32 f = 0; f < s.num_folds; f++) {
    if (row_state(s.folds[f], rows, row, w)) merge_state(s.folds[f], states + s.folds[f].offset, 1, w);
  }
}

#endif
