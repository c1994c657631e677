package sink

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/order"
)

// gathering holds the rows of folders that have no open file. Once all rows of the output are
// there, the folders are written one after the other, by their numbers. Rows of one folder stay in
// the order in which they came.
type gathering struct {
	rows    *order.Collector
	files   *arrow.Schema // of the rows
	schema  *arrow.Schema // of the rows with the number of their folder as the last column
	names   []string      // of the folders by number
	numbers map[string]int32
}

// gatherPurpose is what errors of a gathering say that its memory was for.
const gatherPurpose = "gathering the rows of each folder"

func newGathering(files *arrow.Schema, opt *Options) (*gathering, error) {
	fields := append(files.Fields(), arrow.Field{Name: "folder", Type: arrow.PrimitiveTypes.Int32})
	g := &gathering{files: files, schema: arrow.NewSchema(fields, nil), numbers: make(map[string]int32)}
	var err error
	g.rows, err = opt.Collect(g.schema, order.By{Keys: []order.Key{{Column: len(fields) - 1}}}, gatherPurpose)
	return g, err
}

// collectAlone is Options.Collect for outputs that have no engine.
func collectAlone(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
	opt := order.Options{Purpose: purpose}
	opt.EnsureDefaults()
	opt.Memory = mem.NewMemory(opt.Bytes)
	return order.NewCollector(context.Background(), schema, by, opt, func() error {
		opt.Memory.Close()
		return nil
	})
}

// has says whether the rows of a folder are gathered.
func (g *gathering) has(folder string) bool {
	if g == nil {
		return false
	}
	_, ok := g.numbers[folder]
	return ok
}

// numberOf returns the number of a folder. A folder that is new gets the next number.
func (g *gathering) numberOf(folder string) (int32, error) {
	number, ok := g.numbers[folder]
	if ok {
		return number, nil
	}
	if len(g.names) == filesMax {
		return 0, knob.Errorf("%s: more than %d folders: partition by columns of fewer values",
			knob.Name("sink.PartitionBy"), filesMax)
	}
	number = int32(len(g.names))
	g.numbers[folder] = number
	g.names = append(g.names, folder)
	return number, nil
}

// add takes rows, which stay the caller's, and the numbers of their folders.
func (g *gathering) add(rows arrow.RecordBatch, numbers []int32) error {
	buffer := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(numbers))
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(numbers), []*memory.Buffer{nil, buffer}, nil, 0, 0)
	defer data.Release()
	column := array.NewInt32Data(data)
	defer column.Release()
	batch := array.NewRecordBatch(g.schema, append(rows.Columns()[:rows.NumCols():rows.NumCols()], column), rows.NumRows())
	defer batch.Release()
	return g.rows.Add(batch)
}

// each calls f with the rows of one folder after the other, in one or more calls for a folder.
func (g *gathering) each(f func(folder string, rows arrow.RecordBatch) error) error {
	sorted := g.rows.Sorted()
	g.numbers = nil // there are no new rows
	last := g.files.NumFields()
	for sorted.Next() {
		batch := sorted.RecordBatch()
		rows := array.NewRecordBatch(g.files, batch.Columns()[:last], batch.NumRows())
		err := g.eachFolder(rows, batch.Column(last).(*array.Int32).Int32Values(), f)
		rows.Release()
		if err != nil {
			return err
		}
	}
	return sorted.Err()
}

// eachFolder calls f with the rows of each folder of a batch. The numbers of the rows' folders are
// sorted.
func (g *gathering) eachFolder(rows arrow.RecordBatch, numbers []int32, f func(string, arrow.RecordBatch) error) error {
	for from, to := 0, 0; from < len(numbers); from = to {
		for to < len(numbers) && numbers[to] == numbers[from] {
			to++
		}
		part := rows.NewSlice(int64(from), int64(to))
		err := f(g.names[numbers[from]], part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// release gives the rows back. A nil gathering has none.
func (g *gathering) release() {
	if g != nil {
		g.rows.Release()
	}
}
