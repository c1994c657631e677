// Numbers rows: out's first column becomes 0, 1, 2, ...
//
//   launch  any grid    reads  rows.count    writes  out.columns[0]
#include "params.h"

extern "C" __global__ void __launch_bounds__(1024) number_rows(const __grid_constant__ Launch p) {
  const u64 first = u64(blockIdx.x) * blockDim.x + threadIdx.x, step = u64(gridDim.x) * blockDim.x;
  for (u64 i = first; i < p.rows.count; i += step) static_cast<u32*>(p.out.columns[0])[i] = u32(i);
}
