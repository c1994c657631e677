// Groups rows in one table per thread, in device memory, which is flushed to the table that all share at the end: for
// a handful of groups (Karnagel, Mueller, Lohman, ADMS 2015, section 5.1).
//
//   launch  any grid; kPrivateThreads threads
//   reads   rows    writes  tables, table; status: rows, overflow, probes
//
// Nobody else looks at a thread's table, so that no step is atomic. Words of neighbouring threads lie side by side. A
// slot is a tag, the words of the key, and the states; a 4-byte key is in its tag. Rows that find no slot go to the
// shared table at once. status.overflow counts rows and groups that found no slot there: 0, or the answer is void.
#include "aggregate.cuh"
#include "combine.cuh"
#include "params_private.h"

// The words of a slot before its states: a tag, which is 0 of an empty slot, and words of the key.
template <class Key>
struct PrivateKey {
  Key key;
  u32 words;  // of the key, behind the tag

  __device__ __forceinline__ PrivateKey(const Key& k, u32 key_bytes) : key(k), words(Key::kBytes == 4 ? 0 : key_bytes / 8) {}
  __device__ __forceinline__ u64 word(u32 i) const {
    if constexpr (Key::kBytes == 0) {
      return key.words[u64(i) * key.stride];
    } else {
      return key.value;
    }
  }
  __device__ __forceinline__ u64 tag(u64 hash) const {
    if constexpr (Key::kBytes == 4) {
      return key.value | kTaken4;
    } else {
      return hash | 1;
    }
  }
};

// A thread's table.
struct PrivateTable {
  u64* memory;   // the thread's first word
  u64 stride;    // between words: the threads of the grid
  u32 slots, key_words, slot_words;

  __device__ __forceinline__ PrivateTable(const PrivateLaunch& p) : slots(p.slots) {
    stride = u64(gridDim.x) * kPrivateThreads;
    memory = p.tables + u64(blockIdx.x) * kPrivateThreads + threadIdx.x;
    key_words = p.launch.shape.key_bytes == 4 ? 1 : 1 + p.launch.shape.key_bytes / 8;
    slot_words = key_words + p.launch.shape.state_words;
  }
  __device__ __forceinline__ u64* slot(u32 i) const { return memory + u64(i) * slot_words * stride; }
  __device__ __forceinline__ u64* states(u32 i) const { return slot(i) + key_words * stride; }

  __device__ void init(const Shape& s) const {
#pragma unroll 1
    for (u32 i = 0; i < slots; i++) {
      *slot(i) = 0;
#pragma unroll 1
      for (u32 f = 0; f < s.num_folds; f++) {
#pragma unroll 1
        for (u32 w = 0; w < s.folds[f].words; w++) states(i)[(s.folds[f].offset + w) * stride] = identity(s.folds[f], w);
      }
    }
  }

  // The slot of a key, which it takes if it is new; null where all are taken by others.
  template <class Key>
  __device__ __forceinline__ u64* find(const PrivateKey<Key>& key) const {
    const u64 hash = key.key.hash(0), tag = key.tag(hash);
    u32 i = u32(slot_of(hash, slots));
#pragma unroll 1
    for (u32 step = 0; step < slots; step++) {
      u64* at = slot(i);
      if (*at == 0) {
        *at = tag;
#pragma unroll 1
        for (u32 w = 0; w < key.words; w++) at[(1 + w) * stride] = key.word(w);
        return at;
      }
      bool same = *at == tag;
#pragma unroll 1
      for (u32 w = 0; same && w < key.words; w++) same = at[(1 + w) * stride] == key.word(w);
      if (same) return at;
      if (++i == slots) i = 0;
    }
    return nullptr;
  }

  template <class Key>
  __device__ __forceinline__ Key key(u32 i) const {
    const u64* at = slot(i);
    if constexpr (Key::kBytes == 4) {
      return {u32(*at)};
    } else if constexpr (Key::kBytes == 8) {
      return {at[stride]};
    } else {
      return {at + stride, key_words - 1, u32(stride)};
    }
  }
};

// Merges the state of a row into one whose words are stride apart, which this thread alone writes.
template <u32 kWords>
__device__ __forceinline__ void combine_private(const Fold& fold, u64* at, u64 stride, const u64* row) {
  u64 w[kWords], v[kWords];
#pragma unroll
  for (u32 i = 0; i < kWords; i++) w[i] = at[i * stride], v[i] = row[i];
  combine_state<kWords>(fold, w, v);
#pragma unroll
  for (u32 i = 0; i < kWords; i++) at[i * stride] = w[i];
}

static __device__ __noinline__ void accumulate_private(const Shape& s, const Rows& rows, u64 row, u64* states, u64 stride) {
  u64 own[kStateWordsMax];
#pragma unroll 1
  for (u32 f = 0; f < s.num_folds; f++) {
    const Fold& fold = s.folds[f];
    if (!row_state(fold, rows, row, own)) continue;
    u64* at = states + fold.offset * stride;
    switch (fold.words) {
      case 1: combine_private<1>(fold, at, stride, own); break;
      case 2: combine_private<2>(fold, at, stride, own); break;
      case 3: combine_private<3>(fold, at, stride, own); break;
      case 4: combine_private<4>(fold, at, stride, own); break;
      case 5: combine_private<5>(fold, at, stride, own); break;
      case 6: combine_private<6>(fold, at, stride, own); break;
      case 7: combine_private<7>(fold, at, stride, own); break;
      case 8: combine_private<8>(fold, at, stride, own); break;
    }
  }
}

// Merges the groups of a thread's table into the shared one.
template <class Key>
__device__ __forceinline__ void flush_private(const Launch& l, const PrivateTable& table, Tally& tally) {
  const Shape& s = l.shape;
#pragma unroll 1
  for (u32 i = 0; i < table.slots; i++) {
    if (*table.slot(i) == 0) continue;
    u64* into = find_or_insert(l.table, slot_words(s), table.key<Key>(i), l.probe_max, tally.did);
    if (into == nullptr) {
      tally.lost++;
      continue;
    }
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
      const Fold& fold = s.folds[f];
      u64 w[kStateWordsMax];
#pragma unroll 1
      for (u32 k = 0; k < fold.words; k++) w[k] = table.states(i)[(fold.offset + k) * table.stride];
      merge_state(fold, into + slot_key_words(s) + fold.offset, 1, w);
    }
  }
}

template <class Key>
__device__ __forceinline__ void aggregate_private(const PrivateLaunch& p) {
  const Launch& l = p.launch;
  const PrivateTable table(p);
  Tally tally = {};
  table.init(l.shape);
#pragma unroll 1
  for (u64 row = u64(blockIdx.x) * kPrivateThreads + threadIdx.x; row < l.rows.count; row += table.stride) {
    const Key key = Key::load(l.rows.keys, row, l.shape.key_bytes / 8);
    u64* at = table.find(PrivateKey<Key>(key, l.shape.key_bytes));
    if (at != nullptr) {
      accumulate_private(l.shape, l.rows, row, at + table.key_words * table.stride, table.stride);
      continue;
    }
    at = find_or_insert(l.table, slot_words(l.shape), key, l.probe_max, tally.did);
    if (at == nullptr) {
      tally.lost++;
    } else {
      accumulate_row(l.shape, l.rows, row, at + slot_key_words(l.shape));
    }
  }
  flush_private<Key>(l, table, tally);
  report(l, tally);
}

extern "C" __global__ void __launch_bounds__(kPrivateThreads) aggregate_private_k4(const __grid_constant__ PrivateLaunch p) { aggregate_private<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kPrivateThreads) aggregate_private_k8(const __grid_constant__ PrivateLaunch p) { aggregate_private<Key8>(p); }
extern "C" __global__ void __launch_bounds__(kPrivateThreads) aggregate_private_kn(const __grid_constant__ PrivateLaunch p) { aggregate_private<KeyN>(p); }
