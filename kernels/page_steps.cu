// Walks over the runs of pages, a warp each, and notes where the warps of page_values begin. Codes of pages
// without NULLs, whose runs may be short, are walked over by windows of 32 bytes.
//
//   launch  blocks of kPagesThreads for each column, a warp for each page
//   reads   pages, memory    writes  steps, status
#include "jumps.cuh"
#include "pages.cuh"

// The sum over all lanes, in every lane.
__device__ __forceinline__ u32 sum_lanes(u32 v) {
#pragma unroll
  for (u32 step = 16; step > 0; step /= 2) v += __shfl_xor_sync(kAllLanes, v, step);
  return v;
}

// A word of the bits from a bit to another bit, or of the first 32 where there are more.
__device__ __forceinline__ u32 load_bits(const u8* packed, u64 from, u32 to) {
  const u32 word = u32(load_pair(packed + from / 8) >> from % 8);
  return to - from < 32 ? word & ((1u << (to - from)) - 1) : word;
}

// How many of the bits from a bit to another bit are set. All lanes call it.
__device__ __forceinline__ u32 count_bits(const u8* packed, u32 from, u32 to) {
  if (to - from <= 32) return u32(__popc(load_bits(packed, from, to)));  // most runs are short
  u32 count = 0;
#pragma unroll 1
  for (u64 bit = u64(from) + 32 * lane_id(); bit < to; bit += 32 * 32) {
    count += __popc(load_bits(packed, bit, to));
  }
  return sum_lanes(count);
}

// Notes the steps of a page by its definition levels, and returns how many rows have values; kOnes
// where the levels are too few, or one is larger than 1.
__device__ __forceinline__ u32 walk_levels(const Page& page, const Parts& parts, Step* steps) {
  u32 row = 0, rank = 0, at = 0, step = 0;
#pragma unroll 1
  while (row < page.rows) {
    const Run run = read_run(parts.levels, at, parts.level_bytes, 1);
    if (run.next == 0) return kOnes;
    const u32 n = min(run.n, page.rows - row);
    if (n > 0 && run.repeated && run.value > 1) return kOnes;
    u32 done = 0;  // of the run's values
#pragma unroll 1
    while (done < n) {
      if ((row + done) % kStepRows == 0) {
        if (lane_id() == 0) {
          steps[step].level_at = at;
          steps[step].level_skip = done;
          steps[step].rank = rank;
        }
        step++;
      }
      const u32 take = min(n - done, kStepRows - (row + done) % kStepRows);
      if (run.repeated) {
        rank += run.value * take;
      } else {
        rank += count_bits(parts.levels + run.body, done, done + take);
      }
      done += take;
    }
    row += n;
    at = run.next;
  }
  return rank;
}

// Notes where the codes of steps begin. It returns false where there are fewer codes than values.
__device__ __forceinline__ bool walk_codes(
    const Page& page, const u8* data, u32 at, u32 width, u32 values, Step* steps, u32 num_steps) {
  u32 before = 0, step = 0;
#pragma unroll 1
  while (before < values) {
    const Run run = read_run(data, at, page.bytes, width);
    if (run.next == 0) return false;
    const u32 end = before + min(run.n, values - before);
    bool more = end > before;
#pragma unroll 1
    while (more) {
      const u32 mine = step + lane_id();
      const bool begins = mine < num_steps && steps[mine].rank < end;
      if (begins) {
        steps[mine].code_at = at;
        steps[mine].code_skip = steps[mine].rank - before;
      }
      const u32 taken = u32(__popc(__ballot_sync(kAllLanes, begins)));
      step += taken;
      more = taken == 32;
    }
    before = end;
    at = run.next;
  }
  return true;
}

// walk_codes for a page without NULLs.
__device__ __forceinline__ bool walk_all_codes(const Page& page, const u8* data, u32 at, u32 width, Step* steps) {
  const u32 values = page.rows;
  u64 before = 0;
#pragma unroll 1
  while (before < values) {
    const u32 here = at + lane_id();
    const Run run = here < page.bytes ? read_run(data, here, page.bytes, width) : Run{};
    const u32 cuts = __ballot_sync(kAllLanes, run.next == 0);
    const u32 place = find_begin(run.next == 0 ? kWindow : min(run.next - at, kWindow));
    const u32 n = __shfl_sync(kAllLanes, run.n, place % kWindow), next = __shfl_sync(kAllLanes, run.next, place % kWindow);
    const bool has = lane_id() < kBegins && place < kWindow, whole = has && (cuts >> place & 1) == 0;
    const u64 end = before + sum_up_to(u64(whole ? n : 0));  // of the lane's run
    if (__any_sync(kAllLanes, has && !whole && end < values)) return false;
    const u32 last = __popc(__ballot_sync(kAllLanes, has)) - 1;
    const u64 ends = __shfl_sync(kAllLanes, end, last), all = min(ends, u64(values));
#pragma unroll 1
    for (u64 first = (before + kStepRows - 1) / kStepRows; first * kStepRows < all; first += 32) {
      const u64 step = first + lane_id(), row = step * kStepRows;
      u32 mine = 0;  // the run that the step begins in: the first that ends behind its row
#pragma unroll
      for (u32 runs = kBegins / 2; runs > 0; runs /= 2) {
        if (__shfl_sync(kAllLanes, end, mine + runs - 1) <= row) mine += runs;
      }
      const u64 behind = __shfl_sync(kAllLanes, end, mine);
      const u32 count = __shfl_sync(kAllLanes, n, mine), begin = __shfl_sync(kAllLanes, place, mine);
      if (row < all) {
        steps[step].code_at = at + begin;
        steps[step].code_skip = u32(row - (behind - count));
      }
    }
    before = ends;
    at = __shfl_sync(kAllLanes, next, last);
  }
  return true;
}

__device__ __forceinline__ u32 walk(const PagesLaunch& p, u32 number) {
  const Page page = p.pages[number];
  const u64 entries = u64(page.entries) * p.width;
  const u32 num_steps = u32((u64(page.rows) + kStepRows - 1) / kStepRows);
  if (page.from > p.memory_bytes || page.bytes > p.memory_bytes - page.from || page.to > p.rows ||
      page.rows > p.rows - page.to || page.dictionary > p.memory_bytes || entries > p.memory_bytes - page.dictionary ||
      (u64(page.head) + (page.head > 0)) * kExpandedHead > p.memory_bytes ||
      page.first_step > p.num_steps || num_steps > p.num_steps - page.first_step) {
    return kPageOutside;
  }
  const u8* data = p.memory + page.from;
  Step* steps = p.steps + page.first_step;
  Parts parts;
  if (!find_parts(p, page, data, &parts)) return kPageLevels;
#pragma unroll 1
  for (u32 i = lane_id(); i < num_steps; i += 32) {
    steps[i].page = number;
    steps[i].index = i;
    steps[i].rank = i * kStepRows;
  }
  __syncwarp();  // ranks are written, which a walk over levels writes anew
  u32 values = page.rows;
  if (page.levels != kLevelsNone) values = walk_levels(page, parts, steps);
  if (values == kOnes) return kPageLevels;
  if (values < page.rows && p.valid == nullptr) return kPageNull;
  __syncwarp();  // ranks are written
  u32 most = page.entries;
  if (page.head > 0) {
    const u32 expanded = load_word(p.memory + u64(page.head) * kExpandedHead);
    if (expanded == kExpandedDamaged) return kPageEnds;
    most = min(most, expanded);
  }
  if (page.apart == kApartPlain) return values > most ? kPageEnds : kPageDone;
  if (page.apart == kApartNone && page.entries == 0) {
    return u64(values) * p.width > page.bytes - parts.values ? kPageEnds : kPageDone;
  }
  if (parts.values >= page.bytes) return values > 0 ? kPageEnds : kPageDone;
  const u32 width = __ldg(data + parts.values);
  if (width > kRunWidthMax) return kPageWidth;
  if (values == 0) return kPageDone;
  if (page.apart == kApartNowhere) return kPageEnds;
  if (width == 0) return kPageDone;  // all codes are 0; some writers write no run then
  const u32 at = parts.values + 1;
  const bool ok = values == page.rows ? walk_all_codes(page, data, at, width, steps)
                                      : walk_codes(page, data, at, width, values, steps, num_steps);
  return ok ? kPageDone : kPageEnds;
}

extern "C" __global__ void __launch_bounds__(kPagesThreads) page_steps(const __grid_constant__ ColumnsLaunch columns) {
  u64 number;
  const PagesLaunch& p = column_of(columns, &number);
  if (number >= p.count) return;
  const u32 status = walk(p, u32(number));
  if (lane_id() == 0) p.status[number] = status;
}
