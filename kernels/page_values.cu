// Decodes pages by steps of kStepRows rows, a warp each. Rows that are NULL get the value 0.
//
//   launch  blocks of kPagesThreads for each column, a warp for each step, behind page_steps
//   reads   pages, memory, steps, status
//   writes  values, valid, status: a code that is not in the dictionary, or a row without a number
#include "pages.cuh"

// The lane's word of the validity of a step's rows.
__device__ __forceinline__ u32 read_levels(
    const Page& page, const Parts& parts, const Step& step, u32 rows, u32 lane) {
  const u32 mine = 32 * lane;  // the first of the lane's rows
  if (page.levels == kLevelsNone) {
    return mine >= rows ? 0 : rows - mine >= 32 ? kOnes : (1u << (rows - mine)) - 1;
  }
  u32 word = 0, at = step.level_at, skip = step.level_skip, done = 0;
#pragma unroll 1
  while (done < rows) {
    const Run run = read_run(parts.levels, at, parts.level_bytes, 1);
    if (run.next == 0) break;  // page_steps has seen to it
    const u32 n = min(run.n - skip, rows - done);
    const u32 from = max(done, mine), to = min(done + n, mine + 32);
    if (from < to) {
      const u32 mask = to - from == 32 ? kOnes : (1u << (to - from)) - 1;
      u32 bits = run.value != 0 ? kOnes : 0;
      if (!run.repeated) {
        const u64 bit = u64(skip) + (from - done);
        bits = u32(load_pair(parts.levels + run.body + bit / 8) >> bit % 8);
      }
      word |= (bits & mask) << (from - mine);
    }
    done += n;
    at = run.next;
    skip = 0;
  }
  return word;
}

// Sets the lane's word of validity bits, from a bit of the bitmap on.
__device__ __forceinline__ void write_levels(u32* valid, u64 bit, u32 word) {
  const u32 shift = u32(bit % 32);
  if (word << shift != 0) atomicOr(valid + bit / 32, word << shift);
  if (shift > 0 && word >> (32 - shift) != 0) atomicOr(valid + bit / 32 + 1, word >> (32 - shift));
}

// Decodes codes of a step to shared memory. It returns false where one is not below entries, and
// writes 0 for it.
__device__ __forceinline__ bool read_codes(
    const Page& page, const u8* data, u32 values_at, const Step& step, u32 values, u32* codes, u32 lane) {
  const u32 width = values > 0 ? __ldg(data + values_at) : 0;
  bool legal = true;
  if (width == 0) {
#pragma unroll 1
    for (u32 i = lane; i < values; i += 32) codes[i] = 0;
    return true;
  }
  const u32 mask = kOnes >> (32 - width);
  u32 at = step.code_at, skip = step.code_skip, done = 0;
#pragma unroll 1
  while (done < values) {
    const Run run = read_run(data, at, page.bytes, width);
    if (run.next == 0) break;  // page_steps has seen to it
    const u32 n = min(run.n - skip, values - done);
#pragma unroll 1
    for (u32 i = lane; i < n; i += 32) {
      u32 code = run.value;
      if (!run.repeated) {
        const u64 bit = (u64(skip) + i) * width;
        code = u32(load_pair(data + run.body + bit / 8) >> bit % 8) & mask;
      }
      if (code >= page.entries) {
        legal = false;
        code = 0;
      }
      codes[done + i] = code;
    }
    done += n;
    at = run.next;
    skip = 0;
  }
  return legal;
}

// How values lie in pages: words of a type, or integers of p.width bytes, the highest first.
template <class Word>
struct Words {
  typedef Word Value;
  static __device__ __forceinline__ u32 width(const PagesLaunch&) { return sizeof(Word); }
  static __device__ __forceinline__ Word load(const u8* at, u32) {
    return sizeof(Word) == 4 ? Word(load_word(at)) : Word(load_pair(at));
  }
};

__device__ __forceinline__ u32 reversed(u32 v) { return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24; }

struct BigEndian {
  typedef u64 Value;
  static __device__ __forceinline__ u32 width(const PagesLaunch& p) { return u32(p.width); }
  static __device__ __forceinline__ u64 load(const u8* at, u32 width) {
    const u64 pair = load_pair(at);
    const i64 first = i64(u64(reversed(u32(pair))) << 32 | reversed(u32(pair >> 32)));
    return u64(first >> (64 - 8 * width));
  }
};

// A value of a column from its form in a page.
template <class Out>
__device__ __forceinline__ Out from_form(u32 v, u64 form);
template <>
__device__ __forceinline__ u32 from_form<u32>(u32 v, u64 form) {
  switch (form) {
    case kFormInt8: return u32(i32(i8(v)));
    case kFormInt16: return u32(i32(i16(v)));
    case kFormUint8: return v & 0xff;
    case kFormUint16: return v & 0xffff;
  }
  return v;
}
template <>
__device__ __forceinline__ u64 from_form<u64>(u32 v, u64 form) {
  const double d = form == kFormFloat ? double(__uint_as_float(v)) : form == kFormInt32Double ? double(i32(v)) : double(v);
  return u64(__double_as_longlong(d));
}
template <class Out>
__device__ __forceinline__ Out from_form(u64 v, u64 form) {
  if (form == kFormInt64Double) return u64(__double_as_longlong(double(i64(v))));
  if (form == kFormUint64Double) return u64(__double_as_longlong(double(v)));
  return v;
}
template <>
__device__ __forceinline__ u32 from_form<u32>(u64 v, u64) { return u32(v); }

template <class In, class Out>
__device__ __forceinline__ void decode(const ColumnsLaunch& columns) {
  typedef typename In::Value Value;
  __shared__ u32 all_codes[kPageWarps][kStepRows];
  const u32 lane = lane_id();
  u64 number;
  const PagesLaunch& p = column_of(columns, &number);
  if (number >= p.num_steps) return;
  const Step step = p.steps[number];
  if (step.page >= p.count) return;  // a step of no page
  const Page page = p.pages[step.page];
  // Another warp may have found a code that is not in the dictionary: the page is void.
  // Its lanes may see it or not.
  if (__any_sync(kAllLanes, *static_cast<volatile u32*>(p.status + step.page) != kPageDone)) return;
  const u8* data = p.memory + page.from;
  Parts parts;
  if (!find_parts(p, page, data, &parts)) return;
  const u32 first = step.index * kStepRows, rows = min(page.rows - first, u32(kStepRows));
  const u32 word = read_levels(page, parts, step, rows, lane);
  const u64 to = page.to + first;
  if (p.valid != nullptr) write_levels(p.valid, to + 32 * lane, word);
  u32 rank = u32(__popc(word));  // then: of the step's rows with values, how many lie before the lane's
#pragma unroll
  for (u32 i = 1; i < 32; i *= 2) {
    const u32 before = __shfl_up_sync(kAllLanes, rank, i);
    if (lane >= i) rank += before;
  }
  const u32 values = __shfl_sync(kAllLanes, rank, 31);
  rank -= u32(__popc(word));
  u32* codes = all_codes[threadIdx.x / 32];
  const bool coded = page.entries > 0 && page.apart == kApartNone;
  if (coded) {
    bool legal = read_codes(page, data, parts.values, step, values, codes, lane);
    // A dictionary of strings that ends early has no last number, whether a code asks for it or not.
    if (p.numbers != 0 && load_word(p.memory + page.dictionary + 4 * u64(page.entries - 1)) == 0) legal = false;
    if (__any_sync(kAllLanes, !legal)) {
      if (lane == 0) p.status[step.page] = kPageCode;
      return;
    }
    __syncwarp();  // codes are written
  }
  const u32 width = In::width(p);
  const u8* plain = page.apart != kApartNone ? p.memory + page.dictionary + u64(step.rank) * width
                    : coded         ? p.memory + page.dictionary
                                    : data + parts.values + u64(step.rank) * width;
  Out* out = static_cast<Out*>(p.values) + to;
#pragma unroll 1
  for (u32 i = 0; i < 32; i++) {
    const u32 valid = __shfl_sync(kAllLanes, word, i), before = __shfl_sync(kAllLanes, rank, i);
    const u32 row = 32 * i + lane;
    if (row >= rows) continue;
    Value v = 0;
    if (valid >> lane & 1) {
      u32 at = before + u32(__popc(valid & ((1u << lane) - 1)));
      if (coded) at = codes[at];
      v = In::load(plain + u64(at) * width, width);
      if (v == 0 && p.numbers != 0) p.status[step.page] = kPageCode;
    }
    out[row] = from_form<Out>(v, p.form);
  }
}

// By the bytes of a value in pages and in the column.
extern "C" __global__ void __launch_bounds__(kPagesThreads)
    page_values_4_4(const __grid_constant__ ColumnsLaunch p) { decode<Words<u32>, u32>(p); }
extern "C" __global__ void __launch_bounds__(kPagesThreads)
    page_values_4_8(const __grid_constant__ ColumnsLaunch p) { decode<Words<u32>, u64>(p); }
extern "C" __global__ void __launch_bounds__(kPagesThreads)
    page_values_8_4(const __grid_constant__ ColumnsLaunch p) { decode<Words<u64>, u32>(p); }
extern "C" __global__ void __launch_bounds__(kPagesThreads)
    page_values_8_8(const __grid_constant__ ColumnsLaunch p) { decode<Words<u64>, u64>(p); }
extern "C" __global__ void __launch_bounds__(kPagesThreads)
    page_values_big(const __grid_constant__ ColumnsLaunch p) { decode<BigEndian, u64>(p); }
