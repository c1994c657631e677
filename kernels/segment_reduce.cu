// Reduces runs of equal keys, in the order that the sort left, to groups, in one pass.
//
//   launch  a block of kSegmentThreads threads for each tile of kSegmentTile rows
//   reads   keys, order, rows     writes  groups, status, segments, starts
//
// The rows of a column that is moved are in order: their numbers are their places.
//
// A warp has consecutive rows, and each lane kSegmentSteps neighbours of them: it folds its rows one by one, and stores
// the groups that begin and end among them. What a lane has of a group that goes on behind its rows is carried to the
// lanes behind it by shuffles. A group that begins before the warp's rows, or goes on behind them, is merged into its
// state, which segment_begin has set: at most two atomic merges a warp and fold, whatever the keys.
//
// Requires: segment_begin before, segment_end after.
#include "block.cuh"
#include "combine.cuh"
#include "scan.cuh"
#include "sort.cuh"

static_assert(kSegmentSteps == 8, "a lane's heads are a byte");

// The rows of a lane. Rows beyond the last of all begin groups, which are nobody's.
struct LaneRows {
  u64 before;        // how many groups begin before them
  u32 count;         // of them
  u32 heads;         // a bit for each that begins a group
  u32 previous;      // the number of the row before them
  bool first;        // they are the warp's first: the row before them is another warp's
  bool ends;         // no row is behind them, or it begins a group
  const u32* rows;   // their numbers in the input, in shared memory
  const Rows* input;
};

template <class Word>
__device__ __forceinline__ bool same_word(const SortLaunch& p, u32 side, u64 i) {
  const Word* keys = static_cast<const Word*>(p.keys[side]);
  return keys[i] == keys[i - 1];
}

// Whether the i-th row has the key of the row before. Only the first word of a wide key is at hand.
__device__ inline bool same_key(const SortLaunch& p, u32 side, u64 i) {
  if (p.shape.key_bytes == 4) return same_word<u32>(p, side, i);
  if (!same_word<u64>(p, side, i)) return false;
  const u32 words = p.shape.key_bytes / 8;
  const u64* keys = static_cast<const u64*>(p.rows.keys);
  const u64 row = p.order[side][i], before = p.order[side][i - 1];
  for (u32 w = 1; w < words; w++) {
    if (keys[row * words + w] != keys[before * words + w]) return false;
  }
  return true;
}

__device__ inline void store_key(const SortLaunch& p, u32 side, u64 i, u32 row, u64 group) {
  if (p.shape.key_bytes == 4) {
    static_cast<u32*>(p.groups.keys)[group] = static_cast<const u32*>(p.keys[side])[i];
    return;
  }
  const u32 words = p.shape.key_bytes / 8;
  if (words == 1) {
    static_cast<u64*>(p.groups.keys)[group] = static_cast<const u64*>(p.keys[side])[i];
    return;
  }
  for (u32 w = 0; w < words; w++) {
    static_cast<u64*>(p.groups.keys)[group * words + w] = static_cast<const u64*>(p.rows.keys)[u64(row) * words + w];
  }
}

// Whether two rows have the same value.
__device__ inline bool same_value(const Fold& fold, const Rows& rows, u64 row, u64 other) {
  const void* column = rows.columns[fold.column];
  return to_ordered(fold.type, load_word(fold.type, column, row)) == to_ordered(fold.type, load_word(fold.type, column, other));
}

template <u32 kWords>
struct State {
  u64 w[kWords];

  __device__ __forceinline__ void clear(const Fold& fold) {
#pragma unroll
    for (u32 i = 0; i < kWords; i++) w[i] = identity(fold, i);
  }
  // Merges the state of the rows before these rows into this state.
  __device__ __forceinline__ void prepend(const Fold& fold, State earlier) {
    combine_state<kWords>(fold, earlier.w, w);
    *this = earlier;
  }
  __device__ __forceinline__ State shuffled_up(u32 by) const {
    State v;
#pragma unroll
    for (u32 i = 0; i < kWords; i++) v.w[i] = __shfl_up_sync(kAllLanes, w[i], by);
    return v;
  }
};

// Writes the state of a group, or, where it is a part of it, merges it. Groups are counted from 1.
template <u32 kWords>
__device__ __forceinline__ void put_state(const SortLaunch& p, u32 f, u64 group, const State<kWords>& s, bool whole) {
  if (group - 1 >= p.groups.capacity) return;
  u64* state = p.groups.states[f] + (group - 1) * kWords;
  if (whole) {
#pragma unroll
    for (u32 i = 0; i < kWords; i++) state[i] = s.w[i];
    return;
  }
  u64 partial[kWords];  // in memory, where a call can find it
#pragma unroll
  for (u32 i = 0; i < kWords; i++) partial[i] = s.w[i];
  merge_state(p.shape.folds[f], state, 1, partial);
}

// What a lane's rows add up to: the state of the rows before the first head, and the state of the rows from the last
// head on, or of all rows where none is a head. The groups in between are written.
template <u32 kWords>
struct LaneFold {
  State<kWords> head, tail;
  u64 group;  // how many groups have begun when the rows end

  __device__ __forceinline__ LaneFold(const Fold& fold, const LaneRows& in) : group(in.before) {
    head.clear(fold);
    tail.clear(fold);
  }
  // The group of the rows so far ends.
  __device__ __forceinline__ void end(const SortLaunch& p, const LaneRows& in, u32 f) {
    if (group == in.before) {
      head = tail;
    } else {
      put_state(p, f, group, tail, true);
    }
    tail.clear(p.shape.folds[f]);
  }
  // A row begins a group.
  __device__ __forceinline__ void begin(const SortLaunch& p, const LaneRows& in, u32 f) {
    end(p, in, f);
    group++;
  }
};

// Folds of any kind, row by row.
template <u32 kWords>
__device__ __forceinline__ void fold_rows(const SortLaunch& p, const LaneRows& in, u32 f, LaneFold<kWords>& lane) {
  const Fold& fold = p.shape.folds[f];
#pragma unroll 1
  for (u32 j = 0; j < in.count; j++) {
    if (in.heads >> j & 1) lane.begin(p, in, f);
    const u32 row = in.rows[j];
    // NULLs come last in a group: the row before a value has one, too.
    const bool counts = kWords > 1 || fold.op != kCountDistinct || in.heads >> j & 1 ||
                        !same_value(fold, *in.input, row, j > 0 ? in.rows[j - 1] : in.previous);
    u64 own[kStateWordsMax];
    if (counts && row_state(fold, *in.input, row, own)) combine_state<kWords>(fold, lane.tail.w, own);
  }
}

// Common folds, of values that are not NULL: all values of a lane are loaded before the first is waited for.

struct CountOf {
  static constexpr u32 kWords = 1;
  static __device__ __forceinline__ State<1> load(const Fold&, const void*, u32) { return {{1}}; }
  static __device__ __forceinline__ void combine(State<1>& s, const State<1>& v) { s.w[0] += v.w[0]; }
};

struct SumOf64 {
  static constexpr u32 kWords = 1;
  static __device__ __forceinline__ State<1> load(const Fold& fold, const void* column, u32 row) { return {{load_word(fold.type, column, row)}}; }
  static __device__ __forceinline__ void combine(State<1>& s, const State<1>& v) { s.w[0] += v.w[0]; }
};

struct SumOf128 {
  static constexpr u32 kWords = 2;
  static __device__ __forceinline__ State<2> load(const Fold& fold, const void* column, u32 row) {
    const u64 low = load_word(fold.type, column, row);
    return {{low, load_high(fold.type, column, row, low)}};
  }
  static __device__ __forceinline__ void combine(State<2>& s, const State<2>& v) {
    s.w[0] += v.w[0];
    s.w[1] += v.w[1] + (s.w[0] < v.w[0]);
  }
};

struct SumOfDoubles {
  static constexpr u32 kWords = 1;
  static __device__ __forceinline__ State<1> load(const Fold& fold, const void* column, u32 row) { return {{to_word(load_double(fold.type, column, row))}}; }
  static __device__ __forceinline__ void combine(State<1>& s, const State<1>& v) { combine_double(s.w, to_double(v.w[0])); }
};

template <bool kIsMax>
struct Extreme {
  static constexpr u32 kWords = 1;
  static __device__ __forceinline__ State<1> load(const Fold& fold, const void* column, u32 row) {
    return {{to_ordered(fold.type, load_word(fold.type, column, row))}};
  }
  static __device__ __forceinline__ void combine(State<1>& s, const State<1>& v) { s.w[0] = (v.w[0] > s.w[0]) == kIsMax ? v.w[0] : s.w[0]; }
};

template <class Common>
__device__ __forceinline__ void fold_values(const SortLaunch& p, const LaneRows& in, u32 f, LaneFold<Common::kWords>& lane) {
  const Fold& fold = p.shape.folds[f];
  const void* column = fold.column >= 0 ? in.input->columns[fold.column] : nullptr;
  State<Common::kWords> values[kSegmentSteps];
  u32 rows[kSegmentSteps];
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j += 4) *reinterpret_cast<uint4*>(rows + j) = *reinterpret_cast<const uint4*>(in.rows + j);
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j++) values[j] = Common::load(fold, column, rows[j]);  // of no row: of the first
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j++) {
    if (j >= in.count) continue;
    if (in.heads >> j & 1) lane.begin(p, in, f);
    Common::combine(lane.tail, values[j]);
  }
}

template <u32 kWords>
__device__ __forceinline__ void fold_lane(const SortLaunch& p, const LaneRows& in, u32 f, LaneFold<kWords>& lane) {
  const Fold& fold = p.shape.folds[f];
  if (fold.other < 0 && (fold.column < 0 || in.input->valid[fold.column] == nullptr)) {
    if constexpr (kWords == 1) {
      switch (fold.op) {
        case kCount: return fold_values<CountOf>(p, in, f, lane);
        case kSum64: return fold_values<SumOf64>(p, in, f, lane);
        case kSumFloat: return fold_values<SumOfDoubles>(p, in, f, lane);
        case kMin: return fold_values<Extreme<false>>(p, in, f, lane);
        case kMax: return fold_values<Extreme<true>>(p, in, f, lane);
      }
    }
    if constexpr (kWords == 2) {
      if (fold.op == kSum128) return fold_values<SumOf128>(p, in, f, lane);
    }
  }
  fold_rows(p, in, f, lane);
}

// Loops stay loops: unrolled, the widths and folds together are megabytes of code.
template <u32 kWords>
__device__ void reduce_fold(const SortLaunch& p, const LaneRows& in, u32 f) {
  const Fold& fold = p.shape.folds[f];
  const u32 lane = lane_id();
  LaneFold<kWords> folded(fold, in);
  fold_lane(p, in, f, folded);
  if (in.count < kSegmentSteps) folded.end(p, in, f);  // the rows are all over
  State<kWords>& tail = folded.tail;
  __syncwarp();  // lanes have had different rows
  const bool stops = in.heads != 0 || in.count < kSegmentSteps;
  bool begins = stops;  // what a lane carries begins in the warp
#pragma unroll 1
  for (u32 d = 1; d < 32; d *= 2) {
    const State<kWords> earlier = tail.shuffled_up(d);
    const bool earlier_begins = __shfl_up_sync(kAllLanes, begins, d);
    if (lane >= d && !begins) {
      tail.prepend(fold, earlier);
      begins = earlier_begins;
    }
  }
  const State<kWords> carry = tail.shuffled_up(1);
  const bool carried_whole = __shfl_up_sync(kAllLanes, begins, 1);
  if (stops && in.before > 0 && !(in.first && (in.heads & 1 || in.count == 0))) {
    if (!in.first) folded.head.prepend(fold, carry);
    put_state(p, f, in.before, folded.head, !in.first && carried_whole);
  }
  if (lane == 31 && in.count == kSegmentSteps) put_state(p, f, folded.group, tail, begins && in.ends);
}

// The rows of this lane. The rows of its warp are from begin on, and so many groups begin before them.
__device__ __forceinline__ LaneRows lane_rows(const SortLaunch& p, u64 begin, u64 groups, u32 side, const u32* heads, const u32* rows, const Rows* input) {
  const u32 lane = lane_id(), first = lane * kSegmentSteps, word = first / 32, shift = first % 32;
  const u64 at = begin + first;
  LaneRows in;
  in.count = at >= p.count ? 0 : u32(min(p.count - at, u64(kSegmentSteps)));
  in.heads = heads[word] >> shift & 0xFF & ((1u << in.count) - 1);
  in.first = lane == 0;
  in.before = groups;
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j++) {
    if (j <= word) in.before += u64(__popc(j < word ? heads[j] : heads[j] & ((1u << shift) - 1)));
  }
  if (at > p.count) in.before = 0;  // no group ends there
  in.rows = rows + first, in.input = input;
  in.previous = 0;
  if (at > 0 && in.count > 0) in.previous = lane > 0 ? rows[first - 1] : row_at(p, side, at - 1);
  const u64 behind = at + kSegmentSteps;
  in.ends = behind >= p.count || (lane == 31 && !same_key(p, side, behind));
  return in;
}

extern "C" __global__ void __launch_bounds__(kSegmentThreads) segment_reduce(const __grid_constant__ SortLaunch p) {
  const u32 tile = take_tile(&p.plan->next_segment_tile), side = p.plan->side, lane = lane_id();
  __shared__ u32 heads[kSegmentThreads / 32][kSegmentSteps];
  __shared__ uint4 rows[kSegmentTile / 4];
  const u32 warp = threadIdx.x / 32;
  u32* warp_rows = reinterpret_cast<u32*>(rows) + warp * (32 * kSegmentSteps);
  const u64 begin = u64(tile) * kSegmentTile + warp * (32 * kSegmentSteps);
  __shared__ Rows moved;  // one column of it
  if (p.moved != kNoColumn && threadIdx.x == 0) moved.columns[p.moved] = p.order[side], moved.valid[p.moved] = nullptr;
  u32 own = 0;
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j++) {
    const u64 i = begin + j * 32 + lane;
    warp_rows[j * 32 + lane] = i < p.count ? row_at(p, side, i) : 0;
    const u32 begins = __ballot_sync(kAllLanes, i >= p.count || i == 0 || !same_key(p, side, i));
    if (lane == 0) heads[warp][j] = begins;
    own += i < p.count && begins >> lane & 1;
  }
  __syncwarp();  // heads and rows are there

  u32 total;
  const u32 before_thread = block_scan(own, &total);
  __shared__ u64 before_tile;
  if (threadIdx.x == 0) {
    before_tile = sum_before(p.segments, 1, tile, 1, total);
    if (u64(tile + 1) * kSegmentTile >= p.count) p.groups.status->groups = before_tile + total;
  }
  __syncthreads();  // before_tile is there
  u64 group = before_tile + __shfl_sync(kAllLanes, before_thread, 0), written = 0;
  const LaneRows in = lane_rows(p, begin, group, side, heads[warp], warp_rows, p.moved == kNoColumn ? &p.rows : &moved);
#pragma unroll 1
  for (u32 j = 0; j < kSegmentSteps; j++) {
    const u64 i = begin + j * 32 + lane, mine = group + u64(__popc(heads[warp][j] << (31 - lane)));
    const bool head = heads[warp][j] >> lane & 1;
    if (i < p.count && mine - 1 < p.groups.capacity) {
      written++;
      if (head) store_key(p, side, i, warp_rows[j * 32 + lane], mine - 1);
    }
    if (i < p.count && head && p.starts != nullptr) p.starts[mine - 1] = u32(i);
    group += u64(__popc(heads[warp][j]));
  }
  written = block_sum(written);
  if (threadIdx.x == 0 && p.last) {
    const u64 first = u64(tile) * kSegmentTile, rows = p.count - first < u64(kSegmentTile) ? p.count - first : u64(kSegmentTile);
    atomicAdd(&p.groups.status->rows, written);
    if (written < rows) atomicAdd(&p.groups.status->overflow, rows - written);
  }

#pragma unroll 1
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    if (!(p.folds >> f & 1)) continue;
    switch (p.shape.folds[f].words) {
      case 1: reduce_fold<1>(p, in, f); break;
      case 2: reduce_fold<2>(p, in, f); break;
      case 3: reduce_fold<3>(p, in, f); break;
      case 4: reduce_fold<4>(p, in, f); break;
      case 5: reduce_fold<5>(p, in, f); break;
      case 6: reduce_fold<6>(p, in, f); break;
      case 7: reduce_fold<7>(p, in, f); break;
      case 8: reduce_fold<8>(p, in, f); break;
    }
  }
}
