package textfile

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/redact"
)

// Check refuses rows that are left out, where they are more than a limit allows of all rows that were read. The rows
// are written to a path; "": to none.
func (r *Rejects) Check(limit, path string) error {
	most, err := ParseRejectsLimit(limit)
	rejected, rows := r.Count(), r.Count()+r.taken.Load()
	if err != nil || limit == "" || most.allows(rejected, rows) {
		return err
	}
	share := strings.TrimSuffix(fmt.Sprintf("%.2f", 100*float64(rejected)/float64(rows)), ".00")
	where := knob.Errorf("%s has them", redact.URL(path))
	if path == "" {
		where = knob.Errorf("%s writes them to a file", knob.Name("dataset.CSV.Rejects"))
	}
	return knob.Errorf("%w: %s of %s (%s%%), and %s allows %s; %w", ErrRejects, humanize.Comma(rejected),
		digits.Counted(rows, "row"), share, knob.Name("dataset.CSV.MaxRejects"), limit, where)
}

// ErrRejects is the error of input that has more rows with errors than are allowed.
var ErrRejects = errors.New("too many rows with errors")

// RejectsLimit says how many rows may be left out.
type RejectsLimit struct {
	number  *big.Rat // nil: any number
	percent bool     // of the rows that were read
}

// rejectsLimit is a number of rows, or a percentage with a fraction.
var rejectsLimit = regexp.MustCompile(`^([0-9]{1,18}|[0-9]{1,3}(\.[0-9]{1,9})?%)$`)

// ParseRejectsLimit reads a number of rows as 100, or a part of all rows as 1% or 0.05%; "" allows
// all.
func ParseRejectsLimit(text string) (limit RejectsLimit, err error) {
	if text == "" {
		return limit, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	limit = RejectsLimit{new(big.Rat), percent}
	if rejectsLimit.MatchString(text) {
		limit.number.SetString(number)
	}
	if !rejectsLimit.MatchString(text) || percent && limit.number.Cmp(big.NewRat(100, 1)) > 0 {
		return limit, fmt.Errorf("%q: want a number of rows as 100, or a part of all rows as 1%%", text)
	}
	return limit, nil
}

// allows says whether some rows of all may be left out.
func (l RejectsLimit) allows(rejected, rows int64) bool {
	if l.number == nil {
		return true
	}
	most := l.number
	if l.percent {
		most = new(big.Rat).Mul(most, big.NewRat(rows, 100))
	}
	return most.Cmp(new(big.Rat).SetInt64(rejected)) >= 0
}
