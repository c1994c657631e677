// Widens the exponents of the columns of exact sums by those of rows.
//
//   launch  any grid; any block
//   reads   rows    writes  exponents: raised
#include "block.cuh"
#include "exact.cuh"
#include "state.cuh"

extern "C" __global__ void exponents(const __grid_constant__ Launch p) {
  const u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x, step = u64(gridDim.x) * blockDim.x;
  Exponents* to = p.exponents;
#pragma unroll 1
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    const Fold& fold = p.shape.folds[f];
    if (fold.op != kSumExact) continue;
    const u64* values = static_cast<const u64*>(p.rows.columns[fold.column]);
    const u32* valid = p.rows.valid[fold.column];
    u32 high = 0, low = 0, special = 0;
#pragma unroll 1
    for (u64 row = first; row < p.rows.count; row += step) {
      const Exact x = to_exact(values[row]);
      if (x.mantissa == 0 || !is_valid(valid, row)) continue;
      special |= x.special;
      high = max(high, u32(x.place + 64 - __clzll(i64(x.mantissa))));
      low = max(low, u32(kExactPlaces - (x.place + __ffsll(i64(x.mantissa)) - 1)));
    }
#pragma unroll
    for (u32 d = 16; d > 0; d /= 2) {
      high = max(high, __shfl_xor_sync(kAllLanes, high, d));
      low = max(low, __shfl_xor_sync(kAllLanes, low, d));
      special |= __shfl_xor_sync(kAllLanes, special, d);
    }
    if (lane_id() == 0) {
      if (high > 0) atomicMax(&to->high, high);
      if (low > 0) atomicMax(&to->low, low);
      if (special != 0) atomicOr(&to->special, special);
    }
    to++;
  }
}
