package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/snappy"
)

// page is a part of wordColumn.out.
type page struct {
	from, to int // with its header
	raw      int // bytes before compression, with the header
	coded    bool

	rows  int64
	stats metadata.EncodedStatistics
}

// pageCodec compresses, as the library's codecs do.
type pageCodec interface {
	EncodeLevel(dst, src []byte, level int) []byte
	CompressBound(int64) int64
}

// newCodec returns what compresses the pages of a file, nil where nothing does. Goroutines may use it at the same time,
// as many as there are threads.
func newCodec(ctx context.Context, opt *Options) (pageCodec, error) {
	switch opt.Codec {
	case "none":
		return nil, nil
	case "snappy":
		return snappyCodec{}, nil
	}
	library, err := compress.GetCodec(codecs[opt.Codec])
	switch {
	case err != nil:
	case opt.Codec == "brotli":
		return brotliCodec{library, ctx}, nil
	case opt.Codec == "zstd" && zstd.EncoderLevelFromZstd(opt.Level) == zstd.SpeedBestCompression:
		return newZstdCodec(library, opt)
	}
	return library, err
}

// zstdCodec compresses by encoders of the highest level, whose tables are large: the library's codec makes them anew
// after each collection of garbage.
type zstdCodec struct {
	compress.Codec
	encoder *zstd.Encoder
}

// zstdTablesBytes is what an encoder of the highest level takes.
const zstdTablesBytes = 36 << 20

// newZstdCodec returns a codec with an encoder for each thread, or as many as the budget has room for, at least one.
// The tables are reserved until they have been written to: then they count in what the process holds.
func newZstdCodec(library compress.Codec, opt *Options) (pageCodec, error) {
	const room = 2 * zstdTablesBytes // an encoder more is made where as much is left for rows
	encoders := max(opt.Threads, 1)
	for opt.Budget != nil && encoders > 1 && opt.Budget.Room(int64(encoders)*room) != nil {
		encoders--
	}
	reserved := rowdata.NewReservation(opt.Budget)
	defer reserved.Release()
	if err := reserved.Resize(int64(encoders) * zstdTablesBytes); err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(encoders), zstd.WithZeroFrames(true),
		zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, err
	}
	const noiseBytes = 128 << 10 // whose hashes are in all pages of the tables
	noise, rng := make([]byte, 0, noiseBytes), rand.NewPCG(1, 1)
	for len(noise) < noiseBytes {
		noise = binary.LittleEndian.AppendUint64(noise, rng.Uint64())
	}
	for range encoders { // they take turns
		encoder.EncodeAll(noise, nil)
	}
	return zstdCodec{library, encoder}, nil
}

// EncodeLevel implements pageCodec.
func (c zstdCodec) EncodeLevel(dst, src []byte, _ int) []byte { return c.encoder.EncodeAll(src, dst) }

// snappyCodec is package snappy as a pageCodec.
type snappyCodec struct{}

func (snappyCodec) EncodeLevel(dst, src []byte, _ int) []byte { return snappy.Encode(dst, src) }
func (snappyCodec) CompressBound(n int64) int64               { return int64(snappy.Bound(int(n))) }

// brotliCodec compresses at the levels that take long, in pieces that each end a block of Brotli's: the
// time of a block grows with the square of what it holds, and between pieces ctx is looked at. A page
// of 256 KiB of row numbers takes 0.4 s at level 11 in pieces, 1.5 s and twice the bytes in one.
type brotliCodec struct {
	compress.Codec
	ctx context.Context
}

const (
	brotliPieceBytes = 32 << 10
	brotliSlowLevel  = 10 // the lowest level that takes a second for a megabyte
)

// isSlow says whether a page takes so long to compress that a caller who interrupts would wait.
func (o *Options) isSlow() bool { return o.Codec == "brotli" && o.Level >= brotliSlowLevel }

// EncodeLevel returns a page that is cut short when ctx is done.
func (c brotliCodec) EncodeLevel(dst, src []byte, level int) []byte {
	if level < brotliSlowLevel {
		return c.Codec.EncodeLevel(dst, src, level)
	}
	out := bytes.NewBuffer(dst[:0])
	w := brotli.NewWriterLevel(out, level) // no write to a buffer fails
	for piece := range slices.Chunk(src, brotliPieceBytes) {
		if c.ctx.Err() != nil {
			return out.Bytes()
		}
		_, _ = w.Write(piece)
		_ = w.Flush()
	}
	_ = w.Close()
	return out.Bytes()
}

// CompressBound leaves room for the ends of the pieces.
func (c brotliCodec) CompressBound(n int64) int64 {
	return c.Codec.CompressBound(n) + 16*(n/brotliPieceBytes+1)
}

// statisticsBytesMax is the longest value that statistics hold. A chunk without statistics is read.
const statisticsBytesMax = 4096

// endPage compresses the open page.
func (c *wordColumn) endPage() error {
	if c.rows == 0 {
		return nil
	}
	encoding := parquet.Encodings.Plain
	if len(c.codes) > 0 {
		c.boundCodes()
		encoding = parquet.Encodings.RLEDict
		c.codedPages++
		width := c.dict.codeBits()
		c.plain = appendHybrid(append(c.plain, byte(width)), c.codes, width)
	}
	raw := c.plain[levelBytesMax:]
	if c.nullable {
		raw = c.plain[putLevels(c.plain[:levelBytesMax], c.valid, c.rows, c.rowNulls):]
	}
	if err := c.appendPage(pageHeader{values: c.rows, encoding: encoding}, raw); err != nil {
		return err
	}
	last := &c.pages[len(c.pages)-1]
	last.rows = int64(c.rows)
	last.stats = c.statistics(&c.pageBounds, int64(c.rowNulls), indexBytesMax)
	last.stats.AllNullValue = c.rowNulls == c.rows
	c.bounds.merge(&c.pageBounds)
	c.pageBounds.reset(c.form.kind)
	c.values += int64(c.rows)
	c.nulls += int64(c.rowNulls)
	c.rows, c.rowNulls = 0, 0
	c.codes, c.plain = c.codes[:0], c.plain[:levelBytesMax]
	return nil
}

// appendPage compresses a page into c.out, behind its header.
func (c *wordColumn) appendPage(h pageHeader, raw []byte) error {
	if len(raw) > math.MaxInt32 {
		return fmt.Errorf("values of %d B together are more than a page of parquet takes: write arrow", len(raw))
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	start := len(c.out)
	room := len(raw)
	if c.codec != nil {
		room = int(c.codec.CompressBound(int64(room)))
	}
	c.out = slices.Grow(c.out, headerBytesMax+room)
	body := start + headerBytesMax
	packed := raw
	if c.codec != nil {
		packed = c.codec.EncodeLevel(c.out[body:body:body+room], raw, c.level)
	}
	if c.ctx.Err() != nil { // the codec may have been cut short
		return context.Cause(c.ctx)
	}
	c.out = append(c.out[:body], packed...) // where the codec has not put it there already
	var buf [headerBytesMax]byte
	h.raw, h.packed = len(raw), len(packed)
	header := h.append(buf[:0])
	copy(c.out[body-len(header):body], header)
	c.pages = append(c.pages, page{from: body - len(header), to: len(c.out),
		raw: len(header) + len(raw), coded: h.encoding == parquet.Encodings.RLEDict})
	return nil
}

func (c *wordColumn) held() int {
	return len(c.out) + len(c.plain) - levelBytesMax + 4*len(c.codes) + c.dict.bytes + 8*len(c.dict.words)
}

// finish writes the chunk: the dictionary, if it has one, and the pages.
func (c *wordColumn) finish(to *countingWriter) error {
	if c.coded && c.codedPages == 0 && 2*c.dict.len() > len(c.codes) {
		c.giveUp() // the dictionary would not even be smaller
	}
	if err := c.endPage(); err != nil {
		return err
	}
	info := metadata.ChunkMetaInfo{NumValues: c.values, IndexPageOffset: -1}
	stats := metadata.EncodingStats{DictEncodingStats: map[parquet.Encoding]int32{},
		DataEncodingStats: map[parquet.Encoding]int32{}}
	write := func(p page) error {
		info.UncompressedSize += int64(p.raw)
		info.CompressedSize += int64(p.to - p.from)
		_, err := to.Write(c.out[p.from:p.to])
		return err
	}
	data := len(c.pages)
	hasDictionary := c.codedPages > 0
	if hasDictionary {
		values := c.form.plain(c.plain[:levelBytesMax], c.dict.words)[levelBytesMax:]
		if err := c.appendPage(pageHeader{values: c.dict.len(), dictionary: true,
			encoding: parquet.Encodings.Plain}, values); err != nil {
			return err
		}
		info.DictPageOffset = to.bytes
		stats.DictEncodingStats[parquet.Encodings.Plain] = 1
		if err := write(c.pages[data]); err != nil {
			return err
		}
	}
	info.DataPageOffset = to.bytes
	if err := c.index.add(c.pages[:data], to.bytes); err != nil {
		return err
	}
	for _, p := range c.pages[:data] {
		encoding := parquet.Encodings.Plain
		if p.coded {
			encoding = parquet.Encodings.RLEDict
		}
		stats.DataEncodingStats[encoding]++
		if err := write(p); err != nil {
			return err
		}
	}
	c.chunk.SetStats(c.statistics(&c.bounds, c.nulls, statisticsBytesMax))
	return c.chunk.Finish(info, hasDictionary, hasDictionary && !c.coded, stats)
}

// statistics returns the statistics of a chunk or a page; bounds of more than bytesMax bytes are
// left out.
func (c *wordColumn) statistics(b *bounds, nulls int64, bytesMax int) metadata.EncodedStatistics {
	stats := metadata.EncodedStatistics{Signed: c.form.kind.signed()}
	stats.SetNullCount(nulls)
	if low, high, ok := b.values(&c.form); ok {
		stats.SetMin(low).SetMax(high)
		stats.ApplyStatSizeLimits(bytesMax)
	}
	return stats
}
