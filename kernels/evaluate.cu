// Computes columns of rows by the instructions of a program, and leaves out the rows that do not pass.
//
//   launch  blocks of kEvaluateThreads, which go over all rows, with 8 bytes of shared memory for each
//           register of a thread
//   reads   inputs, lookups    writes  outputs; marks, all 0 before; head, all 0 before, and bitmaps of outputs, all 0 before if rows may not pass
#include "block.cuh"
#include "join.cuh"
#include "params_evaluate.h"

// What a thread knows of its row beside the words of registers.
struct Row {
  u64 row;     // of the inputs
  u64 to;      // of the outputs
  u64 first;   // of the outputs: that of the first row of the warp
  u32 kept;    // rows of the warp that pass
  u32 null, wrong;  // by register
  u32 more;        // the next row of kEach + 1, or 0
  bool passes;
  bool failed;  // a result is wrong that somebody needs
};

__device__ __forceinline__ bool has_bit(u32 bits, u32 i) { return (bits >> i & 1) != 0; }

__device__ __forceinline__ void set_bit(u32* bits, u32 i, bool is) { *bits = (*bits & ~(1u << i)) | u32(is) << i; }

// Loads the row's value of an input to a register.
__device__ __forceinline__ void load(const EvaluateColumn& in, u32 to, i64* own, Row* r) {
  i64 value = 0;
  bool is_null = false;
  if (r->passes) {
    switch (in.type) {
      case kInt32: value = static_cast<const i32*>(in.values)[r->row]; break;
      case kUint32: value = static_cast<const u32*>(in.values)[r->row]; break;
      default: value = static_cast<const i64*>(in.values)[r->row];
    }
    is_null = in.valid != nullptr && !has_bit(in.valid[r->row / 32], u32(r->row % 32));
  }
  own[to * kEvaluateThreads] = value;
  set_bit(&r->null, to, is_null);
  set_bit(&r->wrong, to, false);
}

__device__ __forceinline__ i64 rank_double(double v) {
  if (v != v) return 0x7fffffffffffffff;
  const i64 w = __double_as_longlong(v + 0.0);  // -0.0 + 0.0 is 0.0
  return w ^ i64(u64(w >> 63) >> 1);
}

// Notes which rows of the warp pass, and gives them places behind the rows that have passed, if there is room. Whole
// warps call it.
__device__ __forceinline__ void filter(Row* r, const EvaluateLaunch& p, bool is_true, bool is_wrong) {
  r->failed = r->failed || (r->passes && is_wrong);
  r->passes = r->passes && is_true && !is_wrong;
  r->kept = __ballot_sync(kAllLanes, r->passes);
  u64 first = 0;
  if (lane_id() == 0 && r->kept != 0) first = atomicAdd(&p.head->rows, u64(__popc(r->kept)));
  r->first = __shfl_sync(kAllLanes, first, 0);
  r->to = r->first + __popc(r->kept & ((1u << lane_id()) - 1));
  if (r->first + __popc(r->kept) > p.room) {
    r->failed = r->failed || r->passes;
    r->passes = false;
    r->kept = 0;
  }
}

// Writes which values of the warp's rows are not NULL. Whole warps call it.
__device__ __forceinline__ void store_bits(const Row& r, u32* bitmap, bool present, bool filters) {
  const u32 rows = __popc(r.kept), given = __ballot_sync(kAllLanes, r.passes && present);
  u64 bits = given;
  if (r.kept != kAllLanes) {
    bits = (u64(1) << rows) - 1;
    if (given != r.kept) {  // each lane has the bit of its place
      u32 own = r.passes && present ? 1u << (r.to - r.first) : 0;
#pragma unroll
      for (u32 d = 16; d > 0; d /= 2) own |= __shfl_xor_sync(kAllLanes, own, d);
      bits = own;
    }
  }
  if (lane_id() != 0 || rows == 0) return;
  u32* const words = bitmap + r.first / 32;
  if (!filters) {
    words[0] = u32(bits);
    return;
  }
  bits <<= r.first % 32;
  if (u32(bits) != 0) atomicOr(words, u32(bits));
  if (bits >> 32 != 0) atomicOr(words + 1, u32(bits >> 32));
}

__device__ __forceinline__ void store(Row* r, const EvaluateColumn& out, i64 value, bool is_null, bool is_wrong, bool filters) {
  r->failed = r->failed || (r->passes && (is_wrong || (is_null && out.valid == nullptr)));
  if (r->passes) {
    const i64 word = is_null ? 0 : value;
    if (out.type == kInt32 || out.type == kUint32) static_cast<u32*>(out.values)[r->to] = u32(word);
    else static_cast<i64*>(out.values)[r->to] = word;
  }
  if (out.valid != nullptr) store_bits(*r, out.valid, !is_null, filters);
}

// The next row + 1 of the key of a row + 1, or 0.
__device__ __forceinline__ u32 next_of(const EvaluateLookup& l, u32 row) {
  return reinterpret_cast<const u32*>(l.table + l.slots)[row - 1];
}

// Finds the row of a lookup that has a key, or fetches the value of a row.
__device__ __forceinline__ void look(const EvaluateLaunch& p, const Instruction& in, i64* own, Row* r) {
  const i64 a = own[in.a * kEvaluateThreads];
  const bool is_wrong = has_bit(r->wrong, in.a);
  bool is_null = has_bit(r->null, in.a);
  i64 out = 0;
  if (r->passes && !is_null && !is_wrong) {
    if (in.op != kFetch) {
      const EvaluateLookup& l = p.lookups[in.low];
      const Key8 key = {u64(a)};
      const u64 hash = key.hash(0), at = slot_of(hash, l.slots);
      const u32 row = find_row(l.keys, l.table, l.slots, key, hash, at, __ldg(l.table + at));
      is_null = row == 0;
      out = i64(row) - 1;
      if (in.op == kEach && !is_null) r->more = next_of(l, row);
    } else {
      const EvaluateFetched& of = p.fetched[in.low];
      is_null = of.valid != nullptr && !bit_of(of.valid, u64(a));
      out = __ldg(of.values + a);
    }
  }
  own[in.to * kEvaluateThreads] = out;
  set_bit(&r->null, in.to, is_null);
  set_bit(&r->wrong, in.to, is_wrong);
}

// Notes a row of a lookup, which is the result, too.
__device__ __forceinline__ void mark(const EvaluateLaunch& p, const Instruction& in, i64* own, Row* r) {
  const i64 a = own[in.a * kEvaluateThreads];
  const bool is_null = has_bit(r->null, in.a), is_wrong = has_bit(r->wrong, in.a);
  if (r->passes && !is_null && !is_wrong) {
    u32* const word = p.lookups[in.low].marks + a / 32;
    const u32 bit = 1u << (a % 32);
    if ((*static_cast<volatile u32*>(word) & bit) == 0) atomicOr(word, bit);
  }
  own[in.to * kEvaluateThreads] = a;
  set_bit(&r->null, in.to, is_null);
  set_bit(&r->wrong, in.to, is_wrong);
}

// Runs an instruction whose result is a register. own are the registers of the thread.
__device__ __forceinline__ void run(const EvaluateLaunch& p, const Instruction& in, i64* own, Row* r) {
  if (in.op == kLoad || in.op == kMatch) {
    load(p.inputs[in.a], in.to, own, r);
    if (in.op == kMatch) own[in.to * kEvaluateThreads] = own[in.to * kEvaluateThreads] >> in.low & 1;
    return;
  }
  if (in.op == kFind || in.op == kFetch || in.op == kEach) return look(p, in, own, r);
  if (in.op == kMark) return mark(p, in, own, r);
  const i64 a = own[in.a * kEvaluateThreads], b = own[in.b * kEvaluateThreads];
  const double x = __longlong_as_double(a), y = __longlong_as_double(b);
  const bool null_a = has_bit(r->null, in.a), null_b = has_bit(r->null, in.b);
  const bool wrong_a = has_bit(r->wrong, in.a), wrong_b = has_bit(r->wrong, in.b);
  const bool true_a = !null_a && a != 0, true_b = !null_b && b != 0;
  const bool false_a = !null_a && a == 0, false_b = !null_b && b == 0;
  i64 out = 0;
  double real = 0;
  bool is_real = false;
  bool is_null = null_a || null_b, is_wrong = wrong_a || wrong_b;  // of two operands
  bool fits = true;
  bool unary = false;
  switch (in.op) {
    case kConst:
      out = in.low;
      is_null = is_wrong = false;
      break;
    case kNull:
      is_null = true;
      is_wrong = false;
      break;
    case kAdd:
      out = i64(u64(a) + u64(b));
      fits = ((a ^ out) & (b ^ out)) >= 0;
      break;
    case kSub:
      out = i64(u64(a) - u64(b));
      fits = ((a ^ b) & (a ^ out)) >= 0;
      break;
    case kMul:
      out = i64(u64(a) * u64(b));
      fits = __mul64hi(a, b) == out >> 63;
      break;
    case kLimit:
      out = a;
      unary = true;
      break;
    case kQuotient:
    case kRest:
      if (b == 0) {
        is_null = true;
      } else if (b == -1) {
        if (in.op == kQuotient) out = i64(0 - u64(a));
        fits = in.op == kRest || a != i64(u64(1) << 63);
      } else {
        out = in.op == kQuotient ? a / b : a % b;
      }
      break;
    case kAddDouble: real = __dadd_rn(x, y), is_real = true; break;
    case kSubDouble: real = __dadd_rn(x, -y), is_real = true; break;
    case kMulDouble: real = __dmul_rn(x, y), is_real = true; break;
    case kDivDouble: real = x / y, is_real = true; break;
    case kSingle: real = float(x), is_real = unary = true; break;
    case kDouble: real = __ll2double_rn(a), is_real = unary = true; break;
    case kRank: out = rank_double(x), unary = true; break;
    case kEqual: out = a == b; break;
    case kLess: out = a < b; break;
    case kLessEqual: out = a <= b; break;
    case kAmong: out = a == in.low || a == in.high, unary = true; break;
    case kSame:
      out = null_a || null_b ? null_a && null_b : a == b;
      is_null = false;
      break;
    case kAnd:
    case kThen:
      out = true_a && true_b;
      is_null = !out && !false_a && !false_b;
      is_wrong = wrong_a || (wrong_b && (in.op == kThen ? true_a : !false_a));
      break;
    case kOr:
      out = true_a || true_b;
      is_null = !out && (null_a || null_b);
      is_wrong = wrong_a || (wrong_b && !true_a);
      break;
    case kNot: out = a == 0, unary = true; break;
    case kIsNull:
      out = null_a;
      is_null = false;
      is_wrong = wrong_a;
      break;
    case kBit: out = a >> in.low & 1, unary = true; break;
    case kSelect: {
      const u32 taken = true_a ? in.b : in.c;
      out = own[taken * kEvaluateThreads];
      is_null = has_bit(r->null, taken);
      is_wrong = wrong_a || has_bit(r->wrong, taken);
      break;
    }
  }
  if (unary) is_null = null_a, is_wrong = wrong_a;
  if (is_real) out = __double_as_longlong(real);
  if (in.op >= kAdd && in.op <= kRest) {
    fits = fits && out >= in.low && out <= in.high;
    is_wrong = is_wrong || (!fits && !is_null);
  }
  own[in.to * kEvaluateThreads] = out;
  set_bit(&r->null, in.to, is_null);
  set_bit(&r->wrong, in.to, is_wrong);
}

// Makes the next row of kEach the row of the thread. Returns whether a thread of the warp has one. Whole warps call it.
__device__ __forceinline__ bool next_row(const EvaluateLaunch& p, const Instruction& each, i64* own, Row* r) {
  if (!__any_sync(kAllLanes, r->more != 0)) return false;
  r->passes = r->more != 0;
  if (r->passes) {
    own[each.to * kEvaluateThreads] = i64(r->more) - 1;
    set_bit(&r->null, each.to, false);
    set_bit(&r->wrong, each.to, false);
    r->more = next_of(p.lookups[each.low], r->more);
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(kEvaluateThreads) evaluate(const __grid_constant__ EvaluateLaunch p) {
  extern __shared__ i64 registers[];  // of a register, those of all threads, one after the other
  i64* const own = registers + threadIdx.x;
  const bool filters = p.filters != 0;
  bool failed = false;
  for (u64 begin = u64(blockIdx.x) * kEvaluateThreads; begin < p.rows; begin += u64(gridDim.x) * kEvaluateThreads) {
    Row r = {};
    r.row = r.to = begin + threadIdx.x;
    r.first = r.row - lane_id();
    r.passes = r.row < p.rows;
    r.kept = __ballot_sync(kAllLanes, r.passes);
    u32 each = 0, from = 0;  // the instruction kEach; where the row's instructions begin
    do {
#pragma unroll 1
      for (u32 i = from; i < p.num_instructions; i++) {
        const Instruction& in = p.instructions[i];
        const u32 a = in.a;
        if (in.op == kFilter) {
          filter(&r, p, !has_bit(r.null, a) && own[a * kEvaluateThreads] != 0, has_bit(r.wrong, a));
          if (r.kept == 0) break;
        } else if (in.op == kStore) {
          store(&r, p.outputs[in.b], own[a * kEvaluateThreads], has_bit(r.null, a), has_bit(r.wrong, a), filters);
        } else {
          if (in.op == kEach) each = i;
          run(p, in, own, &r);
        }
      }
      from = each + 1;
    } while (next_row(p, p.instructions[each], own, &r));
    failed = failed || r.failed;
  }
  if (failed) p.head->wrong = 1;
  if (!filters && blockIdx.x == 0 && threadIdx.x == 0) p.head->rows = p.rows;
}
