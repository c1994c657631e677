package gen

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
)

var money = &arrow.Decimal128Type{Precision: 15, Scale: 2}

// The columns of lineitem, by number.
const (
	lOrderkey = iota
	lPartkey
	lSuppkey
	lLinenumber
	lQuantity
	lExtendedprice
	lDiscount
	lTax
	lReturnflag
	lLinestatus
	lShipdate
	lCommitdate
	lReceiptdate
	lShipinstruct
	lShipmode
	lComment
	lineitemColumns
)

var lineitemSchema = arrow.NewSchema([]arrow.Field{
	{Name: "l_orderkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_partkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_suppkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_linenumber", Type: arrow.PrimitiveTypes.Int32},
	{Name: "l_quantity", Type: money},
	{Name: "l_extendedprice", Type: money},
	{Name: "l_discount", Type: money},
	{Name: "l_tax", Type: money},
	{Name: "l_returnflag", Type: arrow.BinaryTypes.String},
	{Name: "l_linestatus", Type: arrow.BinaryTypes.String},
	{Name: "l_shipdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_commitdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_receiptdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_shipinstruct", Type: arrow.BinaryTypes.String},
	{Name: "l_shipmode", Type: arrow.BinaryTypes.String},
	{Name: "l_comment", Type: arrow.BinaryTypes.String},
}, nil)

// The dates of the TPC-H specification, section 4.2.2.12, as days since 1970-01-01.
var (
	startDate   = day(1992, 1, 1)
	endDate     = day(1998, 12, 31)
	currentDate = day(1995, 6, 17)
)

func day(year int, month time.Month, d int) int64 {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

var (
	shipInstructs = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	shipModes     = []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
	commentWords  = []string{
		"about", "accounts", "across", "bold", "carefully", "courts", "deposits", "express", "final",
		"furiously", "ideas", "ironic", "instructions", "packages", "pending", "quickly", "regular",
		"requests", "sleep", "the", "theodolites", "unusual",
	}
)

// The proportions of the specification at scale factor 1.
const (
	ordersPerScale    = 1_500_000
	partsPerScale     = 200_000
	suppliersPerScale = 10_000
	scaleMax          = 1e6
)

// The orders of a round have 1, 2, ... 7 lines, each number once, in random order: 28 lines in all.
// The specification draws each order's number of lines independently, with the same mean. In rounds, the
// first row of any round is known without drawing the rounds before it.
const (
	ordersPerRound = 7
	linesPerRound  = 28
	roundsPerBlock = blockRows / linesPerRound
)

// lineitem makes the rows of the table.
type lineitem struct {
	seed                     uint64
	orders, parts, suppliers int64
	starts                   []int64
}

// Lineitem returns a table like TPC-H's lineitem: its columns with the distributions of the
// specification, section 4.2.3, but for comments, which are random words, and the number of rows,
// which is 4 per order within a few: 6,000,000 at scale 1.
func Lineitem(scale float64, seed uint64) (*Table, error) {
	if !(scale > 0 && scale <= scaleMax) {
		return nil, fmt.Errorf("scale (%v) must be in (0, %v]", scale, scaleMax)
	}
	times := func(n float64) int64 { return max(1, int64(math.Round(n*scale))) }
	g := &lineitem{
		seed:   seed,
		orders: times(ordersPerScale), parts: times(partsPerScale), suppliers: times(suppliersPerScale),
	}
	rounds, rest := g.orders/ordersPerRound, g.orders%ordersPerRound
	const blockLines = roundsPerBlock * linesPerRound
	for block := int64(0); block*roundsPerBlock*ordersPerRound < g.orders; block++ {
		g.starts = append(g.starts, block*blockLines)
	}
	rows := rounds * linesPerRound
	// rest orders begin a last, incomplete round. Their numbers of lines follow from its random order alone.
	lines := g.lines(rounds)
	for i := range rest {
		rows += int64(lines[i])
	}
	g.starts = append(g.starts, rows)
	name := fmt.Sprintf("lineitem at scale %v", scale)
	return &Table{name: name, schema: lineitemSchema, columns: g.stats(), starts: g.starts, open: g.open}, nil
}

// lines returns how many lines each order of a round has.
func (g *lineitem) lines(round int64) [ordersPerRound]int {
	r := newRNG(g.seed, lOrderkey, int(round))
	lines := [ordersPerRound]int{1, 2, 3, 4, 5, 6, 7}
	for i := len(lines) - 1; i > 0; i-- {
		j := r.below(uint64(i + 1))
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

func (g *lineitem) stats() []scan.ColumnStats {
	stats := make([]scan.ColumnStats, lineitemColumns)
	for c := range stats {
		stats[c].NoNulls = true
	}
	within := func(c int, low, high int64) { stats[c].HasRange, stats[c].Min, stats[c].Max = true, low, high }
	within(lOrderkey, 1, orderKey(g.orders-1))
	within(lPartkey, 1, g.parts)
	within(lSuppkey, 1, g.suppliers)
	within(lLinenumber, 1, ordersPerRound)
	within(lShipdate, startDate+1, endDate)
	within(lCommitdate, startDate+30, endDate)
	within(lReceiptdate, startDate+2, endDate)
	return stats
}

// orderKey returns the key of the i-th order: the specification uses 8 of each 32 keys.
func orderKey(i int64) int64 { return i/8*32 + i%8 + 1 }

// line is a row, without its comment. Each column has its value in one of the two.
type line struct {
	numbers [lineitemColumns]int64 // quantity in units, money in cents, rates in percent, dates in days
	texts   [lineitemColumns]string
}

// lineRows draws the lines of a split one after the other.
type lineRows struct {
	g         *lineitem
	r         *rng
	order     int64 // the current one
	orderdate int64
	lines     [ordersPerRound]int // of the orders of its round
	done      int                 // lines of the order
	line      line                // the last
}

func (g *lineitem) rows(split int) *lineRows {
	it := &lineRows{g: g, r: newRNG(g.seed, lPartkey, split), order: int64(split) * roundsPerBlock * ordersPerRound}
	it.startOrder()
	return it
}

func (it *lineRows) startOrder() {
	if it.order%ordersPerRound == 0 {
		it.lines = it.g.lines(it.order / ordersPerRound)
	}
	it.orderdate = it.r.between(startDate, endDate-151)
	it.done = 0
}

// next draws a line by section 4.2.3 of the specification. It is valid until the next call.
func (it *lineRows) next() *line {
	if it.done == it.lines[it.order%ordersPerRound] {
		it.order++
		it.startOrder()
	}
	it.done++
	g, r := it.g, it.r
	l := &it.line
	n := &l.numbers
	n[lOrderkey], n[lLinenumber] = orderKey(it.order), int64(it.done)
	n[lPartkey] = r.between(1, g.parts)
	n[lSuppkey] = (n[lPartkey]+r.between(0, 3)*(g.suppliers/4+(n[lPartkey]-1)/g.suppliers))%g.suppliers + 1
	n[lQuantity] = r.between(1, 50)
	n[lExtendedprice] = n[lQuantity] * (90_000 + n[lPartkey]/10%20_001 + 100*(n[lPartkey]%1000))
	n[lDiscount] = r.between(0, 10)
	n[lTax] = r.between(0, 8)
	n[lShipdate] = it.orderdate + r.between(1, 121)
	n[lCommitdate] = it.orderdate + r.between(30, 90)
	n[lReceiptdate] = n[lShipdate] + r.between(1, 30)
	l.texts[lReturnflag], l.texts[lLinestatus] = "N", "F"
	if returned := r.below(2); n[lReceiptdate] <= currentDate {
		l.texts[lReturnflag] = "RA"[returned : returned+1]
	}
	if n[lShipdate] > currentDate {
		l.texts[lLinestatus] = "O"
	}
	l.texts[lShipinstruct] = shipInstructs[r.below(uint64(len(shipInstructs)))]
	l.texts[lShipmode] = shipModes[r.below(uint64(len(shipModes)))]
	return l
}

func (g *lineitem) open(split int, columns []int) filler {
	it, comments := g.rows(split), newRNG(g.seed, lComment, split)
	return func(mem memory.Allocator, rows int) []arrow.Array {
		builders := make([]array.Builder, len(columns))
		appends := make([]func(*line), len(columns))
		for i, c := range columns {
			builders[i] = array.NewBuilder(mem, lineitemSchema.Field(c).Type)
			builders[i].Reserve(rows)
			appends[i] = lineAppender(c, builders[i], comments)
		}
		for range rows {
			l := it.next()
			for _, add := range appends {
				add(l)
			}
		}
		arrays := make([]arrow.Array, len(columns))
		for i, b := range builders {
			arrays[i] = withoutBitmap(b.NewArray())
			b.Release()
		}
		return arrays
	}
}

// lineAppender returns what appends a column's value of a line to its builder.
func lineAppender(column int, b array.Builder, comments *rng) func(*line) {
	switch b := b.(type) {
	case *array.Int64Builder:
		return func(l *line) { b.UnsafeAppend(l.numbers[column]) }
	case *array.Int32Builder:
		return func(l *line) { b.UnsafeAppend(int32(l.numbers[column])) }
	case *array.Date32Builder:
		return func(l *line) { b.UnsafeAppend(arrow.Date32(l.numbers[column])) }
	case *array.Decimal128Builder:
		times := int64(1)
		if column == lQuantity {
			times = 100
		}
		return func(l *line) { b.UnsafeAppend(decimal128.FromI64(l.numbers[column] * times)) }
	}
	text := b.(*array.StringBuilder)
	if column != lComment {
		return func(l *line) { text.Append(l.texts[column]) }
	}
	var buf []byte
	return func(*line) {
		buf = appendComment(buf[:0], comments)
		text.BinaryBuilder.Append(buf)
	}
}

// appendComment appends 10 to 43 characters of words.
func appendComment(dst []byte, r *rng) []byte {
	length := int(r.between(10, 43))
	for len(dst) < length {
		if len(dst) > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, commentWords[r.below(uint64(len(commentWords)))]...)
	}
	return dst[:length]
}
