package lake

import (
	"encoding/json"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// addStats adds what the log of Delta says of the values of a file, in JSON. What cannot be read says nothing. L3.
func (f *File) addStats(stats string, columns []Column) {
	var of struct {
		Rows      *int64 `json:"numRecords"`
		MinValues map[string]json.RawMessage
		MaxValues map[string]json.RawMessage
		NullCount map[string]json.RawMessage
	}
	if json.Unmarshal([]byte(stats), &of) != nil || of.Rows == nil || *of.Rows < 0 {
		return
	}
	f.Rows = *of.Rows
	f.Bounds = map[string]predicate.Bounds{}
	f.addBounds(columns, nil, of.MinValues, of.MaxValues, of.NullCount)
}

// addBounds adds the bounds of columns, which structs have within each other.
func (f *File) addBounds(columns []Column, path []string, low, high, nulls map[string]json.RawMessage) {
	for i := range columns {
		c := &columns[i]
		name := c.Name
		if c.Physical != "" {
			name = c.Physical
		}
		at := append(path[:len(path):len(path)], c.Name)
		if c.Type.ID() == arrow.STRUCT {
			within := func(of map[string]json.RawMessage) (parts map[string]json.RawMessage) {
				if json.Unmarshal(of[name], &parts) != nil {
					return nil
				}
				return parts
			}
			if len(at) <= depthMax {
				f.addBounds(c.Parts, at, within(low), within(high), within(nulls))
			}
			continue
		}
		b := predicate.Bounds{Low: jsonValue(low[name], c.Type, false), High: jsonValue(high[name], c.Type, true)}
		var n int64
		if nulls[name] != nil && json.Unmarshal(nulls[name], &n) == nil {
			b.NoNulls, b.AllNulls = n == 0, n == f.Rows && n > 0
		}
		b.Check()
		if _, taken := f.Bounds[leafName(at)]; taken { // a.b may be a column, and a field of a struct a
			b = predicate.Bounds{}
		}
		f.Bounds[leafName(at)] = b
	}
}

// millisecond is how exactly Spark writes times: it cuts off what is below.
const millisecond = 1000 // microseconds

// exactDigits is how many digits a double has, and so a bound of a decimal that was written as one.
const exactDigits = 15

// jsonValue returns a bound of a column as JSON has it; nil where it bounds nothing.
func jsonValue(text json.RawMessage, t arrow.DataType, isHigh bool) *predicate.Value {
	family, scale, _ := predicate.FamilyOf(t)
	v := predicate.Value{Family: family}
	var s string
	isText := json.Unmarshal(text, &s) == nil
	switch {
	case len(text) == 0 || string(text) == "null":
		return nil
	case family == predicate.NumberFamily && !isText && !strings.ContainsAny(string(text), "eE"): // it may be huge
		n, ok := new(big.Rat).SetString(string(text))
		if !ok || scale > 0 && len(text) > exactDigits { // delta-rs has decimals as doubles
			return nil
		}
		n.Mul(n, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		if !n.IsInt() {
			return nil
		}
		v = predicate.BigValue(family, n.Num())
	case family == predicate.FloatFamily && !isText:
		if json.Unmarshal(text, &v.Float) != nil {
			return nil
		}
	case t.ID() == arrow.STRING && isText:
		v.Bytes = []byte(s)
	case t.ID() == arrow.DATE32 && isText:
		day, err := time.Parse(time.DateOnly, s)
		if err != nil {
			return nil
		}
		v.Integer = day.Unix() / (24 * 3600)
	case t.ID() == arrow.TIMESTAMP && isText:
		at, err := parseTime(strings.TrimSuffix(s, "[UTC]"))
		if err != nil {
			return nil
		}
		if v.Integer = at.UnixMicro(); isHigh {
			v.Integer += millisecond
		}
	default:
		return nil
	}
	return &v
}
