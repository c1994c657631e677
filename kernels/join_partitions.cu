// Joins pairs of partitions: a block has a table of the build rows in shared memory, chains of rows whose hashes agree
// (Sioulas et al., 2019), and looks for probe rows in it. A partition of more build rows than the table takes is
// several tables, one after the other, and all probe rows of the item look in each; what has no match is known after the
// last.
//
//   launch  any grid; kPartitionThreads threads at most; shared: joinSharedBytes in launch_join.go
//   reads   items, both sides     writes  pairs, matched, probe_matched; adds to status.pairs, work.next_item
//
//   | keys: table_rows | heads: 2^head_bits words | next: table_rows of 2 bytes |
#include "join.cuh"

template <class Key>
struct Chains {
  using Word = typename Key::Word;
  Word* keys;
  u32* heads;  // of chains: a row of the table + 1, or 0
  u16* next;   // in the chain, likewise
  u32 shift;   // from a hash of 32 bits to a chain

  __device__ __forceinline__ Chains(const JoinLaunch& p, u64* shared)
      : keys(reinterpret_cast<Word*>(shared)), heads(reinterpret_cast<u32*>(keys + p.table_rows)),
        next(reinterpret_cast<u16*>(heads + (1u << p.head_bits))), shift(32 - p.head_bits) {}

  __device__ __forceinline__ u32* chain(Word key) const { return heads + (Key{key}.block_hash() >> shift); }

  // Takes build rows [begin, begin + count).
  __device__ __forceinline__ void fill(const JoinLaunch& p, u64 begin, u32 count) const {
    for (u32 i = threadIdx.x; i < 1u << p.head_bits; i += blockDim.x) heads[i] = 0;
    __syncthreads();  // no chain has rows
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      const Word key = static_cast<const Word*>(p.build.keys)[begin + i];
      keys[i] = key;
      if (has_key(p.build, begin + i)) next[i] = u16(atomicExch(chain(key), i + 1));
    }
    __syncthreads();  // the table has all rows
  }

  // The row of a key, from a row of its chain on; both are rows + 1, or 0.
  __device__ __forceinline__ u32 find(Word key, u32 from) const {
    while (from != 0 && keys[from - 1] != key) from = next[from - 1];
    return from;
  }
};

// How the rows of an item are joined with one of the tables of its partition.
template <class Key>
struct Step {
  const JoinLaunch& p;
  const Chains<Key>& table;
  u64 build_begin;  // of the table's rows
  bool is_only;     // the partition has no other table

  using Word = typename Key::Word;

  // Counts the matches of a key, and marks them.
  __device__ __forceinline__ u32 matches(Word key, u32 first) const {
    if (first == 0) return 0;
    if (p.unique && p.matched == nullptr) return 1;
    u32 count = 0;
    for (u32 at = first; at != 0; at = p.unique ? 0 : table.find(key, table.next[at - 1])) {
      count++;
      if (p.matched != nullptr) mark(p.matched, called(p.build, build_begin + at - 1));
    }
    return count;
  }

  // Joins rows [begin, end) of blockDim.x * kPartitionRows at most.
  __device__ __forceinline__ void tile(u64 begin, u64 end) const {
    Word keys[kPartitionRows];
    u32 first[kPartitionRows], counts[kPartitionRows];
#pragma unroll
    for (u32 i = 0; i < kPartitionRows; i++) {
      const u64 row = begin + i * blockDim.x + threadIdx.x;
      keys[i] = row < end ? static_cast<const Word*>(p.probe.keys)[row] : 0;
    }
#pragma unroll
    for (u32 i = 0; i < kPartitionRows; i++) {
      const u64 row = begin + i * blockDim.x + threadIdx.x;
      first[i] = row < end && has_key(p.probe, row) ? table.find(keys[i], *table.chain(keys[i])) : 0;
      u32 count = matches(keys[i], first[i]);
      if (is_only) {
        count = row < end ? pairs_of(p.kind, count) : 0;
      } else if (count != 0 && p.kind != kJoinInner) {
        mark(p.probe_matched, row);
        if (p.kind >= kJoinSemi) count = 0;
      }
      counts[i] = count;
    }
    u64 places[kPartitionRows];
    take_places<u32, kPartitionRows>(counts, places, &p.status->pairs);
#pragma unroll
    for (u32 i = 0; i < kPartitionRows; i++) {
      if (counts[i] == 0) continue;
      const u32 probe = called(p.probe, begin + i * blockDim.x + threadIdx.x);
      if (first[i] == 0 || p.kind >= kJoinSemi) {
        append(p, places[i], kNoRow, probe);
        continue;
      }
      u64 at = places[i];
      for (u32 row = first[i]; row != 0; row = p.unique ? 0 : table.find(keys[i], table.next[row - 1])) {
        append(p, at++, called(p.build, build_begin + row - 1), probe);
      }
    }
  }
};

// Appends rows [begin, end) of an item whose partition has several tables: what all of them are to be looked in for.
__device__ __forceinline__ void finish(const JoinLaunch& p, u64 begin, u64 end) {
  for (u64 tile = begin; tile < end; tile += u64(blockDim.x) * kPartitionRows) {
    u32 counts[kPartitionRows];
    u64 places[kPartitionRows];
#pragma unroll
    for (u32 i = 0; i < kPartitionRows; i++) {
      const u64 row = tile + i * blockDim.x + threadIdx.x;
      const bool matched = row < end && (*static_cast<volatile u32*>(p.probe_matched + row / 32) >> (row % 32) & 1) != 0;
      counts[i] = row < end && matched == (p.kind == kJoinSemi);
    }
    take_places<u32, kPartitionRows>(counts, places, &p.status->pairs);
#pragma unroll
    for (u32 i = 0; i < kPartitionRows; i++) {
      if (counts[i] != 0) append(p, places[i], kNoRow, called(p.probe, tile + i * blockDim.x + threadIdx.x));
    }
  }
}

template <class Key>
__device__ __forceinline__ void join_partitions(const JoinLaunch& p) {
  extern __shared__ u64 shared[];
  __shared__ u64 taken;
  const Chains<Key> table(p, shared);
  const u64 items = p.work->items, tile = u64(blockDim.x) * kPartitionRows;
  for (;;) {
    __syncthreads();  // all threads are done with the item before
    if (threadIdx.x == 0) taken = atomicAdd(&p.work->next_item, 1ull);
    __syncthreads();  // the item is known
    if (taken >= items) return;
    const JoinItem item = p.items[taken];
    const u64 build = p.build_offsets[item.partition], build_end = p.build_offsets[item.partition + 1];
    const u64 probe = p.probe_offsets[item.partition] + item.chunk * p.item_rows;
    const u64 probe_end = min(p.probe_offsets[item.partition + 1], probe + p.item_rows);
    const bool is_only = build_end - build <= p.table_rows;
    u64 begin = build;
    do {
      const u32 count = u32(min(build_end - begin, u64(p.table_rows)));
      table.fill(p, begin, count);
      const Step<Key> step = {p, table, begin, is_only};
      for (u64 at = probe; at < probe_end; at += tile) step.tile(at, min(probe_end, at + tile));
      __syncthreads();  // the table may be filled again; marks are there
      begin += count;
    } while (begin < build_end);
    if (!is_only && p.kind != kJoinInner) finish(p, probe, probe_end);
  }
}

extern "C" __global__ void __launch_bounds__(kPartitionThreads, 3) join_partitions_k4(const __grid_constant__ JoinLaunch p) { join_partitions<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kPartitionThreads, 3) join_partitions_k8(const __grid_constant__ JoinLaunch p) { join_partitions<Key8>(p); }
