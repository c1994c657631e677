// A program accumulates rows into the states of a block's table, which lie in shared memory by
// word, not by group, so that neighbouring slots are in different banks.
//
// General serves every shape: it walks over the folds. Folds<...> are programs of folds known at
// compile time, without NULLs. Shared memory adds 32 bits natively and 64 only by compare-and-swap:
// the cells of Folds add in parts of 32 bits and carry. A block takes fewer than 2^32 rows.
#ifndef MPGA_KERNELS_PROGRAM_CUH
#define MPGA_KERNELS_PROGRAM_CUH

#include "block.cuh"
#include "state.cuh"

struct General {
  // Neighbouring rows that a thread has under way: loads of all of them are issued before the first
  // is waited for. Here loads are made fold by fold.
  static constexpr u32 kRows = 1;
  static constexpr bool kLight = false;
  static constexpr bool kFar = false;
  struct Row {};
  struct Pending {};

  static __device__ __forceinline__ u64 bytes(const Shape& s, u32 num_states) { return u64(num_states) * 8 * s.state_words; }

  static __device__ void init(const Shape& s, u64* states, u32 num_states) {
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
#pragma unroll 1
      for (u32 w = 0; w < s.folds[f].words; w++) {
        const u64 word = identity(s.folds[f], w);
        u64* at = states + u64(s.folds[f].offset + w) * num_states;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < num_states; i += blockDim.x) at[i] = word;
      }
    }
  }

  template <u32 kCount>
  static __device__ __forceinline__ void load(const Shape&, const Rows&, u64, Row (&)[kCount]) {}

  static __device__ __forceinline__ Pending accumulate(const Shape& s, const Rows& rows, u64 row, const Row&, u64* states, u32 num_states, u32 i) {
    u64 w[kStateWordsMax];
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
      if (row_state(s.folds[f], rows, row, w)) {
        merge_state(s.folds[f], states + u64(s.folds[f].offset) * num_states + i, num_states, w);
      }
    }
    return {};
  }
  static __device__ __forceinline__ bool carries(const Row&, const Pending&) { return false; }
  static __device__ __forceinline__ void carry(const Row&, const Pending&, u64*, u32, u32, u32*) {}

  // Merges the copies [i, i + copies) of a state into a slot of the table in device memory.
  static __device__ void flush(const Shape& s, const u64* states, u32 num_states, u32 i, u32 copies, u64* into, const u32*) {
    u64 w[kStateWordsMax];
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
#pragma unroll 1
      for (u32 c = 0; c < copies; c++) {
        read(s.folds[f], states, num_states, i + c, w);
        merge_state(s.folds[f], into + s.folds[f].offset, 1, w);
      }
    }
  }

  // Writes a state, which has one copy, to group first + row.
  static __device__ void emit(const Shape& s, const u64* states, u32 num_states, u32 i, const Groups& groups, u64 first, u32 row) {
    u64 w[kStateWordsMax];
#pragma unroll 1
    for (u32 f = 0; f < s.num_folds; f++) {
      const Fold& fold = s.folds[f];
      read(fold, states, num_states, i, w);
      export_state(fold, w);
#pragma unroll 1
      for (u32 k = 0; k < fold.words; k++) groups.states[f][(first + row) * fold.words + k] = w[k];
    }
  }

  static __device__ __forceinline__ void read(const Fold& f, const u64* states, u32 num_states, u32 i, u64* w) {
#pragma unroll 1
    for (u32 k = 0; k < f.words; k++) w[k] = states[u64(f.offset + k) * num_states + i];
  }
};

// Loads neighbouring values, by vectors where they fill some. Requires: row is a multiple of kCount.
template <class T, u32 kCount>
__device__ __forceinline__ void load_values(const void* column, u64 row, T (&values)[kCount]) {
  constexpr u32 kBytes = sizeof(T) * kCount;
  const T* at = static_cast<const T*>(column) + row;
  if constexpr (kBytes % 16 == 0) {
    union {
      uint4 vectors[kBytes / 16];
      T words[kCount];
    } loaded;
#pragma unroll
    for (u32 i = 0; i < kBytes / 16; i++) loaded.vectors[i] = reinterpret_cast<const uint4*>(at)[i];
#pragma unroll
    for (u32 i = 0; i < kCount; i++) values[i] = loaded.words[i];
  } else {
#pragma unroll
    for (u32 i = 0; i < kCount; i++) values[i] = at[i];
  }
}

// The carry of a sum of 64 bits, in two words of 32 bits, to the lower of which by_low was added where
// there was old.
__device__ __forceinline__ void add_carry(u32* high, u32 old, u32 by_low, u32 by_high) {
  by_high += old + by_low < by_low;
  if (by_high != 0) atomicAdd(high, by_high);
}

__device__ __forceinline__ u64 read_carry(const u32* part, u32 n, u32 i) { return u64(part[n + i]) << 32 | part[i]; }

// A number of 128 bits, or a word.
struct Words {
  u64 low, high;

  __device__ __forceinline__ void add(u64 by_low, u64 by_high) {
    low += by_low;
    high += by_high + (low < by_low);
  }
};

// A cell is one fold's state in kParts arrays of n words of 32 bits. add starts an addition to state
// i, and returns what carry ends it with, if it carries; gather adds state i to the words of a
// fold's state.

struct CountRows {
  static constexpr u32 kParts = 1;
  static constexpr bool kFar = false;
  static constexpr bool kLoads = false;
  struct Value {};
  struct Pending {};
  static __device__ __forceinline__ Pending add(u32* part, u32, u32 i, Value) {
    atomicAdd(part + i, 1u);
    return {};
  }
  static __device__ __forceinline__ bool carries(Value, Pending) { return false; }
  static __device__ __forceinline__ void carry(u32*, u32, u32, Value, Pending, u32*) {}
  static __device__ __forceinline__ void gather(const u32* part, u32, u32 i, Words& w, const u32*) { w.low += part[i]; }
};

// Sum64 and Sum128 of columns of 4 bytes: a block's sum fits 64 bits. Far: the upper halves are few
// enough changed to lie in device memory, so that more groups fit the block's.
template <class T, bool kIsFar>
struct SumNarrow {
  static constexpr u32 kParts = kIsFar ? 1 : 2;
  static constexpr bool kFar = kIsFar;
  static constexpr bool kLoads = true;
  using Value = T;
  using Pending = u32;
  static __device__ __forceinline__ Pending add(u32* part, u32, u32 i, Value v) { return atomicAdd(part + i, u32(v)); }
  static __device__ __forceinline__ bool carries(Value v, Pending old) { return T(v) < T(0) || old + u32(v) < old; }
  static __device__ __forceinline__ void carry(u32* part, u32 n, u32 i, Value v, Pending old, u32* far) {
    add_carry((kFar ? far : part + n) + i, old, u32(v), u32(u64(i64(v)) >> 32));
  }
  static __device__ __forceinline__ void gather(const u32* part, u32 n, u32 i, Words& w, const u32* far) {
    const u64 sum = kFar ? u64(__ldcg(far + i)) << 32 | part[i] : read_carry(part, n, i);
    w.add(sum, T(-1) < T(0) ? u64(i64(sum) >> 63) : 0);
  }
};

// Sum128 of columns of Int64: the sum of the low halves, and that of the high halves.
struct SumWide {
  static constexpr u32 kParts = 4;
  static constexpr bool kFar = false;
  static constexpr bool kLoads = true;
  using Value = i64;
  using Pending = u32;
  static __device__ __forceinline__ Pending add(u32* part, u32, u32 i, Value v) { return atomicAdd(part + i, u32(v)); }
  static __device__ __forceinline__ bool carries(Value v, Pending old) { return v >> 32 != 0 || old + u32(v) < old; }
  static __device__ __forceinline__ void carry(u32* part, u32 n, u32 i, Value v, Pending old, u32*) {
    add_carry(part + n + i, old, u32(v), 0);
    const i64 high = v >> 32;
    if (high == 0) return;
    part += 2 * n;
    add_carry(part + n + i, atomicAdd(part + i, u32(high)), u32(high), u32(high >> 32));
  }
  static __device__ __forceinline__ void gather(const u32* part, u32 n, u32 i, Words& w, const u32*) {
    const i64 high = i64(read_carry(part + 2 * n, n, i));
    w.add(read_carry(part, n, i), 0);
    w.add(u64(high) << 32, u64(high >> 32));
  }
};

struct SumDouble {
  static constexpr bool kFar = false;
  static constexpr u32 kParts = 2;  // as one array of n words of 64 bits
  static constexpr bool kLoads = true;
  using Value = double;
  struct Pending {};
  static __device__ __forceinline__ Pending add(u32* part, u32, u32 i, Value v) {
    atomicAdd(reinterpret_cast<double*>(part) + i, v);
    return {};
  }
  static __device__ __forceinline__ bool carries(Value, Pending) { return false; }
  static __device__ __forceinline__ void carry(u32*, u32, u32, Value, Pending, u32*) {}
  static __device__ __forceinline__ void gather(const u32* part, u32, u32 i, Words& w, const u32*) {
    w.low = to_word(to_double(w.low) + reinterpret_cast<const double*>(part)[i]);
  }
};

// Cell by cell, as a list; k is the fold.
template <class... Cells>
struct CellList {
  static constexpr u32 kParts = 0;
  static constexpr bool kFar = false;
  struct Row {};
  template <u32 kCount>
  static __device__ __forceinline__ void load(const Shape&, const Rows&, u64, Row (&)[kCount], u32) {}
  struct Pending {};
  static __device__ __forceinline__ Pending add(u32*, u32, u32, const Row&) { return {}; }
  static __device__ __forceinline__ bool carries(const Row&, const Pending&) { return false; }
  static __device__ __forceinline__ void carry(u32*, u32, u32, const Row&, const Pending&, u32*) {}
  static __device__ __forceinline__ void flush(const Shape&, const u32*, u32, u32, u32, u64*, const u32*, u32) {}
  static __device__ __forceinline__ void emit(const Shape&, const u32*, u32, u32, const Groups&, u64, u32, u32) {}
};

template <class Cell, class... Rest>
struct CellList<Cell, Rest...> {
  using Tail = CellList<Rest...>;
  static constexpr u32 kParts = Cell::kParts + Tail::kParts;
  static constexpr bool kFar = Cell::kFar;
  static_assert(!Tail::kFar, "one cell has all of a state's words in device memory");
  struct Row {
    typename Cell::Value value;
    typename Tail::Row rest;
  };
  template <u32 kCount>
  static __device__ __forceinline__ void load(const Shape& s, const Rows& rows, u64 row, Row (&out)[kCount], u32 k) {
    typename Cell::Value values[kCount];
    typename Tail::Row rest[kCount];
    if constexpr (Cell::kLoads) load_values(rows.columns[s.folds[k].column], row, values);
    Tail::load(s, rows, row, rest, k + 1);
#pragma unroll
    for (u32 i = 0; i < kCount; i++) out[i] = {values[i], rest[i]};
  }
  struct Pending {
    typename Cell::Pending value;
    typename Tail::Pending rest;
  };
  static __device__ __forceinline__ Pending add(u32* part, u32 n, u32 i, const Row& row) {
    return {Cell::add(part, n, i, row.value), Tail::add(part + Cell::kParts * n, n, i, row.rest)};
  }
  static __device__ __forceinline__ bool carries(const Row& row, const Pending& pending) {
    return Cell::carries(row.value, pending.value) || Tail::carries(row.rest, pending.rest);
  }
  static __device__ __forceinline__ void carry(u32* part, u32 n, u32 i, const Row& row, const Pending& pending, u32* far) {
    Cell::carry(part, n, i, row.value, pending.value, far);
    Tail::carry(part + Cell::kParts * n, n, i, row.rest, pending.rest, far);
  }
  static __device__ __forceinline__ void flush(const Shape& s, const u32* part, u32 n, u32 i, u32 copies, u64* into, const u32* far, u32 k) {
    Words sum = {0, 0};
#pragma unroll 1
    for (u32 c = 0; c < copies; c++) Cell::gather(part, n, i + c, sum, far);
    const u64 w[2] = {sum.low, sum.high};
    merge_state(s.folds[k], into + s.folds[k].offset, 1, w);
    Tail::flush(s, part + Cell::kParts * n, n, i, copies, into, far, k + 1);
  }
  static __device__ __forceinline__ void emit(const Shape& s, const u32* part, u32 n, u32 i, const Groups& groups, u64 first, u32 row, u32 k) {
    Words w = {0, 0};
    Cell::gather(part, n, i, w, nullptr);
    if (s.folds[k].words == 1) {
      (groups.states[k] + first)[row] = w.low;
    } else {
      (reinterpret_cast<ulonglong2*>(groups.states[k]) + first)[row] = make_ulonglong2(w.low, w.high);
    }
    Tail::emit(s, part + Cell::kParts * n, n, i, groups, first, row, k + 1);
  }
};

template <class... Cells>
struct Folds {
  using List = CellList<Cells...>;
  using Row = typename List::Row;
  using Value = decltype(Row::value);  // of the first fold
  using Pending = typename List::Pending;
  static constexpr u32 kRows = List::kParts > 4 ? 2 : 4;
  static constexpr bool kLight = List::kParts <= 2;
  static constexpr bool kFar = List::kFar;  // of one cell

  // An even number of states: every cell starts at a multiple of 8 bytes.
  static __device__ __forceinline__ u64 bytes(const Shape&, u32 num_states) { return u64(num_states) * 4 * List::kParts; }

  static __device__ void init(const Shape&, u64* states, u32 num_states) {
    fill_shared(states, num_states / 2 * List::kParts, make_ulonglong2(0, 0));
  }
  template <u32 kCount>
  static __device__ __forceinline__ void load(const Shape& s, const Rows& rows, u64 row, Row (&out)[kCount]) {
    List::load(s, rows, row, out, 0);
  }
  static __device__ __forceinline__ Pending accumulate(const Shape&, const Rows&, u64, const Row& row, u64* states, u32 num_states, u32 i) {
    return List::add(reinterpret_cast<u32*>(states), num_states, i, row);
  }
  static __device__ __forceinline__ bool carries(const Row& row, const Pending& pending) { return List::carries(row, pending); }
  static __device__ __forceinline__ void carry(const Row& row, const Pending& pending, u64* states, u32 num_states, u32 i, u32* far) {
    List::carry(reinterpret_cast<u32*>(states), num_states, i, row, pending, far);
  }
  static __device__ __forceinline__ void flush(const Shape& s, const u64* states, u32 num_states, u32 i, u32 copies, u64* into, const u32* far) {
    List::flush(s, reinterpret_cast<const u32*>(states), num_states, i, copies, into, far, 0);
  }
  static __device__ __forceinline__ void emit(const Shape& s, const u64* states, u32 num_states, u32 i, const Groups& groups, u64 first, u32 row) {
    List::emit(s, reinterpret_cast<const u32*>(states), num_states, i, groups, first, row, 0);
  }
};

#endif
