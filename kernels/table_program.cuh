// What rows add to slots of the table in device memory: any folds, or a sum of a column of 4 bytes without NULLs.
// Additions to one slot follow each other in the device's cache: where a warp's rows share slots, their sums are made
// first (add_warp), and those of a block where the table has few slots (BlockSums).
#ifndef MPGA_KERNELS_TABLE_PROGRAM_CUH
#define MPGA_KERNELS_TABLE_PROGRAM_CUH

#include "table_looks.cuh"
#include "warp_rows.cuh"

// The sums of a block's rows by slot of the table, in shared memory, where the table has few slots: they are added to the
// table's once, at the end. Shared memory adds 32 bits natively, and 64 not. Sums of fewer than 2^32 values of 32 bits
// are of 64.
struct BlockSums {
  u32 *low, *high;
  u32 slots;  // 0: there are none

  __device__ __forceinline__ BlockSums(u32* shared, const Launch& p) : low(shared), high(shared + p.slots), slots(p.slots) {
    for (u32 i = threadIdx.x; i < 2 * slots; i += blockDim.x) shared[i] = 0;
    __syncthreads();  // the sums are 0
  }

  __device__ __forceinline__ void add(u32 slot, u64 by) const {
    const u32 by_low = u32(by), old = atomicAdd(low + slot, by_low), by_high = u32(by >> 32) + (old + by_low < by_low);
    if (by_high != 0) atomicAdd(high + slot, by_high);
  }

  // All threads of the block call it, after their last addition.
  __device__ __forceinline__ void flush(const Launch& p) const {
    __syncthreads();  // all additions are there
    const Fold& fold = p.shape.folds[0];
    const u32 words = slot_words(p.shape), key_words = slot_key_words(p.shape);
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {
      const u64 sum = u64(high[i]) << 32 | low[i];
      const u64 w[2] = {sum, fold.type == kInt32 ? u64(i64(sum) >> 63) : 0};
      if (sum != 0) merge_state(fold, table_slot(p.table, words, i) + key_words, 1, w);
    }
  }
};

struct AnyFolds {
  struct Row {};
  static __device__ __forceinline__ Row load(const Launch&, u64) { return {}; }
  static __device__ __noinline__ void add_any(const Launch& p, u64 row, u64* at) { accumulate_row(p.shape, p.rows, row, at + slot_key_words(p.shape)); }
  static __device__ __forceinline__ void add(const Launch& p, u64 row, Row, u64* at, const BlockSums&) { add_any(p, row, at); }
  static __device__ __forceinline__ void add_warp(const Launch& p, u64 row, Row, u64* at, const BlockSums&) {
    accumulate_warp(p.shape, p.rows, row, at == nullptr ? nullptr : at + slot_key_words(p.shape));
  }
};

// A sum of a column of 4 bytes, of one word or of two.
struct SumOf4 {
  struct Row {
    u32 value;
  };
  static __device__ __forceinline__ Row load(const Launch& p, u64 row) {
    return {static_cast<const u32*>(p.rows.columns[p.shape.folds[0].column])[row]};
  }
  static __device__ __forceinline__ u64 word(const Launch& p, Row r) {
    return p.shape.folds[0].type == kInt32 ? u64(i64(i32(r.value))) : r.value;
  }
  static __device__ __forceinline__ void add_word(const Launch& p, u64 word, u64* at, const BlockSums& sums) {
    const Fold& fold = p.shape.folds[0];
    if (sums.slots != 0) {
      const u32 words = u32(at - table_slot(p.table, 0, 0));
      sums.add(fold.words == 1 ? words / 2 : words / 3, word);
      return;
    }
    if (fold.words == 1) {
      atomicAdd(at + 1, word);
    } else {
      add_128(at + 1, at + 2, word, fold.type == kInt32 ? u64(i64(word) >> 63) : 0);
    }
  }
  static __device__ __forceinline__ void add(const Launch& p, u64, Row r, u64* at, const BlockSums& sums) { add_word(p, word(p, r), at, sums); }

  // The lanes with one slot add their words first.
  static __device__ __forceinline__ void add_warp(const Launch& p, u64, Row r, u64* at, const BlockSums& sums) {
    const u32 peers = __match_any_sync(kAllLanes, reinterpret_cast<u64>(at));
    u64 w[1] = {word(p, r)};
    combine_peers<1>({kSum64, kUint64, kUint64, 1, 0, -1, 0, 0}, peers, w);
    if (at != nullptr && lane_id() == u32(__ffs(peers)) - 1) add_word(p, w[0], at, sums);
  }
};

// The kernels that look for slots of a table in device memory, in a version for each width of key and program.
#define MPGA_TABLE_PROGRAMS(X)       \
  X(k4_sum_4, Key4, SumOf4)          \
  X(k8_sum_4, Key8, SumOf4)          \
  X(k4_general, Key4, AnyFolds)      \
  X(k8_general, Key8, AnyFolds)      \
  X(kn_general, KeyN, AnyFolds)

// Whether a key has so many of a warp's rows that sums are to be made before they are added: three of 32 that have come
// together. It is asked every kRepeatTiles tiles of a block, since keys may come close together later. All lanes call it.
constexpr u32 kRepeatTiles = 16;

template <u32 kRows>
__device__ __forceinline__ bool slots_repeat(u64* const (&at)[kRows]) {
  bool repeat = false;
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    const u32 peers = __match_any_sync(kAllLanes, reinterpret_cast<u64>(at[i]));
    repeat |= at[i] != nullptr && __popc(peers) >= 3;
  }
  return __any_sync(kAllLanes, repeat);
}

// Adds a thread's rows to their slots, which are null of rows without one. All lanes call it.
template <class Program, u32 kRows>
__device__ __forceinline__ void add_rows(const Launch& p, const u64 (&rows)[kRows], const typename Program::Row (&values)[kRows],
                                         u64* const (&at)[kRows], bool repeats, const BlockSums& sums) {
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (repeats) {
      Program::add_warp(p, rows[i], values[i], at[i], sums);
    } else if (at[i] != nullptr) {
      Program::add(p, rows[i], values[i], at[i], sums);
    }
  }
}

// Takes count rows, whose numbers row_of tells, to their slots of the table, kLooks rows of a thread at a time, and
// accumulates them there. missed(rows, left) gets a thread's rows, with a bit for each row that has no slot. few: as
// find_slots has it. Whole blocks call it, with the sums that they have in shared memory.
template <class Key, class Program, class RowOf, class Missed>
__device__ __forceinline__ void take_rows(const Launch& p, u64 count, u32 probe_max, bool few, const BlockSums& sums, Insertions& did, RowOf row_of,
                                          Missed missed) {
  constexpr u32 kRows = kLooks<Key>;
  const u32 words = slot_words(p.shape);
  bool repeats = false;
  u32 tiles = 0;
  const u64 step = u64(gridDim.x) * blockDim.x * kRows;
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x * kRows; tile < count; tile += step) {
    u64 rows[kRows];
    Key keys[kRows];
    typename Program::Row values[kRows];
    u64* at[kRows];
    u32 here = 0;  // a bit a row
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      const u64 n = tile + threadIdx.x + u64(i) * blockDim.x;
      rows[i] = n < count ? row_of(n) : n;
      if (n < count) here |= 1u << i;
    }
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      if (!(here >> i & 1)) continue;
      keys[i] = Key::load(p.rows.keys, rows[i], p.shape.key_bytes / 8);
      values[i] = Program::load(p, rows[i]);
    }
    find_slots(p.table, words, keys, here, probe_max, few, at, did);
    __syncwarp();  // after the searches
    if (tiles++ % kRepeatTiles == 0) repeats = slots_repeat(at);
    add_rows<Program>(p, rows, values, at, repeats, sums);
    u32 left = here;
#pragma unroll
    for (u32 i = 0; i < kRows; i++) {
      if (at[i] != nullptr) left &= ~(1u << i);
    }
    missed(rows, left);
  }
}

#endif
