// Appends the pairs of sorted sides: of each probe row, the build rows from its lower bound to its upper one. Where
// keys are unique the row at the lower bound is the only one, if it has the key.
//
//   launch  any grid; kJoinThreads threads
//   reads   lower, upper, both sides     writes  pairs, matched; adds to status.pairs
#include "join.cuh"

template <class Word>
__device__ __forceinline__ void join_ranges(const JoinLaunch& p) {
  constexpr u64 kTile = kJoinThreads * kJoinRows;
  for (u64 tile = blockIdx.x * kTile; tile < p.probe.count; tile += gridDim.x * kTile) {
    u32 begin[kJoinRows], end[kJoinRows];
    u64 counts[kJoinRows], places[kJoinRows];
#pragma unroll
    for (u32 i = 0; i < kJoinRows; i++) {
      const u64 row = tile + i * kJoinThreads + threadIdx.x;
      counts[i] = begin[i] = end[i] = 0;
      if (row >= p.probe.count) continue;
      begin[i] = p.lower[row];
      if (p.upper != nullptr) {
        end[i] = p.upper[row];
      } else {
        const bool has = begin[i] < p.build.count && static_cast<const Word*>(p.build.keys)[begin[i]] == static_cast<const Word*>(p.probe.keys)[row];
        end[i] = begin[i] + has;
      }
      if (p.matched != nullptr) {
        for (u32 b = begin[i]; b < end[i]; b++) mark(p.matched, called(p.build, b));
      }
      counts[i] = pairs_of(p.kind, u64(end[i] - begin[i]));
    }
    take_places<u64, kJoinRows>(counts, places, &p.status->pairs);
#pragma unroll
    for (u32 i = 0; i < kJoinRows; i++) {
      if (counts[i] == 0) continue;
      const u32 probe = called(p.probe, tile + i * kJoinThreads + threadIdx.x);
      if (begin[i] == end[i] || p.kind >= kJoinSemi) {
        append(p, places[i], kNoRow, probe);
        continue;
      }
      u64 at = places[i];
      for (u32 b = begin[i]; b < end[i] && at < p.capacity; b++) append(p, at++, called(p.build, b), probe);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kJoinThreads) join_ranges_k4(const __grid_constant__ JoinLaunch p) { join_ranges<u32>(p); }
extern "C" __global__ void __launch_bounds__(kJoinThreads) join_ranges_k8(const __grid_constant__ JoinLaunch p) { join_ranges<u64>(p); }
