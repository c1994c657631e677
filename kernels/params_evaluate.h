// What Go passes to the kernel that evaluates expressions; launch_evaluate.go declares the same structs.
// Plain C.
#ifndef MPGA_KERNELS_PARAMS_EVALUATE_H
#define MPGA_KERNELS_PARAMS_EVALUATE_H

#include "params.h"

enum {
  kEvaluateThreads = 128,
  kInstructionsMax = 96,
  kRegistersMax = 32,  // whose bits a word has
  kInputsMax = 24,
  kOutputsMax = 32,
  kLookupsMax = 6,
  kFetchedMax = 12
};

// Op of internal/rowcode.
enum {
  kConst, kNull, kLoad, kMatch,
  kAdd, kSub, kMul, kLimit, kQuotient, kRest,
  kAddDouble, kSubDouble, kMulDouble, kDivDouble, kSingle, kDouble, kRank,
  kEqual, kLess, kLessEqual, kAmong, kSame,
  kAnd, kThen, kOr, kNot, kIsNull, kSelect,
  kFind, kFetch, kWords, kBit, kEach, kMark,  // kWords of no instruction
  kFilter, kStore, kOpEnd
};

// Instruction of internal/rowcode.
typedef struct {
  u8 op, to, a, b, c, unused[3];
  i64 low, high;
} Instruction;

typedef struct {
  void* values;
  u32* valid;  // a bitmap; null: no value is NULL
  u64 type;
} EvaluateColumn;

// LookupTable of evaluate.go.
typedef struct {
  const void* keys;
  const u64* table;  // of join_build; of kEach its lists are behind the slots
  u64 slots;
  u32* marks;  // a bitmap of the rows that kMark notes; null where it notes none
} EvaluateLookup;

// A column of a lookup, of words.
typedef struct {
  const i64* values;
  const u32* valid;  // a bitmap; null: no value is NULL
} EvaluateFetched;

// EvaluationHead of evaluate.go.
typedef struct {
  u64 rows;
  u32 wrong, unused;
} EvaluateHead;

typedef struct {
  u64 rows, room;      // of inputs, and for outputs
  EvaluateHead* head;  // all 0 before
  u32 num_instructions, filters;
  EvaluateColumn inputs[kInputsMax];
  EvaluateColumn outputs[kOutputsMax];
  EvaluateLookup lookups[kLookupsMax];
  EvaluateFetched fetched[kFetchedMax];
  Instruction instructions[kInstructionsMax];
} EvaluateLaunch;

#endif
