// Inserts rows into the table of packed slots. Rows of a key that it refuses go to `out`, in no order; none is
// dropped: accumulated + status.overflow == rows.count. A sealed table takes rows of the keys that it has.
//
//   launch  any grid; at most 1024 threads
//   reads   rows    writes  table; out, if it has keys; status: rows, overflow, probes
//
// Rows of one key are added up within a warp first: a heavy key costs one atomic a warp.
#include "aggregate.cuh"
#include "combine.cuh"
#include "packed.cuh"
#include "refuse.cuh"
#include "warp_rows.cuh"

// What a row adds to its group: row_state of the folds that there are.
__device__ __forceinline__ u64 packed_value(const Fold& fold, const Rows& rows, u64 row) {
  if (fold.column < 0) return 1;
  if (!is_valid(rows.valid[fold.column], row)) return 0;
  return fold.op == kCount ? 1 : load_word(fold.type, rows.columns[fold.column], row);
}

template <bool kSealed>
__device__ __forceinline__ void insert_packed(const PackedLaunch& p) {
  const Launch& l = p.launch;
  const PackedTable table(p);
  const Fold& fold = l.shape.folds[0];
  const u64 threads = u64(gridDim.x) * blockDim.x;
  Tally tally = {};
#pragma unroll 1
  for (u64 tile = u64(blockIdx.x) * blockDim.x; tile < l.rows.count; tile += threads) {
    const u64 row = tile + threadIdx.x;
    const bool has = row < l.rows.count;
    u32 key = 0;
    u64 value = 0;
    if (has) {
      key = Key4::load(l.rows.keys, row, 0).value;
      value = packed_value(fold, l.rows, row);
    }
    const u32 rows = __ballot_sync(kAllLanes, has), same = __match_any_sync(kAllLanes, key);
    const u32 peers = has ? same & rows : 1u << lane_id();
    const bool alone = (peers & (peers - 1)) == 0, all_alone = __all_sync(kAllLanes, alone);
    if (!all_alone) combine_peers<1>(fold, peers, &value);
    const u32 leader = u32(__ffs(peers)) - 1;
    bool refused = false;
    if (has && lane_id() == leader) refused = !table.take<kSealed>(key, i64(value), tally.did);
    __syncwarp();  // after the search
    if (!all_alone) refused = __shfl_sync(kAllLanes, refused, leader);
    refuse_rows<Key4>(l, row, refused);
  }
  report(l, tally);
}

extern "C" __global__ void __launch_bounds__(1024) packed_insert(const __grid_constant__ PackedLaunch p) { insert_packed<false>(p); }
extern "C" __global__ void __launch_bounds__(1024) packed_insert_sealed(const __grid_constant__ PackedLaunch p) { insert_packed<true>(p); }
