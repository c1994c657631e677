// The kernels that exist in several versions, one for each width of key and common set of folds;
// programs.go chooses by shape. Every shape has the general one.
#ifndef MPGA_KERNELS_PROGRAMS_CUH
#define MPGA_KERNELS_PROGRAMS_CUH

#include "program.cuh"

using Count = Folds<CountRows>;
using SumI32 = Folds<SumNarrow<i32, false>>;
using SumU32 = Folds<SumNarrow<u32, false>>;
using SumI32Far = Folds<SumNarrow<i32, true>>;
using SumU32Far = Folds<SumNarrow<u32, true>>;
using SumI64 = Folds<SumWide>;
using SumF64 = Folds<SumDouble>;
using Sum3I64Count = Folds<SumWide, SumWide, SumWide, CountRows>;

#define MPGA_FEW_PROGRAMS_OF(X, key, Key)     \
  X(key##_count, Key, Count)                  \
  X(key##_sum_i32, Key, SumI32)               \
  X(key##_sum_u32, Key, SumU32)               \
  X(key##_sum_i64, Key, SumI64)               \
  X(key##_sum_f64, Key, SumF64)               \
  X(key##_sum3_i64_count, Key, Sum3I64Count)

// Those of one column of 4 bytes, which rows of pairs have.
#define MPGA_PAIR_PROGRAMS(X)  \
  X(k4_sum_i32, Key4, SumI32)  \
  X(k4_sum_u32, Key4, SumU32)

// Those whose states lie in device memory in part.
#define MPGA_FAR_PROGRAMS(X)          \
  X(k4_sum_i32_far, Key4, SumI32Far)  \
  X(k4_sum_u32_far, Key4, SumU32Far)

// The registers of a program. With 4-byte keys, light ones have so few that 1536 threads run at a
// time: two blocks of 768.
#define MPGA_REGISTERS(Key, Program) __maxnreg__(Key::kBytes == 4 && Program::kLight ? 40 : 64)

#define MPGA_FEW_PROGRAMS(X)         \
  MPGA_FEW_PROGRAMS_OF(X, k4, Key4)  \
  MPGA_FEW_PROGRAMS_OF(X, k8, Key8)

#define MPGA_GENERAL_PROGRAMS(X)  \
  X(k4_general, Key4, General)    \
  X(k8_general, Key8, General)    \
  X(kn_general, KeyN, General)

#define MPGA_PROGRAMS(X)  \
  MPGA_FEW_PROGRAMS(X)    \
  MPGA_GENERAL_PROGRAMS(X)

#endif
