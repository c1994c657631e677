// How a block brings a tile of rows into the order of their partitions, and where they go from there:
// rows are ranked by partition in shared memory, and the tile takes room behind the partitions'
// cursors. Large tiles are what makes this fast: a run of rows of one partition should be longer than
// the sectors that memory is written in.
//
//   | stage: tile_rows of 8 bytes | starts and shifts of partitions | what else the kernel needs |
#ifndef MPGA_KERNELS_SCATTER_CUH
#define MPGA_KERNELS_SCATTER_CUH

#include "block.cuh"
#include "key.cuh"

constexpr u32 kRowsPerThread = 16;
constexpr u32 kRankBits = 14;
constexpr u32 kRankMask = (1u << kRankBits) - 1;
static_assert(1024 * kRowsPerThread <= 1 << kRankBits, "a rank must fit beside the partition");

// The rows of a block.
struct Part {
  u64 first;
  u32 count;
  u64* cursors;  // of the partitions that they go to

  __device__ __forceinline__ explicit Part(const Launch& p) : first(u64(blockIdx.x) * p.tile_rows), cursors(p.cursors) {
    if (p.tiles == nullptr) {
      count = u32(min(p.rows.count - first, u64(p.tile_rows)));
    } else if (blockIdx.x < p.work->num_tiles) {
      const Tile tile = p.tiles[blockIdx.x];
      first = tile.begin;
      count = tile.count;
      cursors += u64(tile.partition) << p.digit_bits;
    } else {
      count = 0;
    }
  }
};

// Which of the partitions that a block tells apart a row goes to.
__device__ __forceinline__ u32 digit_of(const Launch& p, u64 hash) {
  return partition_of(hash, p.radix_bits) & ((1u << p.digit_bits) - 1);
}

// A warp has neighbouring rows, 32 at a time, so that a thread's are at constant distances. Whole: the
// tile is full, so that no row is asked for.
template <bool kWhole>
struct Order {
  u32 count;
  u32* starts;  // of digits: counts, then where in the tile
  u32* shifts;  // from there to the output

  __device__ __forceinline__ Order(const Launch& p, u32 rows, u64* stage)
      : count(rows), starts(reinterpret_cast<u32*>(stage + p.tile_rows)), shifts(starts + (1u << p.digit_bits)) {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 1u << p.digit_bits; i += blockDim.x) starts[i] = 0;
    __syncthreads();  // counts are 0
  }

  static __device__ __forceinline__ u32 row(u32 i) { return threadIdx.x / 32 * (32 * kRowsPerThread) + lane_id() + i * 32; }
  __device__ __forceinline__ bool has(u32 i) const { return kWhole || row(i) < count; }

  // The rows in order of digits that a thread writes: the block writes neighbouring ones at a time.
  static __device__ __forceinline__ u32 out(u32 i) { return i * blockDim.x + threadIdx.x; }

  // The rank of one row more among those of its digit.
  __device__ __forceinline__ u32 rank(u32 digit) { return atomicAdd(starts + digit, 1u); }

  // Takes room for the tile, when all its rows are ranked.
  __device__ __forceinline__ void settle(const Launch& p, u64* cursors) {
    __syncthreads();  // counts have all rows
    const u32 digits = 1u << p.digit_bits;
    u32 before = 0;
#pragma unroll 1
    for (u32 base = 0; base < digits; base += blockDim.x) {
      const u32 i = base + threadIdx.x;
      const u32 mine = i < digits ? starts[i] : 0;
      const u32 to = mine != 0 ? u32(atomicAdd(cursors + i, u64(mine))) : 0;  // under way during the scan
      u32 total;
      const u32 start = before + block_scan(mine, &total);
      if (i < digits) {
        starts[i] = start;
        shifts[i] = to - start;
      }
      before += total;
    }
    __syncthreads();  // starts and shifts are there
  }
};

// Two numbers below 2^16 a word, for want of registers.
struct Halves {
  u32 words[kRowsPerThread / 2];
  static_assert(kRankBits <= 16, "a rank must fit half a word");

  __device__ __forceinline__ u32 get(u32 i) const { return words[i / 2] >> (i % 2 * 16) & 0xffff; }
  __device__ __forceinline__ void set(u32 i, u32 value) { words[i / 2] = i % 2 == 0 ? value : words[i / 2] | value << 16; }
};

#endif
