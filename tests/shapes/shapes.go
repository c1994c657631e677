// Package shapes writes tables whose reading takes much memory: many columns, long strings, values
// of megabytes, each in every format that mpga reads.
package shapes

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/csv"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Shape is what a table holds: first columns of numbers, then columns of strings.
type Shape struct {
	Rows, Numbers, Texts int

	TextBytes int  // of a string, on average
	Distinct  int  // strings of a column; 0 for as many as rows
	Alike     bool // all but the first bytes of strings are the same, so that they compress well
	Nulls     bool // some values are NULL
	Seed      uint64
}

func (s Shape) String() string {
	return fmt.Sprintf("%d rows of %d numbers and %d strings of %d B, %d distinct, alike %v, NULLs %v, seed %d",
		s.Rows, s.Numbers, s.Texts, s.TextBytes, s.Distinct, s.Alike, s.Nulls, s.Seed)
}

// Names of the columns: n0, n1, ... and t0, t1, ...
func (s Shape) Names() (names []string) {
	for i := range s.Numbers {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	for i := range s.Texts {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	return names
}

// text returns the string of a row and a column.
func (s Shape) text(rng *rand.Rand, row, column int) []byte {
	id := row
	if s.Distinct > 0 {
		id = rng.IntN(s.Distinct)
	}
	of := rand.New(rand.NewPCG(uint64(id), uint64(column)+s.Seed))
	b := make([]byte, s.TextBytes/2+of.IntN(s.TextBytes+1))
	if s.Alike {
		copy(b, fmt.Sprintf("%d", id))
		for i := min(len(b), 8); i < len(b); i++ {
			b[i] = 'x'
		}
		for i := range b[:min(len(b), 8)] {
			if b[i] == 0 {
				b[i] = '_'
			}
		}
		return b
	}
	for i := 0; i < len(b); i += 8 {
		word := of.Uint64()
		for j := i; j < min(i+8, len(b)); j++ {
			b[j] = 'a' + byte(word)%26
			word >>= 8
		}
	}
	return b
}

// WriteCSV writes the shape as text with a header; a name that ends in .gz or .zst is compressed.
func (s Shape) WriteCSV(file string) error {
	return s.writeText(file, func(to io.Writer) (write func(arrow.RecordBatch) error, flush func() error) {
		w := csv.NewWriter(to, s.schema(false), csv.WithHeader(true), csv.WithNullWriter(""))
		return w.Write, w.Flush
	})
}

// WriteJSON is WriteCSV for an object per line.
func (s Shape) WriteJSON(file string) error {
	return s.writeText(file, func(to io.Writer) (write func(arrow.RecordBatch) error, flush func() error) {
		write = func(b arrow.RecordBatch) error { return array.RecordToJSON(b, to) }
		return write, func() error { return nil }
	})
}

// writeText writes the shape as text, by the functions that are made for a writer.
func (s Shape) writeText(file string, writer func(io.Writer) (write func(arrow.RecordBatch) error, flush func() error)) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var to io.WriteCloser = f
	switch {
	case strings.HasSuffix(file, ".gz"):
		to, err = gzip.NewWriterLevel(f, gzip.BestSpeed)
	case strings.HasSuffix(file, ".zst"):
		to, err = zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	if err != nil {
		return err
	}
	write, flush := writer(to)
	batchRows := 1 + textBatchBytes/(16*(s.Numbers+s.Texts)+s.TextBytes*s.Texts)
	if err := errors.Join(s.batches(batchRows, false, write), flush()); err != nil {
		return err
	}
	return to.Close()
}

const textBatchBytes = 4 << 20 // of the rows that are held at a time

// schema has utf8 columns, or dictionaries of them.
func (s Shape) schema(dictionaries bool) *arrow.Schema {
	var fields []arrow.Field
	for i, name := range s.Names() {
		field := arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
		if i >= s.Numbers {
			field.Type = arrow.BinaryTypes.String
			if dictionaries {
				field.Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
			}
		}
		fields = append(fields, field)
	}
	return arrow.NewSchema(fields, nil)
}

// batches calls a function with batches of at most so many rows.
func (s Shape) batches(batchRows int, dictionaries bool, f func(arrow.RecordBatch) error) error {
	schema := s.schema(dictionaries)
	rng := rand.New(rand.NewPCG(s.Seed, 0))
	for from := 0; from < s.Rows; from += batchRows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for row := from; row < min(from+batchRows, s.Rows); row++ {
			for i := range b.Fields() {
				if s.Nulls && rng.IntN(5) == 0 {
					b.Field(i).AppendNull()
					continue
				}
				switch to := b.Field(i).(type) {
				case *array.Int64Builder:
					to.Append(int64(rng.IntN(100_000)))
				case *array.StringBuilder:
					to.BinaryBuilder.Append(s.text(rng, row, i))
				case *array.BinaryDictionaryBuilder:
					if err := to.Append(s.text(rng, row, i)); err != nil {
						return err
					}
				}
			}
		}
		batch := b.NewRecordBatch()
		err := f(batch)
		batch.Release()
		b.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// ParquetOptions say how Parquet is written.
type ParquetOptions struct {
	Codec      compress.Compression
	Dictionary bool
	PageBytes  int64
	GroupRows  int64
	BatchRows  int
	Encoding   parquet.Encoding // of strings, without a dictionary; PLAIN is 0
}

// WriteParquet writes the shape as Parquet.
func (s Shape) WriteParquet(file string, opt ParquetOptions) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	props := []parquet.WriterProperty{
		parquet.WithCompression(opt.Codec), parquet.WithDictionaryDefault(opt.Dictionary), parquet.WithDataPageSize(opt.PageBytes),
		parquet.WithMaxRowGroupLength(opt.GroupRows), parquet.WithDictionaryPageSizeLimit(1 << 30), parquet.WithBatchSize(1),
	}
	if !opt.Dictionary {
		for _, name := range s.Names()[s.Numbers:] {
			props = append(props, parquet.WithEncodingFor(name, opt.Encoding))
		}
	}
	w, err := pqarrow.NewFileWriter(s.schema(false), f, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	rows := int64(0)
	err = s.batches(opt.BatchRows, false, func(b arrow.RecordBatch) error {
		if rows+b.NumRows() > opt.GroupRows {
			w.NewBufferedRowGroup()
			rows = 0
		}
		rows += b.NumRows()
		return w.WriteBuffered(b)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// ArrowOptions say how Arrow IPC is written.
type ArrowOptions struct {
	Stream     bool
	Compressed bool // zstd
	Dictionary bool
	BatchRows  int
}

// WriteArrow writes the shape as an Arrow IPC file or stream.
func (s Shape) WriteArrow(file string, opt ArrowOptions) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	options := []ipc.Option{ipc.WithSchema(s.schema(opt.Dictionary))}
	if opt.Compressed {
		options = append(options, ipc.WithZstd())
	}
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	if opt.Stream {
		w = ipc.NewWriter(f, options...)
	} else if w, err = ipc.NewFileWriter(f, options...); err != nil {
		return err
	}
	if err := s.batches(opt.BatchRows, opt.Dictionary, w.Write); err != nil {
		return err
	}
	return w.Close()
}
