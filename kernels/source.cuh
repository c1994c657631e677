// How the rows of a launch lie in memory, for those that aggregate them.
#ifndef MPGA_KERNELS_SOURCE_CUH
#define MPGA_KERNELS_SOURCE_CUH

#include "program.cuh"

// Keys and values by column.
struct Columns {
  static __device__ __forceinline__ u64 index(const Launch&, u64 row) { return row; }

  template <class Key>
  static __device__ __forceinline__ Key key(const Launch& p, u64 row) {
    return Key::load(p.rows.keys, row, p.shape.key_bytes / 8);
  }

  template <class Key, class Program, u32 kCount>
  static __device__ __forceinline__ void load(const Launch& p, u64 first, Key (&keys)[kCount], typename Program::Row (&values)[kCount]) {
    if constexpr (Key::kBytes != 0) {
      typename Key::Word words[kCount];
      load_values(p.rows.keys, first, words);
#pragma unroll
      for (u32 i = 0; i < kCount; i++) keys[i] = {words[i]};
    } else {
#pragma unroll
      for (u32 i = 0; i < kCount; i++) keys[i] = key<Key>(p, first + i);
    }
    Program::load(p.shape, p.rows, first, values);
  }
};

// A 4-byte key beside a value of 4 bytes, as partition_pairs writes them: a column of every second
// word, which rows.columns[0] points to, and so have keys.
struct Pairs {
  static __device__ __forceinline__ u64 index(const Launch&, u64 row) { return 2 * row; }

  template <class Key>
  static __device__ __forceinline__ Key key(const Launch& p, u64 row) {
    return Key::load(p.rows.keys, 2 * row, 0);
  }

  template <class Key, class Program, u32 kCount>
  static __device__ __forceinline__ void load(const Launch& p, u64 first, Key (&keys)[kCount], typename Program::Row (&values)[kCount]) {
    u64 pairs[kCount];
    load_values(p.rows.keys, first, pairs);
#pragma unroll
    for (u32 i = 0; i < kCount; i++) {
      keys[i] = {u32(pairs[i])};
      values[i] = {typename Program::Value(pairs[i] >> 32)};
    }
  }
};

// Keys with the numbers of their rows, which columns are read by: p.out has both, as its keys and its first column.
struct Numbered {
  static __device__ __forceinline__ u64 index(const Launch& p, u64 row) { return static_cast<const u32*>(p.out.columns[0])[row]; }

  template <class Key>
  static __device__ __forceinline__ Key key(const Launch& p, u64 row) {
    return Key::load(p.out.keys, row, p.shape.key_bytes / 8);
  }

  template <class Key, class Program, u32 kCount>
  static __device__ __forceinline__ void load(const Launch& p, u64 first, Key (&keys)[kCount], typename Program::Row (&values)[kCount]) {
#pragma unroll
    for (u32 i = 0; i < kCount; i++) {
      typename Program::Row value[1];
      keys[i] = key<Key>(p, first + i);
      Program::load(p.shape, p.rows, index(p, first + i), value);
      values[i] = value[0];
    }
  }
};

#endif
