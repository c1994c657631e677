// Writes rows of a 4-byte key and a 4-byte value by partition as pairs of 8 bytes, the key first, so
// that a run of rows is twice as long as in two columns.
//
//   launch  as partition_scatter
//   reads   rows, of pairs (at rows.keys) in a second pass; tiles and work, there
//   writes  out.keys: pairs; cursors: where the next pair of each partition goes
#include "scatter.cuh"

template <bool kFromPairs>
__device__ __forceinline__ u64 load_pair(const Rows& rows, u64 row) {
  if (kFromPairs) return static_cast<const u64*>(rows.keys)[row];
  return static_cast<const u32*>(rows.keys)[row] | u64(static_cast<const u32*>(rows.columns[0])[row]) << 32;
}

// Computed again where it is wanted again, for want of registers.
__device__ __forceinline__ u32 digit_of_pair(const Launch& p, u64 pair) { return digit_of(p, Key4{u32(pair)}.hash(p.seed)); }

template <bool kFromPairs, bool kWhole>
__device__ __forceinline__ void scatter_tile(const Launch& p, const Part& part) {
  extern __shared__ u64 stage[];
  Order<kWhole> order(p, part.count, stage);
  const u64 own = part.first + order.row(0);
  u64 pairs[kRowsPerThread];
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (order.has(i)) pairs[i] = load_pair<kFromPairs>(p.rows, own + i * 32);
  }
  Halves ranks;
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) ranks.set(i, order.has(i) ? order.rank(digit_of_pair(p, pairs[i])) : 0);
  order.settle(p, part.cursors);
#pragma unroll
  for (u32 i = 0; i < kRowsPerThread; i++) {
    if (order.has(i)) stage[order.starts[digit_of_pair(p, pairs[i])] + ranks.get(i)] = pairs[i];
  }
  __syncthreads();  // the stage has the pairs in order
  u64* out = static_cast<u64*>(p.out.keys);
#pragma unroll 4
  for (u32 i = 0; i < kRowsPerThread; i++) {
    const u32 at = order.out(i);
    if (!kWhole && at >= part.count) continue;
    const u64 pair = stage[at];
    out[order.shifts[digit_of_pair(p, pair)] + at] = pair;
  }
}

template <bool kFromPairs>
__device__ __forceinline__ void partition_pairs(const Launch& p) {
  const Part part(p);
  if (part.count == p.tile_rows) {
    scatter_tile<kFromPairs, true>(p, part);
  } else if (part.count > 0) {
    scatter_tile<kFromPairs, false>(p, part);
  }
}

extern "C" __global__ void __launch_bounds__(1024, 1) partition_pairs_first(const __grid_constant__ Launch p) { partition_pairs<false>(p); }
extern "C" __global__ void __launch_bounds__(1024, 1) partition_pairs_second(const __grid_constant__ Launch p) { partition_pairs<true>(p); }
