// What rows add to slots of the table in device memory: any folds, or one fold known at compile time over a column
// without NULLs. Additions to one slot follow each other in the device's cache: where a warp's rows share slots, their
// sums are made first (add_warp).
#ifndef MPGA_KERNELS_TABLE_PROGRAM_CUH
#define MPGA_KERNELS_TABLE_PROGRAM_CUH

#include "table_looks.cuh"
#include "warp_rows.cuh"

struct AnyFolds {
  struct Row {};
  static __device__ __forceinline__ Row load(const Shape&, const Rows&, u64) { return {}; }
  static __device__ __noinline__ void add(const Shape& s, const Rows& rows, u64 row, Row, u64* states) { accumulate_row(s, rows, row, states); }
  static __device__ __forceinline__ void add_warp(const Shape& s, const Rows& rows, u64 row, Row, u64* states) {
    accumulate_warp(s, rows, row, states);
  }
};

// Adds the sum of the words of lanes with one state to it. All lanes call it; those without a state have null.
template <u32 kWords>
__device__ __forceinline__ void add_peers(const Fold& fold, u64 (&w)[kWords], u64* state) {
  const u32 peers = __match_any_sync(kAllLanes, reinterpret_cast<u64>(state));
  combine_peers<kWords>(fold, peers, w);
  if (state == nullptr || lane_id() != u32(__ffs(peers)) - 1) return;
  u64 sum[kWords];
#pragma unroll
  for (u32 i = 0; i < kWords; i++) sum[i] = w[i];
  merge_state(fold, state, 1, sum);
}

struct OneCount {
  struct Row {};
  static __device__ __forceinline__ Row load(const Shape&, const Rows&, u64) { return {}; }
  static __device__ __forceinline__ void add(const Shape&, const Rows&, u64, Row, u64* states) { atomicAdd(states, 1ull); }
  static __device__ __forceinline__ void add_warp(const Shape& s, const Rows&, u64, Row, u64* states) {
    u64 w[1] = {states != nullptr};
    add_peers<1>(s.folds[0], w, states);
  }
};

// A sum of integers, of one word or of two.
template <class T>
struct OneSum {
  struct Row {
    T value;
    __device__ __forceinline__ u64 low() const { return u64(i64(value)); }
    __device__ __forceinline__ u64 high() const { return T(-1) < T(0) ? u64(i64(value) >> 63) : 0; }
  };
  static __device__ __forceinline__ Row load(const Shape& s, const Rows& rows, u64 row) {
    return {static_cast<const T*>(rows.columns[s.folds[0].column])[row]};
  }
  static __device__ __forceinline__ void add(const Shape& s, const Rows&, u64, Row r, u64* states) {
    if (s.folds[0].words == 1) {
      atomicAdd(states, r.low());
    } else {
      add_128(states, states + 1, r.low(), r.high());
    }
  }
  static __device__ __forceinline__ void add_warp(const Shape& s, const Rows&, u64, Row r, u64* states) {
    if (s.folds[0].words == 1) {
      u64 w[1] = {r.low()};
      add_peers<1>(s.folds[0], w, states);
    } else {
      u64 w[2] = {r.low(), r.high()};
      add_peers<2>(s.folds[0], w, states);
    }
  }
};

struct OneDouble {
  struct Row {
    double value;
  };
  static __device__ __forceinline__ Row load(const Shape& s, const Rows& rows, u64 row) {
    return {static_cast<const double*>(rows.columns[s.folds[0].column])[row]};
  }
  static __device__ __forceinline__ void add(const Shape&, const Rows&, u64, Row r, u64* states) {
    atomicAdd(reinterpret_cast<double*>(states), r.value);
  }
  static __device__ __forceinline__ void add_warp(const Shape& s, const Rows&, u64, Row r, u64* states) {
    u64 w[1] = {to_word(r.value)};
    add_peers<1>(s.folds[0], w, states);
  }
};

// The kernels that look for slots of a table in device memory, in a version for each width of key and program.
#define MPGA_TABLE_PROGRAMS_OF(X, key, Key) \
  X(key##_count, Key, OneCount)             \
  X(key##_sum_i32, Key, OneSum<i32>)        \
  X(key##_sum_u32, Key, OneSum<u32>)        \
  X(key##_sum_i64, Key, OneSum<i64>)        \
  X(key##_sum_f64, Key, OneDouble)          \
  X(key##_general, Key, AnyFolds)

#define MPGA_TABLE_PROGRAMS(X)         \
  MPGA_TABLE_PROGRAMS_OF(X, k4, Key4)  \
  MPGA_TABLE_PROGRAMS_OF(X, k8, Key8)  \
  X(kn_general, KeyN, AnyFolds)

// Whether the rows of a warp share slots so often that their sums are to be made first. All lanes call it.
__device__ __forceinline__ bool slots_repeat(const u64* at) {
  const u32 peers = __match_any_sync(kAllLanes, reinterpret_cast<u64>(at));
  const u32 rows = __ballot_sync(kAllLanes, at != nullptr);
  const u32 first = __ballot_sync(kAllLanes, at != nullptr && lane_id() == u32(__ffs(peers)) - 1);
  return u32(__popc(first)) * 4 <= u32(__popc(rows)) * 3;
}

// Adds a thread's rows, which are step apart, to their slots; null of rows without one. All lanes call it.
template <class Program, u32 kRows>
__device__ __forceinline__ void add_rows(const Launch& p, u64 first, u64 step, const typename Program::Row (&values)[kRows], u64* const (&at)[kRows], bool repeats) {
  const u32 key_words = slot_key_words(p.shape);
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    u64* const states = at[i] == nullptr ? nullptr : at[i] + key_words;
    if (repeats) {
      Program::add_warp(p.shape, p.rows, first + i * step, values[i], states);
    } else if (states != nullptr) {
      Program::add(p.shape, p.rows, first + i * step, values[i], states);
    }
  }
}

#endif
