// Appends build rows by their bits: those without a match, beside no probe row, or those with one.
//
//   launch  any grid; kJoinThreads threads
//   reads   build, matched     writes  pairs; adds to status.pairs
//
// Without out_probe only the build rows are written.
#include "join.cuh"

extern "C" __global__ void __launch_bounds__(kJoinThreads) join_rest(const __grid_constant__ JoinLaunch p) {
  constexpr u64 kTile = kJoinThreads * kJoinRows;
  for (u64 tile = blockIdx.x * kTile; tile < p.build.count; tile += gridDim.x * kTile) {
    u32 counts[kJoinRows];
    u64 places[kJoinRows];
#pragma unroll
    for (u32 i = 0; i < kJoinRows; i++) {
      const u64 row = tile + i * kJoinThreads + threadIdx.x;
      counts[i] = row < p.build.count && bit_of(p.matched, called(p.build, row)) == (p.listed != 0);
    }
    take_places<u32, kJoinRows>(counts, places, &p.status->pairs);
#pragma unroll
    for (u32 i = 0; i < kJoinRows; i++) {
      if (counts[i] == 0 || places[i] >= p.capacity) continue;
      p.out_build[places[i]] = called(p.build, tile + i * kJoinThreads + threadIdx.x);
      if (p.out_probe != nullptr) p.out_probe[places[i]] = kNoRow;
    }
  }
}
