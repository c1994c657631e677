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

// Where the rows of a tile go. Thread t has rows t, t + kScatterThreads and so on of the tile, and of
// the tile in order of partitions. Whole: the tile is full, so that no row is asked for.
template <bool kWhole>
struct Tile {
  u32 count;
  u32 position[kRowsPerThread];  // in order of partitions, of a row
  u32 to[kRowsPerThread];        // in `out`, of a row in order of partitions

  static __device__ __forceinline__ u32 row(u32 i) { return i * kScatterThreads + threadIdx.x; }
  __device__ __forceinline__ bool has(u32 i) const { return kWhole || row(i) < count; }

  // Moves one column of words of T through shared memory to where its rows go.
  template <class T>
  __device__ __forceinline__ void move(const void* in, u64 first, void* out, u64* stage) const {
    const T* from = static_cast<const T*>(in) + first;
    T* into = static_cast<T*>(out);
    T* words = reinterpret_cast<T*>(stage);
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (has(i)) words[position[i]] = from[row(i)];
    }
    __syncthreads();  // the stage is full
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (has(i)) into[to[i]] = words[row(i)];
    }
    __syncthreads();  // the stage may be filled again
  }

  // Tells where row i goes to the thread that has it: for what is too wide for the stage.
  template <class Move>
  __device__ __forceinline__ void move_each(u64* stage, Move move) const {
    u32* target = reinterpret_cast<u32*>(stage);
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (has(i)) target[row(i)] = to[i];
    }
    __syncthreads();  // targets are there
#pragma unroll
    for (u32 i = 0; i < kRowsPerThread; i++) {
      if (has(i)) move(row(i), target[position[i]]);
    }
    __syncthreads();  // the stage may be filled again
  }
};

template <class Key, bool kWhole>
__device__ __forceinline__ void scatter_tile(const Launch& p, u64 first, u32 count) {
  extern __shared__ u64 shared[];
  const u32 partitions = 1u << p.radix_bits;
  u64* stage = shared;                                         // kScatterRows
  u32* starts = reinterpret_cast<u32*>(stage + kScatterRows);  // counts, then where in the tile
  u32* shift = starts + partitions;                            // from there to `out`
  u16* digits = reinterpret_cast<u16*>(shift + partitions);    // of the rows in order of partitions
  const u32 key_words = p.shape.key_bytes / 8;
  Tile<kWhole> tile;
  tile.count = count;

#pragma unroll 1
  for (u32 i = threadIdx.x; i < partitions; i += kScatterThreads) starts[i] = 0;
  __syncthreads();  // counts are 0

  // The partition and the rank in it, then where in order of partitions.
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (tile.has(i)) tile.position[i] = partition_of(Key::load(p.rows.keys, first + tile.row(i), key_words).hash(p.seed), p.radix_bits);
  }
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (tile.has(i)) tile.position[i] = tile.position[i] << kRankBits | atomicAdd(starts + tile.position[i], 1u);
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
    if (!tile.has(i)) continue;
    const u32 digit = tile.position[i] >> kRankBits;
    tile.position[i] = starts[digit] + (tile.position[i] & (kScatterRows - 1));
    digits[tile.position[i]] = u16(digit);
  }
  __syncthreads();  // digits are there
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (tile.has(i)) tile.to[i] = shift[digits[tile.row(i)]] + tile.row(i);
  }

  if (Key::kBytes == 4) {
    tile.template move<u32>(p.rows.keys, first, p.out.keys, stage);
  } else if (Key::kBytes == 8) {
    tile.template move<u64>(p.rows.keys, first, p.out.keys, stage);
  } else {
    tile.move_each(stage, [&](u32 row, u32 to) { Key::load(p.rows.keys, first + row, key_words).store(p.out.keys, to); });
  }
#pragma unroll 1
  for (u32 c = 0; c < p.shape.num_columns; c++) {
    const void* in = p.rows.columns[c];
    void* out = p.out.columns[c];
    if (p.shape.column_bytes[c] == 4) {
      tile.template move<u32>(in, first, out, stage);
    } else if (p.shape.column_bytes[c] == 8) {
      tile.template move<u64>(in, first, out, stage);
    } else {
      tile.move_each(stage, [&](u32 row, u32 to) {
        static_cast<ulonglong2*>(out)[to] = static_cast<const ulonglong2*>(in)[first + row];
      });
    }
    if (p.rows.valid[c] == nullptr || p.out.valid[c] == nullptr) continue;
    tile.move_each(stage, [&](u32 row, u32 to) {
      if (is_valid(p.rows.valid[c], first + row)) atomicOr(p.out.valid[c] + to / 32, 1u << (to % 32));
    });
  }
}

template <class Key>
__device__ __forceinline__ void partition_scatter(const Launch& p) {
  const u64 first = u64(blockIdx.x) * kScatterRows, left = p.rows.count - first;
  if (left >= kScatterRows) {
    scatter_tile<Key, true>(p, first, kScatterRows);
  } else {
    scatter_tile<Key, false>(p, first, u32(left));
  }
}

extern "C" __global__ void __launch_bounds__(kScatterThreads, 2) partition_scatter_k4(const __grid_constant__ Launch p) { partition_scatter<Key4>(p); }
extern "C" __global__ void __launch_bounds__(kScatterThreads, 2) partition_scatter_k8(const __grid_constant__ Launch p) { partition_scatter<Key8>(p); }
extern "C" __global__ void __launch_bounds__(kScatterThreads, 2) partition_scatter_kn(const __grid_constant__ Launch p) { partition_scatter<KeyN>(p); }
