package kernels

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/mpga/mpga/internal/rowcode"
)

// Catches a struct of which Go and the kernels have different ideas.
func TestParamLayouts(t *testing.T) {
	var (
		fold     foldParam
		shape    shapeParam
		rows     rowsParam
		groups   groupsParam
		launch   launchParam
		sorted   sortLaunch
		twoPhase twoPhaseLaunch
		private  privateLaunch
		ranks    rankLaunch
		packed   packedLaunch
		block    Block
		chunk    snappyChunk
		unpack   decompressLaunch
		expanded Expansion
		expand   expandLaunch
		page     Page
		pages    pagesLaunch
		columns  columnsLaunch
		str      StringPage
		missing  MissingString
		numbers  stringsLaunch
		pattern  patternParam
		part     keyPart
		keys     keysLaunch
		recodes  recodeLaunch
		side     joinSide
		joins    joinLaunch
		gather   gatherLaunch
		gathers  gatherColumn
		code     rowcode.Instruction
		column   evaluateColumn
		evaluate evaluateLaunch
	)
	want := []uintptr{
		unsafe.Sizeof(GroupsStatus{}), sortPlanBytes, workItemBytes, workBytes, tileBytes,
		unsafe.Sizeof(fold), unsafe.Offsetof(fold.words), unsafe.Offsetof(fold.column), unsafe.Offsetof(fold.other), unsafe.Offsetof(fold.offset), unsafe.Offsetof(fold.unit), ExponentsBytes, ExactPlaces,
		unsafe.Sizeof(shape), unsafe.Offsetof(shape.folds), unsafe.Offsetof(shape.columns), unsafe.Offsetof(shape.stateWords),
		unsafe.Offsetof(shape.fold), unsafe.Offsetof(shape.columnBytes),
		unsafe.Sizeof(rows), unsafe.Offsetof(rows.keys), unsafe.Offsetof(rows.columns), unsafe.Offsetof(rows.valid),
		unsafe.Sizeof(groups), unsafe.Offsetof(groups.status), unsafe.Offsetof(groups.keys), unsafe.Offsetof(groups.states),
		unsafe.Sizeof(launch), unsafe.Offsetof(launch.rows), unsafe.Offsetof(launch.out), unsafe.Offsetof(launch.in), unsafe.Offsetof(launch.groups),
		unsafe.Offsetof(launch.tableSlots), unsafe.Offsetof(launch.status), unsafe.Offsetof(launch.seed), unsafe.Offsetof(launch.radixBits),
		unsafe.Offsetof(launch.digitBits), unsafe.Offsetof(launch.firstBits), unsafe.Offsetof(launch.tileRows),
		unsafe.Offsetof(launch.slots), unsafe.Offsetof(launch.copiesBits), unsafe.Offsetof(launch.homes), unsafe.Offsetof(launch.shares), unsafe.Offsetof(launch.probeMax), unsafe.Offsetof(launch.slotBegin), unsafe.Offsetof(launch.slotEnd),
		unsafe.Offsetof(launch.rowsPerItem), unsafe.Offsetof(launch.rowsPerPart), unsafe.Offsetof(launch.rowsPerBlock), unsafe.Offsetof(launch.offsets),
		unsafe.Offsetof(launch.cursors), unsafe.Offsetof(launch.firstCursors), unsafe.Offsetof(launch.tiles), unsafe.Offsetof(launch.items), unsafe.Offsetof(launch.work), unsafe.Offsetof(launch.registers), unsafe.Offsetof(launch.exponents), unsafe.Offsetof(launch.far),
		unsafe.Sizeof(sorted), unsafe.Offsetof(sorted.rows), unsafe.Offsetof(sorted.groups),
		unsafe.Offsetof(sorted.count), unsafe.Offsetof(sorted.source), unsafe.Offsetof(sorted.word), unsafe.Offsetof(sorted.passes),
		unsafe.Offsetof(sorted.firstPass), unsafe.Offsetof(sorted.pass), unsafe.Offsetof(sorted.firstWord),
		unsafe.Offsetof(sorted.fold), unsafe.Offsetof(sorted.folds), unsafe.Offsetof(sorted.last), unsafe.Offsetof(sorted.moved), noMoved, unsafe.Offsetof(sorted.fraction),
		unsafe.Offsetof(sorted.keys), unsafe.Offsetof(sorted.order), unsafe.Offsetof(sorted.digits),
		unsafe.Offsetof(sorted.segments), unsafe.Offsetof(sorted.starts), unsafe.Offsetof(sorted.plan), sortKeys, sortValues, sortNulls,
		uintptr(Comoments), uintptr(SumExact), uintptr(MinN), uintptr(MaxN), uintptr(CountDistinct), uintptr(QuantileCont), uintptr(QuantileDisc),
		unsafe.Sizeof(twoPhase), unsafe.Offsetof(twoPhase.rest), unsafe.Offsetof(twoPhase.numRest),
		unsafe.Sizeof(private), unsafe.Offsetof(private.tables), unsafe.Offsetof(private.slots), privateThreads,
		unsafe.Sizeof(ranks), unsafe.Offsetof(ranks.slots), unsafe.Offsetof(ranks.set), unsafe.Offsetof(ranks.ranks), unsafe.Offsetof(ranks.groups), unsafe.Offsetof(ranks.blockRows), unsafe.Offsetof(ranks.blockCounts), unsafe.Offsetof(ranks.tooMany), rankThreads, blockRanks, slotsAtOnce,
		unsafe.Sizeof(packed), unsafe.Offsetof(packed.reciprocal), unsafe.Offsetof(packed.maxCarries), unsafe.Offsetof(packed.buckets), unsafe.Offsetof(packed.shift),
		carryBytes, packedHeaderBytes, bucketSlots, packedSteps,
		uintptr(BlockBytes), unsafe.Offsetof(block.To), unsafe.Offsetof(block.Bytes), unsafe.Offsetof(block.Size), unsafe.Offsetof(block.FirstChunk),
		unsafe.Sizeof(chunk), unsafe.Offsetof(chunk.to), unsafe.Offsetof(chunk.bytes), unsafe.Offsetof(chunk.size), unsafe.Offsetof(chunk.block),
		unsafe.Sizeof(unpack), unsafe.Offsetof(unpack.packedBytes), unsafe.Offsetof(unpack.plain), unsafe.Offsetof(unpack.plainBytes), unsafe.Offsetof(unpack.blocks), unsafe.Offsetof(unpack.count), unsafe.Offsetof(unpack.chunks), unsafe.Offsetof(unpack.numChunks), unsafe.Offsetof(unpack.status),
		chunksThreads, decompressThreads, ChunkSize, uintptr(BlockCrosses),
		uintptr(ExpansionBytes), unsafe.Offsetof(expanded.To), unsafe.Offsetof(expanded.Bytes), unsafe.Offsetof(expanded.Room), unsafe.Offsetof(expanded.Most), unsafe.Offsetof(expanded.Width), unsafe.Offsetof(expanded.Levels), unsafe.Offsetof(expanded.Encoding),
		unsafe.Sizeof(expand), unsafe.Offsetof(expand.memoryBytes), unsafe.Offsetof(expand.pages), expandThreads, ExpandedHead, uintptr(ByteStreamSplit),
		uintptr(PageBytes), unsafe.Offsetof(page.Dictionary), unsafe.Offsetof(page.To), unsafe.Offsetof(page.LevelsFrom), unsafe.Offsetof(page.Bytes), unsafe.Offsetof(page.Rows), unsafe.Offsetof(page.Entries), unsafe.Offsetof(page.LevelBytes), unsafe.Offsetof(page.Levels), unsafe.Offsetof(page.FirstStep), unsafe.Offsetof(page.Apart), uintptr(ApartNowhere), unsafe.Offsetof(page.Head), uintptr(ExpandedDamaged),
		unsafe.Sizeof(pages), unsafe.Offsetof(pages.memoryBytes), unsafe.Offsetof(pages.pages), unsafe.Offsetof(pages.count), unsafe.Offsetof(pages.numSteps), unsafe.Offsetof(pages.steps), unsafe.Offsetof(pages.values), unsafe.Offsetof(pages.rows), unsafe.Offsetof(pages.valid), unsafe.Offsetof(pages.status), unsafe.Offsetof(pages.width), unsafe.Offsetof(pages.numbers), unsafe.Offsetof(pages.form), uintptr(FormBig),
		unsafe.Sizeof(columns), unsafe.Offsetof(columns.firstBlock), unsafe.Offsetof(columns.column), pageColumnsMax,
		pageStepBytes, pagesThreads, stepRows, uintptr(PageNull), uintptr(LevelsSized),
		uintptr(StringPageBytes), unsafe.Offsetof(str.Bytes), unsafe.Offsetof(str.First), unsafe.Offsetof(str.Most), unsafe.Offsetof(str.Levels), unsafe.Offsetof(str.Column),
		uintptr(MissingBytes), unsafe.Offsetof(missing.Bytes), uintptr(MissingHeadBytes),
		unsafe.Sizeof(numbers), unsafe.Offsetof(numbers.strings), unsafe.Offsetof(numbers.places), unsafe.Offsetof(numbers.slots), unsafe.Offsetof(numbers.numSlots), unsafe.Offsetof(numbers.numbers), unsafe.Offsetof(numbers.head), unsafe.Offsetof(numbers.list), unsafe.Offsetof(numbers.listed), unsafe.Offsetof(numbers.textBytes), unsafe.Offsetof(numbers.given), unsafe.Offsetof(numbers.known), unsafe.Offsetof(numbers.knownSlots), unsafe.Offsetof(numbers.numKnown), unsafe.Offsetof(numbers.knownBytes), unsafe.Offsetof(numbers.numKnownBytes),
		unsafe.Offsetof(numbers.words), unsafe.Offsetof(numbers.refused), unsafe.Offsetof(numbers.matched), unsafe.Offsetof(numbers.unnumbered), unsafe.Offsetof(numbers.text), unsafe.Offsetof(numbers.wanted), unsafe.Offsetof(numbers.numPatterns), unsafe.Offsetof(numbers.patterns), unsafe.Offsetof(numbers.patternText),
		unsafe.Sizeof(pattern), unsafe.Offsetof(pattern.from), unsafe.Offsetof(pattern.bytes), rowcode.PartEnd, PatternSteps, uintptr(rowcode.IsEqual), uintptr(rowcode.IsBefore), uintptr(rowcode.IsUpTo), uintptr(rowcode.IsLike),
		findThreads, stringThreads, stringTableHeader, stringRecordBytes, KnownStringMax,
		unsafe.Sizeof(part), unsafe.Offsetof(part.valid), unsafe.Offsetof(part.base), unsafe.Offsetof(part.keyRange), unsafe.Offsetof(part.nullCode), unsafe.Offsetof(part.typ), unsafe.Offsetof(part.word), unsafe.Offsetof(part.shift), unsafe.Offsetof(part.nullWord), unsafe.Offsetof(part.nullBit),
		unsafe.Sizeof(keys), unsafe.Offsetof(keys.rows), unsafe.Offsetof(keys.count), unsafe.Offsetof(keys.outside), unsafe.Offsetof(keys.keyBytes), unsafe.Offsetof(keys.parts), unsafe.Offsetof(keys.part), KeyPartsMax, keysThreads,
		unsafe.Sizeof(recodes), unsafe.Offsetof(recodes.count), unsafe.Offsetof(recodes.table), unsafe.Offsetof(recodes.entries), recodeThreads,
		unsafe.Sizeof(side), unsafe.Offsetof(side.numbers), uintptr(JoinStatusBytes), joinItemBytes, joinWorkBytes,
		unsafe.Sizeof(joins), unsafe.Offsetof(joins.isUpper), unsafe.Offsetof(joins.build), unsafe.Offsetof(joins.probe), unsafe.Offsetof(joins.capacity), unsafe.Offsetof(joins.outProbe), unsafe.Offsetof(joins.matched), unsafe.Offsetof(joins.next), unsafe.Offsetof(joins.probeOffsets), unsafe.Offsetof(joins.work), unsafe.Offsetof(joins.upper), unsafe.Offsetof(joins.filterWords), unsafe.Offsetof(joins.passed),
		joinThreads, joinRows, partitionThreads, mergeTile, uintptr(JoinAnti), NoRow,
		unsafe.Sizeof(gather), unsafe.Offsetof(gather.numColumns), unsafe.Offsetof(gather.columns), unsafe.Sizeof(gathers), unsafe.Offsetof(gathers.toValid), unsafe.Offsetof(gathers.bytes), gatherRows,
		rowcode.InstructionBytes, unsafe.Offsetof(code.To), unsafe.Offsetof(code.A), unsafe.Offsetof(code.B), unsafe.Offsetof(code.C), unsafe.Offsetof(code.Low), unsafe.Offsetof(code.High), uintptr(rowcode.Store),
		unsafe.Sizeof(column), unsafe.Offsetof(column.valid), unsafe.Offsetof(column.typ), EvaluationHeadBytes,
		unsafe.Sizeof(evaluate), unsafe.Offsetof(evaluate.head), unsafe.Offsetof(evaluate.numInstructions), unsafe.Offsetof(evaluate.filters), unsafe.Offsetof(evaluate.inputs), unsafe.Offsetof(evaluate.outputs), unsafe.Offsetof(evaluate.instructions),
		InputsMax, OutputsMax, rowcode.InstructionsMax, rowcode.RegistersMax, evaluateThreads,
	}
	e := openExecutor(t, 1, "cpurun/testdata/layout.cu")
	out := e.alloc(t, int64(8*len(want)))
	at := e.address(out, int64(8*len(want)))
	if err := e.launch("layout", 1, 1, 0, unsafe.Pointer(&at), unsafe.Sizeof(at)); err != nil {
		t.Fatal(err)
	}
	if err := e.submit("layouts"); err != nil {
		t.Fatal(err)
	}
	b := e.download(t, out, int64(8*len(want)))
	for i, w := range want {
		if got := binary.LittleEndian.Uint64(b[8*i:]); got != uint64(w) {
			t.Errorf("number %d of layout.cu: %d, in Go %d", i, got, w)
		}
	}
}
