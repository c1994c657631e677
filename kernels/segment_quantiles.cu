// Finds the values at a quantile of each group, whose rows are in order of their values, NULLs last.
//
//   launch  any grid; kSegmentThreads threads, of which each takes groups
//   reads   order, starts, rows, status     writes  groups.states of one fold
//
// Requires: segment_reduce before.
#include "params_sorted.h"
#include "state.cuh"

// Where the quantile lies among n values in order, from 0 on. Products and differences are rounded each, as
// the host's are.
__device__ inline u64 quantile_at(u32 op, double fraction, u64 n) {
  const double all = double(n);
  if (op == kQuantileCont) return u64(floor(__dmul_rn(fraction, all - 1)));
  const u64 above = u64(floor(__dadd_rn(all, -__dmul_rn(fraction, all))));
  return n > above ? n - above - 1 : 0;
}

// How many of so many rows, from one on in the order, have values.
__device__ inline u64 count_valid(const u32* valid, const u32* rows, u64 n) {
  if (valid == nullptr) return n;
  u64 low = 0;
  while (low < n) {
    const u64 mid = (low + n) / 2;
    if (is_valid(valid, rows[mid])) {
      low = mid + 1;
    } else {
      n = mid;
    }
  }
  return n;
}

extern "C" __global__ void __launch_bounds__(kSegmentThreads) segment_quantiles(const __grid_constant__ SortLaunch p) {
  const Fold& fold = p.shape.folds[p.fold];
  const void* column = p.rows.columns[fold.column];
  const u32* order = p.order[p.plan->side];
  const u64 found = p.groups.status->groups, groups = found < p.groups.capacity ? found : p.groups.capacity;
  const u64 first = u64(blockIdx.x) * kSegmentThreads + threadIdx.x, step = u64(gridDim.x) * kSegmentThreads;
  for (u64 g = first; g < groups; g += step) {
    const u64 begin = p.starts[g], end = g + 1 < found ? p.starts[g + 1] : p.count;
    const u32* rows = order + begin;
    const u64 n = count_valid(p.rows.valid[fold.column], rows, end - begin);
    u64* state = p.groups.states[p.fold] + g * fold.words;
    state[0] = n;
    state[1] = state[2] = 0;
    if (n == 0) continue;
    const u64 at = quantile_at(fold.op, p.fraction, n);
    const u64 next = fold.op == kQuantileCont && at + 1 < n ? at + 1 : at;
    state[1] = to_ordered(fold.type, load_word(fold.type, column, rows[at]));
    state[2] = to_ordered(fold.type, load_word(fold.type, column, rows[next]));
  }
}
