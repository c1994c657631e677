// Finds where the keys of sorted probe rows begin, or end, among sorted build rows, by Merge Path (Green, McColl,
// Bader, 2012): every block merges kMergeTile rows of both sides, whatever their keys are.
//
//   launch  a block of kJoinThreads threads for each kMergeTile rows of both sides
//   reads   keys of both sides     writes  lower, or upper
//
//   merged rows:  | tile | tile | ...   a tile is build rows [b, b') and probe rows [s, s')
//
// A probe row comes before build rows of its key where bounds are lower, and behind them where they are upper, so that
// the build rows before it are its bound.
#include "join.cuh"

template <class Word, bool kUpper>
__device__ __forceinline__ bool is_before(Word build, Word probe) { return kUpper ? build <= probe : build < probe; }

// How many of the first build rows are among the first rows of the merged sides.
template <class Word, bool kUpper>
__device__ __forceinline__ u64 split(const JoinLaunch& p, u64 rows) {
  const Word *build = static_cast<const Word*>(p.build.keys), *probe = static_cast<const Word*>(p.probe.keys);
  u64 low = rows > p.probe.count ? rows - p.probe.count : 0, high = min(rows, p.build.count);
  while (low < high) {
    const u64 middle = (low + high) / 2;
    if (is_before<Word, kUpper>(build[middle], probe[rows - 1 - middle])) low = middle + 1; else high = middle;
  }
  return low;
}

template <class Word, bool kUpper>
__device__ __forceinline__ void bound(const JoinLaunch& p, Word* keys, u32* bounds) {
  __shared__ u64 splits[2];
  const u64 begin = u64(blockIdx.x) * kMergeTile, end = min(begin + kMergeTile, p.build.count + p.probe.count);
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) splits[threadIdx.x / 32] = split<Word, kUpper>(p, threadIdx.x == 0 ? begin : end);
  __syncthreads();  // the ends of the tile are known
  const u64 first = splits[0], last = splits[1];
  const u32 count = u32(last - first);
  for (u32 i = threadIdx.x; i < count; i += kJoinThreads) keys[i] = static_cast<const Word*>(p.build.keys)[first + i];
  __syncthreads();  // the tile's build rows are there
  for (u64 row = begin - first + threadIdx.x; row < end - last; row += kJoinThreads) {
    const Word key = static_cast<const Word*>(p.probe.keys)[row];
    u32 low = 0, high = count;
    while (low < high) {
      const u32 middle = (low + high) / 2;
      if (is_before<Word, kUpper>(keys[middle], key)) low = middle + 1; else high = middle;
    }
    bounds[row] = u32(first + low);
  }
}

template <class Word>
__device__ __forceinline__ void join_bounds(const JoinLaunch& p) {
  __shared__ Word keys[kMergeTile];  // of the tile's build rows
  if (p.is_upper) bound<Word, true>(p, keys, p.upper); else bound<Word, false>(p, keys, p.lower);
}

extern "C" __global__ void __launch_bounds__(kJoinThreads) join_bounds_k4(const __grid_constant__ JoinLaunch p) { join_bounds<u32>(p); }
extern "C" __global__ void __launch_bounds__(kJoinThreads) join_bounds_k8(const __grid_constant__ JoinLaunch p) { join_bounds<u64>(p); }
