// What Go passes to the kernels that number strings; launch_strings.go declares the same structs.
// Plain C.
#ifndef MPGA_KERNELS_PARAMS_STRINGS_H
#define MPGA_KERNELS_PARAMS_STRINGS_H

#include "params.h"

enum {
  kFindThreads = 128,  // a warp for each page
  kStringThreads = 256,
  kStringTableHeader = 16,
  kStringRecordBytes = 16,
  kKnownMax = 4096,
  kPatternsMax = 31,
  kPatternTextMax = 1024,
  kPartEnd = 0xFE,
  kPatternSteps = 1 << 26,
  kMatchedColumnsMax = 64
};

// PatternKind of internal/rowcode.
enum { kIsEqual, kIsBefore, kIsUpTo, kIsLike };

typedef struct {
  u16 kind, from, bytes;  // and where its text is
} Pattern;

// StringPage of strings.go.
typedef struct {
  u64 from;
  u32 bytes, first, most, levels, column, unused;
} StringPage;

// MissingString of strings.go.
typedef struct {
  u32 string, bytes;
} MissingString;

// Missing of strings.go: the count in the upper half.
typedef u64 Missing;

// The begin of a StringTable: what is in use of the slots and of the bytes behind them, and more where
// strings found no room.
typedef struct {
  u64 entries, bytes;
} StringTableHead;

typedef struct {
  const u8* memory;  // and kPagesPad bytes more
  u64 memory_bytes;
  const StringPage* pages;
  u64 count;
  u64 strings;  // of all pages, at most
  u64* places;  // by string: see strings.cuh
  u32* slots;   // 1 more than a string, or 0
  u64 num_slots;
  u32* numbers;  // by string
  Missing* head;
  MissingString* list;
  u8* listed;  // bytes of the strings of list
  u64 text_bytes;
  const u32* given;  // by string of the list
  StringTableHead* known;
  u64* known_slots;
  u64 num_known;
  u8* known_bytes;
  u64 num_known_bytes;
  u32* words;    // by string of the matched columns
  u32* refused;  // a string is not UTF-8, or too long to be searched
  u64 matched;   // a bit for each column
  u64 unnumbered;
  u64 text;      // matched columns whose strings are to be UTF-8
  u32 wanted[kMatchedColumnsMax];  // by column, a bit for each pattern
  u32 num_patterns, unused;
  Pattern patterns[kPatternsMax];
  u8 pattern_text[kPatternTextMax];
} StringsLaunch;

#endif
