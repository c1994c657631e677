// Sizes and offsets of what Go passes to kernels, for a test that compares them with Go's.
#include "../../params.h"
#include "../../params_decompress.h"
#include "../../params_evaluate.h"
#include "../../params_expand.h"
#include "../../params_join.h"
#include "../../params_keys.h"
#include "../../params_recode.h"
#include "../../params_packed.h"
#include "../../params_pages.h"
#include "../../params_private.h"
#include "../../params_ranks.h"
#include "../../params_sorted.h"
#include "../../params_strings.h"
#include "../../params_two_phase.h"

extern "C" __global__ void layout(u64* out) {
  const u64 all[] = {
      sizeof(GroupsStatus), sizeof(SortPlan), sizeof(WorkItem), sizeof(Work), sizeof(Tile),
      sizeof(Fold), offsetof(Fold, words), offsetof(Fold, column), offsetof(Fold, other), offsetof(Fold, offset), offsetof(Fold, unit), sizeof(Exponents), kExactPlaces,
      sizeof(Shape), offsetof(Shape, num_folds), offsetof(Shape, num_columns), offsetof(Shape, state_words),
      offsetof(Shape, folds), offsetof(Shape, column_bytes),
      sizeof(Rows), offsetof(Rows, keys), offsetof(Rows, columns), offsetof(Rows, valid),
      sizeof(Groups), offsetof(Groups, status), offsetof(Groups, keys), offsetof(Groups, states),
      sizeof(Launch), offsetof(Launch, rows), offsetof(Launch, out), offsetof(Launch, in), offsetof(Launch, groups),
      offsetof(Launch, table), offsetof(Launch, status), offsetof(Launch, seed), offsetof(Launch, radix_bits),
      offsetof(Launch, digit_bits), offsetof(Launch, first_bits), offsetof(Launch, tile_rows),
      offsetof(Launch, slots), offsetof(Launch, copies_bits), offsetof(Launch, homes), offsetof(Launch, shares), offsetof(Launch, probe_max), offsetof(Launch, slot_begin), offsetof(Launch, slot_end),
      offsetof(Launch, rows_per_item), offsetof(Launch, rows_per_part), offsetof(Launch, rows_per_block), offsetof(Launch, offsets),
      offsetof(Launch, cursors), offsetof(Launch, first_cursors), offsetof(Launch, tiles), offsetof(Launch, items), offsetof(Launch, work), offsetof(Launch, registers), offsetof(Launch, exponents), offsetof(Launch, far),
      sizeof(SortLaunch), offsetof(SortLaunch, rows), offsetof(SortLaunch, groups),
      offsetof(SortLaunch, count), offsetof(SortLaunch, source), offsetof(SortLaunch, word), offsetof(SortLaunch, passes),
      offsetof(SortLaunch, first_pass), offsetof(SortLaunch, pass), offsetof(SortLaunch, first_word),
      offsetof(SortLaunch, fold), offsetof(SortLaunch, folds), offsetof(SortLaunch, last), offsetof(SortLaunch, moved), kNoColumn, offsetof(SortLaunch, fraction),
      offsetof(SortLaunch, keys), offsetof(SortLaunch, order), offsetof(SortLaunch, digits),
      offsetof(SortLaunch, segments), offsetof(SortLaunch, starts), offsetof(SortLaunch, plan), kSortKeys, kSortValues, kSortNulls,
      kComoments, kSumExact, kMinN, kMaxN, kCountDistinct, kQuantileCont, kQuantileDisc,
      sizeof(TwoPhaseLaunch), offsetof(TwoPhaseLaunch, rest), offsetof(TwoPhaseLaunch, num_rest),
      sizeof(PrivateLaunch), offsetof(PrivateLaunch, tables), offsetof(PrivateLaunch, slots), kPrivateThreads,
      sizeof(RankLaunch), offsetof(RankLaunch, slots), offsetof(RankLaunch, set), offsetof(RankLaunch, ranks), offsetof(RankLaunch, groups), offsetof(RankLaunch, block_rows), offsetof(RankLaunch, block_counts), offsetof(RankLaunch, too_many), kRankThreads, kRanks, kSlotsAtOnce,
      sizeof(PackedLaunch), offsetof(PackedLaunch, reciprocal), offsetof(PackedLaunch, max_carries), offsetof(PackedLaunch, buckets), offsetof(PackedLaunch, shift),
      sizeof(Carry), sizeof(PackedHeader), kBucketSlots, kPackedSteps,
      sizeof(Block), offsetof(Block, to), offsetof(Block, bytes), offsetof(Block, size), offsetof(Block, first_chunk),
      sizeof(Chunk), offsetof(Chunk, to), offsetof(Chunk, bytes), offsetof(Chunk, size), offsetof(Chunk, block),
      sizeof(DecompressLaunch), offsetof(DecompressLaunch, packed_bytes), offsetof(DecompressLaunch, plain), offsetof(DecompressLaunch, plain_bytes), offsetof(DecompressLaunch, blocks), offsetof(DecompressLaunch, count), offsetof(DecompressLaunch, chunks), offsetof(DecompressLaunch, num_chunks), offsetof(DecompressLaunch, status),
      kChunksThreads, kDecompressThreads, kChunkSize, kBlockCrosses,
      sizeof(Expansion), offsetof(Expansion, to), offsetof(Expansion, bytes), offsetof(Expansion, room), offsetof(Expansion, most), offsetof(Expansion, width), offsetof(Expansion, levels), offsetof(Expansion, encoding),
      sizeof(ExpandLaunch), offsetof(ExpandLaunch, memory_bytes), offsetof(ExpandLaunch, pages), kExpandThreads, kExpandedHead, kByteStreamSplit,
      sizeof(Page), offsetof(Page, dictionary), offsetof(Page, to), offsetof(Page, levels_from), offsetof(Page, bytes), offsetof(Page, rows), offsetof(Page, entries), offsetof(Page, level_bytes), offsetof(Page, levels), offsetof(Page, first_step), offsetof(Page, apart), kApartNowhere, offsetof(Page, head), kExpandedDamaged,
      sizeof(PagesLaunch), offsetof(PagesLaunch, memory_bytes), offsetof(PagesLaunch, pages), offsetof(PagesLaunch, count), offsetof(PagesLaunch, num_steps), offsetof(PagesLaunch, steps), offsetof(PagesLaunch, values), offsetof(PagesLaunch, rows), offsetof(PagesLaunch, valid), offsetof(PagesLaunch, status), offsetof(PagesLaunch, width), offsetof(PagesLaunch, numbers), offsetof(PagesLaunch, form), kFormBig,
      sizeof(ColumnsLaunch), offsetof(ColumnsLaunch, first_blocks), offsetof(ColumnsLaunch, columns), kPageColumnsMax,
      sizeof(Step), kPagesThreads, kStepRows, kPageNull, kLevelsSized,
      sizeof(StringPage), offsetof(StringPage, bytes), offsetof(StringPage, first), offsetof(StringPage, most), offsetof(StringPage, levels), offsetof(StringPage, column),
      sizeof(MissingString), offsetof(MissingString, bytes), sizeof(Missing),
      sizeof(StringsLaunch), offsetof(StringsLaunch, strings), offsetof(StringsLaunch, places), offsetof(StringsLaunch, slots), offsetof(StringsLaunch, num_slots), offsetof(StringsLaunch, numbers), offsetof(StringsLaunch, head), offsetof(StringsLaunch, list), offsetof(StringsLaunch, listed), offsetof(StringsLaunch, text_bytes), offsetof(StringsLaunch, given), offsetof(StringsLaunch, known), offsetof(StringsLaunch, known_slots), offsetof(StringsLaunch, num_known), offsetof(StringsLaunch, known_bytes), offsetof(StringsLaunch, num_known_bytes),
      offsetof(StringsLaunch, words), offsetof(StringsLaunch, refused), offsetof(StringsLaunch, matched), offsetof(StringsLaunch, unnumbered), offsetof(StringsLaunch, text), offsetof(StringsLaunch, wanted), offsetof(StringsLaunch, num_patterns), offsetof(StringsLaunch, patterns), offsetof(StringsLaunch, pattern_text),
      sizeof(Pattern), offsetof(Pattern, from), offsetof(Pattern, bytes), kPartEnd, kPatternSteps, kIsEqual, kIsBefore, kIsUpTo, kIsLike,
      kFindThreads, kStringThreads, sizeof(StringTableHead), kStringRecordBytes, kKnownMax,
      sizeof(KeyPart), offsetof(KeyPart, valid), offsetof(KeyPart, base), offsetof(KeyPart, range), offsetof(KeyPart, null_code), offsetof(KeyPart, type), offsetof(KeyPart, word), offsetof(KeyPart, shift), offsetof(KeyPart, null_word), offsetof(KeyPart, null_bit),
      sizeof(KeysLaunch), offsetof(KeysLaunch, rows), offsetof(KeysLaunch, count), offsetof(KeysLaunch, outside), offsetof(KeysLaunch, key_bytes), offsetof(KeysLaunch, num_parts), offsetof(KeysLaunch, parts), kKeyPartsMax, kKeysThreads,
      sizeof(RecodeLaunch), offsetof(RecodeLaunch, count), offsetof(RecodeLaunch, table), offsetof(RecodeLaunch, entries), kRecodeThreads,
      sizeof(JoinSide), offsetof(JoinSide, numbers), sizeof(JoinStatus), sizeof(JoinItem), sizeof(JoinWork),
      sizeof(JoinLaunch), offsetof(JoinLaunch, is_upper), offsetof(JoinLaunch, build), offsetof(JoinLaunch, probe), offsetof(JoinLaunch, capacity), offsetof(JoinLaunch, out_probe), offsetof(JoinLaunch, matched), offsetof(JoinLaunch, next), offsetof(JoinLaunch, probe_offsets), offsetof(JoinLaunch, work), offsetof(JoinLaunch, upper), offsetof(JoinLaunch, filter_words), offsetof(JoinLaunch, passed),
      kJoinThreads, kJoinRows, kPartitionThreads, kMergeTile, kJoinAnti, kNoRow,
      sizeof(GatherLaunch), offsetof(GatherLaunch, num_columns), offsetof(GatherLaunch, columns), sizeof(GatherColumn), offsetof(GatherColumn, to_valid), offsetof(GatherColumn, bytes), kGatherRows,
      sizeof(Instruction), offsetof(Instruction, to), offsetof(Instruction, a), offsetof(Instruction, b), offsetof(Instruction, c), offsetof(Instruction, low), offsetof(Instruction, high), kStore,
      sizeof(EvaluateColumn), offsetof(EvaluateColumn, valid), offsetof(EvaluateColumn, type), sizeof(EvaluateHead),
      sizeof(EvaluateLaunch), offsetof(EvaluateLaunch, head), offsetof(EvaluateLaunch, num_instructions), offsetof(EvaluateLaunch, filters), offsetof(EvaluateLaunch, inputs), offsetof(EvaluateLaunch, outputs), offsetof(EvaluateLaunch, instructions),
      kInputsMax, kOutputsMax, kInstructionsMax, kRegistersMax, kEvaluateThreads,
  };
  for (u32 i = 0; i < sizeof(all) / sizeof(all[0]); i++) out[i] = all[i];
}
