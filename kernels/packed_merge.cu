// Merges groups into the table of packed slots. Those that find no slot go to `groups`, if it has keys, in no order.
//
//   launch  any grid; at most 1024 threads
//   reads   in[0, rows.count)    writes  table; groups, if it has keys; status: rows, overflow (groups that found no slot), probes
#include "aggregate.cuh"
#include "packed.cuh"
#include "refuse.cuh"

extern "C" __global__ void __launch_bounds__(1024) packed_merge(const __grid_constant__ PackedLaunch p) {
  const Launch& l = p.launch;
  const PackedTable table(p);
  const u64 threads = u64(gridDim.x) * blockDim.x;
  Tally tally = {};
#pragma unroll 1
  for (u64 group = u64(blockIdx.x) * blockDim.x + threadIdx.x; group < l.rows.count; group += threads) {
    const u32 key = Key4::load(l.in.keys, group, 0).value;
    if (!table.take<false>(key, i64(l.in.states[0][group]), tally.did)) refuse_group<Key4>(l, group);
  }
  __syncwarp();  // after the searches
  report(l, tally);
}
