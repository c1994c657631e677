package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Op is the form of an expression.
type Op uint8

// The forms.
const (
	OpColumn    Op = iota // Name
	OpConstant            // Value, of type Type
	OpCall                // function or operator Name of Args
	OpCast                // Args[0] to Type
	OpTryCast             // Args[0] to Type, or NULL where that fails
	OpAggregate           // aggregate function Name of Args; taken out before an expression is bound
	// the parameter whose number, from 1, is Value; replaced by its value before an expression is
	// bound
	OpParameter

	// the rows of the statement that Value, a fmt.Stringer, is, as Name says; replaced by a column before an
	// expression is bound. Args are what the rows are compared with, then the columns that the statement
	// reads of the rows around it
	OpSubquery

	// window function Name of rows around each row, as Value, a Window, says; replaced by a column before an
	// expression is bound. Args are the function's arguments, then what PARTITION BY has, then the offsets of
	// the frame; OrderBy is the window's
	OpWindow

	OpLambda // a function of elements of lists: Args are its parameters, and what it returns
	OpLocal  // a parameter Name of a lambda, which Value, an int64, tells from others
)

// Expr is an expression before it meets a schema. Operators are calls of their sign; CASE is a call
// of "case", with conditions and results in turns, and perhaps the result of ELSE.
type Expr struct {
	Op    Op
	Name  string // of a column or a function; "" of other forms
	Type  Type   // of a constant, or the type that a cast leads to
	Value any    // nil, bool, int64, float64, decimal128.Num, string or IntervalValue, by Type; or see OpSubquery, Tell
	Args  []*Expr
	At    int // first byte in the text that the expression was read from, for errors; -1 without a text
	ID    ID  // of a column whose name has been looked up in a plan; else 0

	// Path is the parts of the name of a column that is written in parts, until the column is looked
	// up: a column and the fields of structs that lead to a value, as a, b of a.b. nil of other
	// columns and forms. Name is the name for people then.
	Path      []string
	Qualified bool // Path may as well begin with the name of a table, which comes first

	Distinct bool    // of an aggregate, or of one over a window
	Filter   *Expr   // of the same; nil for all rows
	OrderBy  []Order // of the same
}

// ID tells the columns of a plan apart, from 1 on: names are for people, and two tables may have the same.
type ID int32

// Order is one element of ORDER BY.
type Order struct {
	Expr       *Expr
	Descending bool
	NullsFirst bool
}

// String returns the element as SQL.
func (o Order) String() string { return o.text(" desc", " nulls first") }

func (o Order) text(descending, nullsFirst string) string {
	text := o.Expr.String()
	if o.Descending {
		text += descending
	}
	if o.NullsFirst {
		text += nullsFirst
	}
	return text
}

// IntervalValue is the value of an interval.
type IntervalValue struct{ Months, Days, Micros int64 }

// Error is the error of an expression that does not suit the columns.
type Error struct {
	Message string
	At      int // first byte of the place in the text, or -1

	Texts []string // the columns that do not suit because they are text
	Cause error    // has the part of Message that names options; nil where none is named
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func errorAt(at int, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), At: at}
}

// Column returns the expression that is a column.
func Column(name string) *Expr { return &Expr{Op: OpColumn, Name: name, At: -1} }

// Call returns a function or an operator of arguments.
func Call(name string, args ...*Expr) *Expr {
	return &Expr{Op: OpCall, Name: name, Args: args, At: -1}
}

// Cast returns the cast of an expression to a type.
func Cast(x *Expr, t Type) *Expr { return &Expr{Op: OpCast, Type: t, Args: []*Expr{x}, At: -1} }

// Constant returns a constant expression: of nil, a bool, an int64, a float64 or a string.
func Constant(value any) *Expr {
	e := &Expr{Op: OpConstant, Value: value, At: -1}
	switch v := value.(type) {
	case bool:
		e.Type = typeOf(Bool)
	case int64:
		e.Type = typeOf(Int64)
		if int64(int32(v)) == v {
			e.Type = typeOf(Int32)
		}
	case float64:
		e.Type = typeOf(Float64)
	case string:
		e.Type = typeOf(Text)
	case IntervalValue:
		e.Type = typeOf(Interval)
	}
	return e
}

// Number returns the constant that a text denotes: an integer of the narrowest type from INTEGER
// on, a decimal with as many digits as are written, or, with an exponent or too many digits, a
// double.
func Number(text string) (*Expr, error) {
	plain := strings.ReplaceAll(text, "_", "")
	if v, err := strconv.ParseInt(withoutZeros(plain), 0, 64); err == nil {
		return Constant(v), nil
	}
	e := &Expr{Op: OpConstant, At: -1}
	whole, fraction, pointed := strings.Cut(strings.TrimPrefix(plain, "-"), ".")
	written := len(whole) + len(fraction)
	if !pointed {
		written = len(strings.TrimLeft(whole, "0"))
	}
	switch {
	case written > digitsMax && !pointed && !strings.ContainsAny(plain, "eE"):
		const tooLong = "an integer of %d digits, more than %d; with an exponent, as in 1.5e40, a number is a DOUBLE"
		return nil, fmt.Errorf(tooLong, written, digitsMax)
	case written > digitsMax || strings.ContainsAny(plain, "eE"):
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: no number", text)
		}
		e.Type, e.Value = typeOf(Float64), f
		return e, nil
	case pointed:
		e.Type = decimalOf(max(written, 1), len(fraction))
	default:
		e.Type = typeOf(Huge)
	}
	v, ok := parseDecimal(plain, e.Type.asDecimal())
	if !ok {
		return nil, fmt.Errorf("%s: no number", text)
	}
	e.Value = narrowed(v, e.Type)
	return e, nil
}

// withoutZeros drops the zeros before a decimal number, which Go would take for an octal one.
func withoutZeros(number string) string {
	digits, negative := strings.CutPrefix(number, "-")
	trimmed := strings.TrimLeft(digits, "0")
	switch {
	case trimmed == "" || trimmed[0] < '1' || trimmed[0] > '9':
		return number
	case negative:
		return "-" + trimmed
	}
	return trimmed
}

// Walk calls f for the expression and all its parts, outer parts first. It does not enter an
// expression for which f returns false.
func (e *Expr) Walk(f func(*Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, a := range e.Args {
		a.Walk(f)
	}
	e.Filter.Walk(f)
	for _, o := range e.OrderBy {
		o.Expr.Walk(f)
	}
}

// First returns the first part that a function says yes to, outer parts first; nil where it does so to none.
func (e *Expr) First(is func(*Expr) bool) (found *Expr) {
	e.Walk(func(x *Expr) bool {
		if found == nil && is(x) {
			found = x
		}
		return found == nil
	})
	return found
}

// Replace returns the expression in which another expression stands for each part for which f
// returns one. f is not called for the parts of the other expression. Parts without a replacement
// are shared with the expression.
func (e *Expr) Replace(f func(*Expr) *Expr) *Expr {
	if e == nil {
		return nil
	}
	if r := f(e); r != nil {
		return r
	}
	c := e
	changed := func() *Expr { // the copy that takes the replacements
		if c == e {
			of := *e
			of.Args, of.OrderBy = slices.Clone(e.Args), slices.Clone(e.OrderBy)
			c = &of
		}
		return c
	}
	for i, a := range e.Args {
		if r := a.Replace(f); r != a {
			changed().Args[i] = r
		}
	}
	if r := e.Filter.Replace(f); r != e.Filter {
		changed().Filter = r
	}
	for i, o := range e.OrderBy {
		if r := o.Expr.Replace(f); r != o.Expr {
			changed().OrderBy[i].Expr = r
		}
	}
	return c
}

// Columns returns the names of the columns that the expression reads, each once.
func (e *Expr) Columns() []string {
	var names []string
	e.Walk(func(x *Expr) bool {
		if x.Op == OpColumn && !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
		return true
	})
	return names
}

// Exceeds says whether expressions have more parts than a number.
func Exceeds(parts int, list ...*Expr) bool {
	for _, x := range list {
		x.Walk(func(*Expr) bool {
			parts--
			return parts >= 0
		})
	}
	return parts < 0
}

// Conjunction is the AND of two conditions. Either may be nil.
func Conjunction(a, b *Expr) *Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	x := Call("and", a, b)
	x.At = b.At
	return x
}

// All is the AND of conditions; nil of none.
func All(list ...*Expr) *Expr {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	x := Call("and", list...)
	x.At = list[0].At
	return x
}

// Conjuncts adds the parts of an AND to a list; a condition of another kind is its only part.
func Conjuncts(list []*Expr, of *Expr) []*Expr {
	if of.Op != OpCall || of.Name != "and" {
		return append(list, of)
	}
	for _, part := range of.Args {
		list = Conjuncts(list, part)
	}
	return list
}

// Factored adds the parts of a condition to a list, as Conjuncts does; what all parts of an OR have in common is a part
// of its own: (a AND b) OR (a AND c) is a AND (b OR c).
func Factored(list []*Expr, of *Expr) []*Expr {
	for _, x := range Conjuncts(nil, of) {
		if x.Op == OpCall && x.Name == "or" {
			list = append(list, factoredOr(x)...)
		} else {
			list = append(list, x)
		}
	}
	return list
}

// factoredOr returns the parts that all branches of an OR have, and the OR of what the branches have beside them.
func factoredOr(or *Expr) []*Expr {
	branches := make([]map[string]*Expr, len(or.Args)) // their parts by Key
	for i, arg := range or.Args {
		branches[i] = make(map[string]*Expr)
		for _, x := range Conjuncts(nil, arg) {
			branches[i][x.Key()] = x
		}
	}
	isShared := func(key string) bool {
		return !slices.ContainsFunc(branches, func(b map[string]*Expr) bool { return b[key] == nil })
	}
	var shared []*Expr
	keys := make(map[string]bool) // of shared
	for _, x := range Conjuncts(nil, or.Args[0]) {
		if key := x.Key(); !keys[key] && isShared(key) {
			shared, keys[key] = append(shared, x), true
		}
	}
	if len(shared) == 0 {
		return []*Expr{or}
	}
	rest := Call("or")
	rest.At = or.At
	for _, arg := range or.Args {
		left := slices.DeleteFunc(Conjuncts(nil, arg), func(x *Expr) bool { return keys[x.Key()] })
		if len(left) == 0 { // the branch is TRUE where what is shared is
			return shared
		}
		rest.Args = append(rest.Args, All(left...))
	}
	return append(shared, rest)
}

// IDs calls f with the ID of each column that the expression reads.
func (e *Expr) IDs(f func(ID)) {
	e.Walk(func(x *Expr) bool {
		if x.Op == OpColumn {
			f(x.ID)
		}
		return true
	})
}

// Key returns a text that two expressions share only if they mean the same: String with all names
// in quotes, since a column may be named count(*), or with the IDs of columns that have one.
func (e *Expr) Key() string {
	return e.Replace(func(x *Expr) *Expr {
		switch {
		case x.Op == OpLocal:
			return Column("lambda#" + strconv.FormatInt(x.Value.(int64), 10))
		case x.Value != nil && x.draws():
			return Column(fmt.Sprintf("%s#%d", x.Name, x.Value))
		case x.Op == OpCall && len(x.Args) == 1 && slices.Contains(unwritten, x.Name):
			return Column(x.Name + " " + x.Args[0].Key())
		case x.Op == OpCall && slices.Contains([]string{Flattened, JSONOfList, JSONOfPairs}, x.Name):
			return Column(x.Name + " " + x.Args[1].String() + " " + x.Args[0].Key())
		case x.Op != OpColumn:
			return nil
		case x.ID != 0:
			return Column("#" + strconv.Itoa(int(x.ID)))
		}
		return Column(`"` + strings.ReplaceAll(x.Name, `"`, `""`) + `"`)
	}).String()
}

// String returns the expression as SQL, for people: names stand as they are.
func (e *Expr) String() string {
	switch e.Op {
	case OpColumn, OpLocal:
		return e.Name
	case OpLambda:
		last := len(e.Args) - 1
		return "lambda " + joined(e.Args[:last], ", ") + ": " + e.Args[last].String()
	case OpConstant:
		return constantText(e.Type, e.Value)
	case OpCast:
		return "CAST(" + e.Args[0].String() + " AS " + e.Type.String() + ")"
	case OpTryCast:
		return "TRY_CAST(" + e.Args[0].String() + " AS " + e.Type.String() + ")"
	case OpAggregate:
		return e.aggregateText()
	case OpParameter:
		return fmt.Sprintf("$%d", e.Value)
	case OpSubquery:
		return fmt.Sprint(e.Value)
	case OpWindow:
		return e.windowText()
	}
	return e.callText()
}

func (e *Expr) aggregateText() string {
	if e.Name == "count_star" {
		return "count(*)" + e.filterText()
	}
	distinct := ""
	if e.Distinct {
		distinct = "distinct "
	}
	order := ""
	for i, o := range e.OrderBy {
		if order += ", "; i == 0 {
			order = " order by "
		}
		order += o.String()
	}
	return e.Name + "(" + distinct + joined(e.Args, ", ") + order + ")" + e.filterText()
}

func (e *Expr) filterText() string {
	if e.Filter == nil {
		return ""
	}
	return " FILTER (WHERE " + e.Filter.String() + ")"
}

// infix are the operators that stand between their operands.
var infix = []string{"+", "-", "*", "/", "//", "%", "^", "||", "&", "|", "<<", ">>", "=", "<>", "<", "<=", ">", ">=",
	"and", "or", "like", "ilike", "is distinct from", "is not distinct from"}

// unwritten are functions of one argument whose calls are shown as the argument.
var unwritten = []string{NestedValue, FieldsOfTuples, EqualIntervals, BytesOfValue}

func (e *Expr) callText() string {
	switch {
	case e.Name == RowOf:
		return "(" + joined(e.Args, ", ") + ")"
	case e.Name == Flattened, slices.Contains(unwritten, e.Name):
		return e.Args[0].String()
	case e.Name == JSONCast:
		return "CAST(" + e.Args[0].String() + " AS JSON)"
	case e.Name == TryJSONCast:
		return "TRY_CAST(" + e.Args[0].String() + " AS JSON)"
	case e.Name == JSONOfList: // the list is made for it, and is nothing that was written
		return "json_group_array(...)"
	case e.Name == JSONOfPairs:
		return "json_group_object(...)"
	case e.Name == "case":
		return e.caseText()
	case len(e.Args) == 3 && (e.Name == "like" || e.Name == "ilike"):
		return "(" + joined(e.Args[:2], " "+strings.ToUpper(e.Name)+" ") + " ESCAPE " + e.Args[2].String() + ")"
	case slices.Contains(infix, e.Name) && len(e.Args) >= 2:
		name := e.Name
		if name[0] >= 'a' {
			name = strings.ToUpper(name)
		}
		return "(" + joined(e.Args, " "+name+" ") + ")"
	case len(e.Args) == 1 && slices.Contains([]string{"not", "-", "+", "~"}, e.Name):
		return "(" + strings.ToUpper(e.Name) + " " + e.Args[0].String() + ")"
	case len(e.Args) == 1 && (e.Name == "is null" || e.Name == "is not null"):
		return "(" + e.Args[0].String() + " " + strings.ToUpper(e.Name) + ")"
	case len(e.Args) > 0 && e.Name == "in":
		return "(" + e.Args[0].String() + " IN (" + joined(e.Args[1:], ", ") + "))"
	case len(e.Args) == 3 && e.Name == "between":
		return "(" + e.Args[0].String() + " BETWEEN " + e.Args[1].String() + " AND " + e.Args[2].String() + ")"
	}
	return e.Name + "(" + joined(e.Args, ", ") + ")"
}

func (e *Expr) caseText() string {
	var b strings.Builder
	b.WriteString("CASE")
	i := 0
	for ; i+1 < len(e.Args); i += 2 {
		fmt.Fprintf(&b, " WHEN %s THEN %s", e.Args[i], e.Args[i+1])
	}
	if i < len(e.Args) {
		fmt.Fprintf(&b, " ELSE %s", e.Args[i])
	}
	return b.String() + " END"
}

func joined(args []*Expr, separator string) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	return strings.Join(texts, separator)
}

func constantText(t Type, value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		if t.nested() {
			return formatValue(t, v) + "::" + t.String()
		}
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case IntervalValue:
		return fmt.Sprintf("INTERVAL '%d months %d days %d microseconds'", v.Months, v.Days, v.Micros)
	}
	if t.integer() || t.float() || t.ID == Decimal || t.ID == Bool {
		return formatValue(t, value)
	}
	return "'" + formatValue(t, value) + "'::" + t.String()
}
