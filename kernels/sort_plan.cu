// Turns the counts of a word's digits into where each digit begins, and leaves out the passes
// whose digit all keys share: a key of few significant bits costs few passes. The first pass over keys that are in
// place reads the rows; it is never left out, since nobody else would copy them.
//
//   launch  one block of kDigits threads
//   reads   plan.counts     writes  plan
#include "sort.cuh"

extern "C" __global__ void __launch_bounds__(kDigits) sort_plan(const __grid_constant__ SortLaunch p) {
  __shared__ u64 sums[kDigits];
  const bool in_place = keys_in_place(p);
  u32 side = in_place ? u32(kSortRows) : p.plan->side;
  for (u32 pass = 0; pass < p.passes; pass++) {
    u64* counts = p.plan->counts[p.first_pass + pass];
    const u64 own = counts[threadIdx.x];
    u64 sum = own;
    sums[threadIdx.x] = sum;
    for (u32 d = 1; d < kDigits; d *= 2) {
      __syncthreads();  // sums of the last step are written
      const u64 before = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
      __syncthreads();  // and read
      sum += before;
      sums[threadIdx.x] = sum;
    }
    counts[threadIdx.x] = sum - own;
    const bool needed = side == kSortRows && pass + 1 == p.passes;
    const bool shared = __syncthreads_or(own == p.count) && !needed;
    if (threadIdx.x == 0) {
      p.plan->skip[pass] = shared;
      p.plan->from[pass] = side;
    }
    if (!shared) side = side == 0;
  }
  if (threadIdx.x == 0) p.plan->side = side;
}
