package logical

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// scanOptions adds the arguments of a reader to the options of the statement.
func (b *binder) scanOptions(s *sql.Select, f *sql.Files) (dataset.Options, error) {
	opt := b.opt.Scan
	if format, ok := strings.CutPrefix(f.Function, "read_"); ok {
		opt.Format = dataset.Format(format)
	} else if format, ok := strings.CutSuffix(f.Function, "_scan"); ok {
		opt.Format = dataset.Format(format)
	}
	for _, o := range f.Options {
		if err := setReaderOption(&opt, o); err != nil {
			return opt, s.ErrorAt(o.At, f.Function+": "+err.Error())
		}
	}
	return opt, nil
}

// rollupOf reads the arguments of a roll-up.
func rollupOf(s *sql.Select, f *sql.Files) (of Rollup, err error) {
	if of.Dir = f.Patterns[0]; len(f.Patterns) > 1 {
		return of, s.ErrorAt(f.At, "rollup: the first argument is the directory of one state")
	}
	for _, o := range f.Options {
		texts := o.Texts()
		switch {
		case o.Name == "by" && (texts != nil || o.Value == nil && len(o.List) == 0):
			of.By = append([]string{}, texts...)
		case o.Name == "filter" && len(texts) == 1 && o.Value != nil && strings.TrimSpace(texts[0]) != "":
			of.Filter = texts[0]
		case o.Name == "by" || o.Name == "filter":
			return of, s.ErrorAt(o.At, "rollup: want by = ['key', ...] and filter = 'condition'")
		default:
			const known = "rollup: there is no option %s%s; there are by and filter"
			return of, s.ErrorAt(o.At, fmt.Sprintf(known, o.Name, nearest.Offer(o.Name, []string{"by", "filter"})))
		}
	}
	return of, nil
}

func setReaderOption(opt *dataset.Options, o sql.Option) (err error) {
	var known []string
	for _, option := range options.All() {
		if !option.IsOf(opt.Format) {
			continue
		}
		names := option.SQL()
		if !slices.Contains(names, o.Name) {
			known = append(known, names[0])
			continue
		}
		value, isTaken, want := argument(o, option)
		switch {
		case !isTaken && o.Value == nil:
			return fmt.Errorf("%s: want %s", o.Name, want)
		case !isTaken:
			return fmt.Errorf("%s = %s: want %s", o.Name, o.Value, want)
		case option.Kind == options.Fixed:
			return nil
		case option.Kind == options.Types:
			if value, err = typedColumns(o); err != nil {
				return err
			}
		}
		return option.Set(opt, opt.Format, value)
	}
	return errors.New("there is no option " + o.Name + nearest.Offer(o.Name, known) + "; there is " + strings.Join(known, ", "))
}

// argument reads an argument as a value of an option, but for types of columns; want says what the
// option takes.
func argument(o sql.Option, option *options.Option) (value any, isTaken bool, want string) {
	var constant any
	if o.Value != nil {
		constant = o.Value.Value
	}
	text, isText := constant.(string)
	truth, isTruth := constant.(bool)
	n, isNumber := constant.(int64)
	if isNumber && (n == 0 || n == 1) {
		truth, isTruth = n == 1, true
	}
	isWhole := isNumber && o.Value.Type.ID != expr.Decimal
	isNumber = isWhole && n < 1<<31
	words := option.Words()
	switch option.Kind {
	case options.Char, options.CharOrNone:
		if text == `\t` {
			text = "\t"
		}
		isTaken = isText && len(text) <= 1 && (text != "" || option.Kind == options.CharOrNone)
		return text, isTaken, "one ASCII character in quotes"
	case options.Text, options.Word:
		return text, isText, "text in quotes"
	case options.Mark:
		if isWhole {
			text = strconv.FormatInt(n, 10)
		}
		return text, text != "", "a whole number, or text in quotes"
	case options.Texts:
		texts := o.Texts()
		return texts, len(texts) > 0, "text in quotes, or a list of such"
	case options.Truth:
		return truth != option.Not, isTruth, "true or false"
	case options.Switch:
		if truth {
			return words[len(words)-2], isTruth, ""
		}
		return words[len(words)-1], isTruth, "true or false"
	case options.Number:
		return int(n), isNumber && n >= 0, "a whole number from 0 on"
	case options.Size:
		return int(n), isNumber && n >= 1, "a whole number from 1 on"
	case options.Rows:
		return int(n), isNumber && n >= -1 && n != 0, "a number of rows from 1 on, or -1 for all"
	case options.Types:
		return nil, len(o.Names) > 0, "{'name': 'TYPE', ...}"
	default: // options.Fixed
		isTaken = o.Value != nil && strings.EqualFold(o.Value.String(), words[0])
		return nil, isTaken, words[0] + ", which is all that there is"
	}
}

// typedColumns takes {'name': 'TYPE', ...}.
func typedColumns(o sql.Option) (options.Columns, error) {
	types := map[string]arrow.DataType{}
	for i, name := range o.Names {
		text, _ := o.List[i].Value.(string)
		s, err := sql.ParseItems("CAST(NULL AS " + text + ")")
		if err != nil || text == "" || len(s.Items) != 1 || s.Items[0].Expr.Op != expr.OpCast {
			const why = "%s: column %s: no type is written %s; as in 'INTEGER' or 'DECIMAL(9, 2)'"
			return options.Columns{}, fmt.Errorf(why, o.Name, name, o.List[i])
		}
		types[name] = s.Items[0].Expr.Type.Arrow()
	}
	return options.Columns{Names: o.Names, Types: types}, nil
}
