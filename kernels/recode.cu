// Gives codes the entries of a table in their place.
//
//   launch  blocks of kRecodeThreads, which go over all codes
//   reads   codes, table    writes  codes
#include "params_recode.h"

extern "C" __global__ void __launch_bounds__(kRecodeThreads) recode(const __grid_constant__ RecodeLaunch p) {
  for (u64 i = u64(blockIdx.x) * kRecodeThreads + threadIdx.x; i < p.count; i += u64(gridDim.x) * kRecodeThreads) {
    const u32 code = p.codes[i];
    p.codes[i] = code < p.entries ? p.table[code] : 0;
  }
}
