// Gathers columns by numbers of rows: clustered where the numbers are nearly in order, and unclustered where they are
// not. A number is read once for all columns. No row gives 0, and NULL where there is a bitmap.
//
//   launch  any grid; kJoinThreads threads
//   reads   numbers, columns     writes  columns' to; to_valid: whole words
#include "join.cuh"

template <class T>
__device__ __forceinline__ void gather(const GatherColumn& c, const u32* rows, u64 first, u64 count) {
  const T* from = static_cast<const T*>(c.from);
  T* to = static_cast<T*>(c.to);
  T values[kGatherRows];
#pragma unroll
  for (u32 i = 0; i < kGatherRows; i++) {
    values[i] = T{};
    if (rows[i] != kNoRow) values[i] = from[rows[i]];
  }
#pragma unroll
  for (u32 i = 0; i < kGatherRows; i++) {
    if (first + i * kJoinThreads < count) to[first + i * kJoinThreads] = values[i];
  }
}

__device__ __forceinline__ void gather_valid(const GatherColumn& c, const u32* rows, u64 first, u64 count) {
#pragma unroll
  for (u32 i = 0; i < kGatherRows; i++) {
    const bool valid = rows[i] != kNoRow && (c.from_valid == nullptr || bit_of(c.from_valid, rows[i]));
    const u32 word = __ballot_sync(kAllLanes, valid);
    const u64 at = first + i * kJoinThreads;
    if (lane_id() == 0 && at < count) c.to_valid[at / 32] = word;
  }
}

extern "C" __global__ void __launch_bounds__(kJoinThreads) gather_rows(const __grid_constant__ GatherLaunch p) {
  constexpr u64 kTile = kJoinThreads * kGatherRows;
  const u64 count = p.counted == nullptr ? p.count : min(p.count, *p.counted);
  for (u64 tile = blockIdx.x * kTile; tile < count; tile += gridDim.x * kTile) {
    const u64 first = tile + threadIdx.x;
    u32 rows[kGatherRows];
#pragma unroll
    for (u32 i = 0; i < kGatherRows; i++) {
      rows[i] = first + i * kJoinThreads < count ? p.numbers[first + i * kJoinThreads] : kNoRow;
    }
#pragma unroll 1
    for (u32 c = 0; c < p.num_columns; c++) {
      const GatherColumn& column = p.columns[c];
      switch (column.bytes) {
        case 4: gather<u32>(column, rows, first, count); break;
        case 8: gather<u64>(column, rows, first, count); break;
        default: gather<ulonglong2>(column, rows, first, count);
      }
      if (column.to_valid != nullptr) gather_valid(column, rows, first, count);
    }
  }
}
