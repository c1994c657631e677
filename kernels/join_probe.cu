// Looks for the keys of probe rows in a table of join_build, and appends pairs.
//
//   launch  any grid; kJoinThreads threads
//   reads   probe, build, table, next     writes  pairs, matched; adds to status.pairs
#include "join.cuh"

// How many rows have the key of a row; 0 of none. They are marked.
template <bool kUnique>
__device__ __forceinline__ u64 count_rows(const JoinLaunch& p, u32 first) {
  u64 count = 0;
  for (u32 row = first; row != 0; row = kUnique ? 0 : p.next[row - 1]) {
    count++;
    if (p.matched != nullptr) mark(p.matched, called(p.build, row - 1));
  }
  return count;
}

template <class Key, bool kUnique>
__device__ __forceinline__ void probe_tile(const JoinLaunch& p, u64 tile) {
  const u32 key_words = p.key_bytes / 8;
  u64 hashes[kJoinRows], slots[kJoinRows];
  bool looks[kJoinRows];
#pragma unroll
  for (u32 i = 0; i < kJoinRows; i++) {
    const u64 row = tile + i * kJoinThreads + threadIdx.x;
    looks[i] = row < p.probe.count && has_key(p.probe, row) && p.build.count != 0;
    hashes[i] = looks[i] ? Key::load(p.probe.keys, row, key_words).hash(0) : 0;
  }
#pragma unroll
  for (u32 i = 0; i < kJoinRows; i++) slots[i] = looks[i] ? __ldg(p.table + slot_of(hashes[i], p.slots)) : 0;
  u32 first[kJoinRows];
  u64 counts[kJoinRows], places[kJoinRows];
#pragma unroll
  for (u32 i = 0; i < kJoinRows; i++) {
    const u64 row = tile + i * kJoinThreads + threadIdx.x;
    first[i] = 0;
    if (looks[i]) {
      const Key key = Key::load(p.probe.keys, row, key_words);
      first[i] = find_row(p.build.keys, p.table, p.slots, key, hashes[i], slot_of(hashes[i], p.slots), slots[i]);
    }
    counts[i] = row < p.probe.count ? pairs_of(p.kind, count_rows<kUnique>(p, first[i])) : 0;
  }
  take_places<u64, kJoinRows>(counts, places, &p.status->pairs);
#pragma unroll
  for (u32 i = 0; i < kJoinRows; i++) {
    if (counts[i] == 0) continue;
    const u32 probe = called(p.probe, tile + i * kJoinThreads + threadIdx.x);
    if (first[i] == 0 || p.kind >= kJoinSemi) {
      append(p, places[i], kNoRow, probe);
      continue;
    }
    u64 at = places[i];
    for (u32 row = first[i]; row != 0 && at < p.capacity; row = kUnique ? 0 : p.next[row - 1]) {
      append(p, at++, called(p.build, row - 1), probe);
    }
  }
}

template <class Key, bool kUnique>
__device__ __forceinline__ void join_probe(const JoinLaunch& p) {
  constexpr u64 kTile = kJoinThreads * kJoinRows;
  for (u64 tile = blockIdx.x * kTile; tile < p.probe.count; tile += gridDim.x * kTile) probe_tile<Key, kUnique>(p, tile);
}

#define MPGA_KERNEL(name, Key, kUnique)                                                                                \
  extern "C" __global__ void __launch_bounds__(kJoinThreads) join_probe_##name(const __grid_constant__ JoinLaunch p) { \
    join_probe<Key, kUnique>(p);                                                                                       \
  }
MPGA_KERNEL(k4_unique, Key4, true)
MPGA_KERNEL(k8_unique, Key8, true)
MPGA_KERNEL(kn_unique, KeyN, true)
MPGA_KERNEL(k4_repeated, Key4, false)
MPGA_KERNEL(k8_repeated, Key8, false)
MPGA_KERNEL(kn_repeated, KeyN, false)
