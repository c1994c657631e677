package expr

import "strings"

// Window is the rows that a window function takes for a row.
type Window struct {
	Args        int // of the function: the first arguments of the expression
	Partition   int // expressions of PARTITION BY: the next arguments
	IgnoreNulls bool

	Frame      FrameUnit // "" where no frame is written
	Start, End FrameBound
	Exclude    FrameExclusion
}

// FrameUnit says what the offsets of a frame count.
type FrameUnit string

// The units of frames.
const (
	FrameRows   FrameUnit = "ROWS"
	FrameRange  FrameUnit = "RANGE"  // the distance of the value that the window is ordered by
	FrameGroups FrameUnit = "GROUPS" // of rows that are equal in the window's order: peers
)

// FrameBound is where a frame begins or ends.
type FrameBound string

// The bounds of frames.
const (
	UnboundedPreceding FrameBound = "UNBOUNDED PRECEDING"
	OffsetPreceding    FrameBound = "PRECEDING"
	CurrentRow         FrameBound = "CURRENT ROW" // of RANGE and GROUPS: its first peer, or its last
	OffsetFollowing    FrameBound = "FOLLOWING"
	UnboundedFollowing FrameBound = "UNBOUNDED FOLLOWING"
)

// HasOffset says whether an expression stands before the bound.
func (b FrameBound) HasOffset() bool { return b == OffsetPreceding || b == OffsetFollowing }

// FrameExclusion says which rows a frame lacks.
type FrameExclusion string

// The exclusions.
const (
	ExcludeNone    FrameExclusion = ""
	ExcludeCurrent FrameExclusion = "CURRENT ROW"
	ExcludeGroup   FrameExclusion = "GROUP" // the row and its peers
	ExcludeTies    FrameExclusion = "TIES"  // its peers without the row itself
)

// windowText returns a window function as SQL.
func (e *Expr) windowText() string {
	w := e.Value.(Window)
	var text strings.Builder
	name, distinct := e.Name, ""
	if e.Distinct {
		distinct = "distinct "
	}
	args := joined(e.Args[:w.Args], ", ")
	if name == "count_star" {
		name, args = "count", "*"
	}
	if w.IgnoreNulls {
		args += " IGNORE NULLS"
	}
	text.WriteString(name + "(" + distinct + args + ")" + e.filterText() + " OVER (")
	rest := e.Args[w.Args:]
	var parts []string
	if w.Partition > 0 {
		parts = append(parts, "PARTITION BY "+joined(rest[:w.Partition], ", "))
	}
	if orders := make([]string, len(e.OrderBy)); len(orders) > 0 {
		for i, o := range e.OrderBy {
			orders[i] = o.upper()
		}
		parts = append(parts, "ORDER BY "+strings.Join(orders, ", "))
	}
	if w.Frame != "" {
		rest = rest[w.Partition:]
		bound := func(b FrameBound) string {
			if !b.HasOffset() {
				return string(b)
			}
			offset := rest[0]
			rest = rest[1:]
			return offset.String() + " " + string(b)
		}
		frame := string(w.Frame) + " BETWEEN " + bound(w.Start)
		frame += " AND " + bound(w.End)
		if w.Exclude != ExcludeNone {
			frame += " EXCLUDE " + string(w.Exclude)
		}
		parts = append(parts, frame)
	}
	text.WriteString(strings.Join(parts, " ") + ")")
	return text.String()
}

// upper returns an element of an order as windows have it in the names of columns.
func (o Order) upper() string { return o.text(" DESC", " NULLS FIRST") }

// FirstWindow returns the first window function in an expression, or nil.
func (e *Expr) FirstWindow() *Expr { return e.First(func(x *Expr) bool { return x.Op == OpWindow }) }
