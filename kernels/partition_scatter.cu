// Writes rows by partition. Each block ranks a tile of rows by partition in shared memory, takes
// room behind the partition's cursor, and writes column by column, so that neighbouring threads
// write neighbouring rows of a partition.
//
//   launch  one block of kScatterThreads per tile of kScatterRows; shared: scatterSharedBytes in launch.go
//   reads   rows    writes  out; cursors: where the next row of each partition goes
//
// Rows of one call number fewer than 2^32. Bitmaps of `out` are all zeros before.
#include "block.cuh"
#include "key.cuh"
#include "state.cuh"

constexpr u32 kScatterThreads = 512;
constexpr u32 kRowsPerThread = 16;
constexpr u32 kScatterRows = kScatterThreads * kRowsPerThread;
constexpr u32 kRankBits = 13;
static_assert(kScatterRows <= 1 << kRankBits, "a rank must fit beside the partition");

// Moves one column of words of T through shared memory to where its rows go.
template <class T>
__device__ __forceinline__ void scatter_column(const T* in, T* out, T* stage, const u32* position, const u32* to, u32 count) {
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row < count) stage[position[i]] = in[row];
  }
  __syncthreads();  // the stage is full
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row < count) out[to[i]] = stage[row];
  }
  __syncthreads();  // the stage may be filled again
}

template <class Key>
__device__ __forceinline__ void partition_scatter(const Launch& p) {
  extern __shared__ u64 shared[];
  const u32 partitions = 1u << p.radix_bits;
  u64* stage = shared;                                                // kScatterRows
  u32* starts = reinterpret_cast<u32*>(stage + kScatterRows);         // counts, then where in the tile
  u32* shift = starts + partitions;                                   // from there to `out`
  u16* digits = reinterpret_cast<u16*>(shift + partitions);           // of the ranked tile
  const u64 first = u64(blockIdx.x) * kScatterRows;
  const u32 count = u32(min(u64(kScatterRows), p.rows.count - first));
  const u32 key_words = p.shape.key_bytes / 8;

#pragma unroll 1
  for (u32 i = threadIdx.x; i < partitions; i += kScatterThreads) starts[i] = 0;
  __syncthreads();  // counts are 0

  u32 position[kRowsPerThread];  // the partition and the rank in it, then where in the ranked tile
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row < count) position[i] = partition_of(Key::load(p.rows.keys, first + row, key_words).hash(p.seed), p.radix_bits);
  }
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row < count) position[i] = position[i] << kRankBits | atomicAdd(starts + position[i], 1u);
  }
  __syncthreads();  // counts have all rows

  u32 before = 0;
#pragma unroll 1
  for (u32 base = 0; base < partitions; base += kScatterThreads) {
    const u32 i = base + threadIdx.x;
    const u32 mine = i < partitions ? starts[i] : 0;
    u32 total;
    const u32 start = before + block_scan(mine, &total);
    if (i < partitions) {
      starts[i] = start;
      if (mine != 0) shift[i] = u32(atomicAdd(p.cursors + i, u64(mine))) - start;
    }
    before += total;
  }
  __syncthreads();  // starts and shifts are there

#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row >= count) continue;
    const u32 digit = position[i] >> kRankBits;
    position[i] = starts[digit] + (position[i] & (kScatterRows - 1));
    digits[position[i]] = u16(digit);
  }
  __syncthreads();  // digits are there
  u32 to[kRowsPerThread];
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 row = i * kScatterThreads + threadIdx.x;
    if (row < count) to[i] = shift[digits[row]] + row;
  }

  if (Key::kBytes == 4) {
    scatter_column(static_cast<const u32*>(p.rows.keys) + first, static_cast<u32*>(p.out.keys),
                   reinterpret_cast<u32*>(stage), position, to, count);
  } else if (Key::kBytes == 8) {
    scatter_column(static_cast<const u64*>(p.rows.keys) + first, static_cast<u64*>(p.out.keys), stage, position, to, count);
  } else {
    // Rows of several words: where they go is told to those who read them.
    u32* target = reinterpret_cast<u32*>(stage);
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      const u32 row = i * kScatterThreads + threadIdx.x;
      if (row < count) target[row] = to[i];
    }
    __syncthreads();  // targets are there
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      const u32 row = i * kScatterThreads + threadIdx.x;
      if (row < count) Key::load(p.rows.keys, first + row, key_words).store(p.out.keys, target[position[i]]);
    }
    __syncthreads();  // the stage may be filled again
  }

#pragma unroll 1
  for (u32 c = 0; c < p.shape.num_columns; c++) {
    if (p.shape.column_bytes[c] == 4) {
      scatter_column(static_cast<const u32*>(p.rows.columns[c]) + first, static_cast<u32*>(p.out.columns[c]),
                     reinterpret_cast<u32*>(stage), position, to, count);
    } else if (p.shape.column_bytes[c] == 8) {
      scatter_column(static_cast<const u64*>(p.rows.columns[c]) + first, static_cast<u64*>(p.out.columns[c]), stage, position, to, count);
    } else {
      // 16 bytes: the low words of the column, then the high ones.
      u32* target = reinterpret_cast<u32*>(stage);
#pragma unroll
      for (u32 i = 0; i < kRowsPerThread; i++) {
        const u32 row = i * kScatterThreads + threadIdx.x;
        if (row < count) target[row] = to[i];
      }
      __syncthreads();  // targets are there
#pragma unroll
      for (u32 i = 0; i < kRowsPerThread; i++) {
        const u32 row = i * kScatterThreads + threadIdx.x;
        if (row < count) {
          static_cast<ulonglong2*>(p.out.columns[c])[target[position[i]]] = static_cast<const ulonglong2*>(p.rows.columns[c])[first + row];
        }
      }
      __syncthreads();  // the stage may be filled again
    }
    if (p.rows.valid[c] == nullptr || p.out.valid[c] == nullptr) continue;
    u32* target = reinterpret_cast<u32*>(stage);
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      const u32 row = i * kScatterThreads + threadIdx.x;
      if (row < count) target[row] = to[i];
    }
    __syncthreads();  // targets are there
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      const u32 row = i * kScatterThreads + threadIdx.x;
      if (row < count && is_valid(p.rows.valid[c], first + row)) {
        const u32 at = target[position[i]];
        atomicOr(p.out.valid[c] + at / 32, 1u << (at % 32));
      }
    }
    __syncthreads();  // the stage may be filled again
  }
}

extern "C" __global__ void __launch_bounds__(kScatterThreads) partition_scatter_k4(const __grid_constant__ Launch p) { partition_scatter<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kScatterThreads) partition_scatter_k8(const __grid_constant__ Launch p) { partition_scatter<Key8>(p); }
extern "C" __global__ void __launch_bounds__(kScatterThreads) partition_scatter_kn(const __grid_constant__ Launch p) { partition_scatter<KeyN>(p); }
