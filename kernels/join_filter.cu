// A Bloom filter of the build rows' keys, of words of 32 bits: a key sets four bits of one word (Putze, Sanders,
// Singler, 2007, blocked), so that a test is one look.
//
//   launch  any grid of whole warps
//   fill    reads  build     writes  filter, zeros before
//   test    reads  probe, filter     writes  passed: whole words; adds to status.pairs, how many passed
#include "join.cuh"

__device__ __forceinline__ u32 bits_of(u64 hash) {
  return 1u << (hash & 31) | 1u << (hash >> 5 & 31) | 1u << (hash >> 10 & 31) | 1u << (hash >> 15 & 31);
}
__device__ __forceinline__ u64 word_of(const JoinLaunch& p, u64 hash) { return __umul64hi(hash, p.filter_words); }

template <class Key>
__device__ __forceinline__ void filter_fill(const JoinLaunch& p) {
  const u64 step = u64(gridDim.x) * blockDim.x;
  for (u64 row = u64(blockIdx.x) * blockDim.x + threadIdx.x; row < p.build.count; row += step) {
    if (!has_key(p.build, row)) continue;
    const u64 hash = Key::load(p.build.keys, row, p.key_bytes / 8).hash(0);
    u32* const word = p.filter + word_of(p, hash);
    if ((~*static_cast<volatile u32*>(word) & bits_of(hash)) != 0) atomicOr(word, bits_of(hash));
  }
}

template <class Key>
__device__ __forceinline__ void filter_test(const JoinLaunch& p) {
  const u64 step = u64(gridDim.x) * blockDim.x, rows = (p.probe.count + 31) / 32 * 32;
  u64 passed = 0;
  for (u64 row = u64(blockIdx.x) * blockDim.x + threadIdx.x; row < rows; row += step) {
    bool passes = row < p.probe.count && has_key(p.probe, row);
    if (passes) {
      const u64 hash = Key::load(p.probe.keys, row, p.key_bytes / 8).hash(0);
      passes = (~__ldg(p.filter + word_of(p, hash)) & bits_of(hash)) == 0;
    }
    const u32 word = __ballot_sync(kAllLanes, passes);
    if (lane_id() == 0) {
      p.passed[row / 32] = word;
      passed += u64(__popc(word));
    }
  }
  const u64 sum = block_sum(passed);
  if (threadIdx.x == 0 && sum != 0) atomicAdd(&p.status->pairs, sum);
}

#define MPGA_KERNEL(name, Key)                                                                                               \
  extern "C" __global__ void __launch_bounds__(kJoinThreads) join_filter_fill_##name(const __grid_constant__ JoinLaunch p) { \
    filter_fill<Key>(p);                                                                                                     \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(kJoinThreads) join_filter_test_##name(const __grid_constant__ JoinLaunch p) { \
    filter_test<Key>(p);                                                                                                     \
  }
MPGA_KERNEL(k4, Key4)
MPGA_KERNEL(k8, Key8)
MPGA_KERNEL(kn, KeyN)
