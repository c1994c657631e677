package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nearest"
)

// readerOption takes an argument of read_csv, read_json or read_parquet.
type readerOption struct {
	names []string // the usual name first
	of    readers
	set   func(*dataset.Options, sql.Option) error
}

// readers is a set of functions that have an argument.
type readers uint8

const (
	ofCSV readers = 1 << iota
	ofJSON
	ofParquet
)

var readersByName = map[string]readers{"read_csv": ofCSV, "read_json": ofJSON, "read_parquet": ofParquet}

var readerOptions = []readerOption{
	{names: []string{"delim", "sep", "delimiter"}, of: ofCSV, set: func(opt *dataset.Options, o sql.Option) error {
		text, err := character(o)
		if err == nil && text == "" {
			err = wanted(o, "one ASCII character in quotes")
		}
		if err == nil {
			opt.CSV.Delimiter = text[0]
		}
		return err
	}},
	{names: []string{"header"}, of: ofCSV, set: func(opt *dataset.Options, o sql.Option) error {
		truth, err := truthOf(o)
		opt.CSV.Header = csv.HeaderNo
		if truth {
			opt.CSV.Header = csv.HeaderYes
		}
		return err
	}},
	{names: []string{"columns"}, of: ofCSV, set: func(opt *dataset.Options, o sql.Option) error {
		if o.Names == nil {
			return wanted(o, "{'name': 'TYPE', ...}")
		}
		opt.CSV.Names = o.Names
		return setTypes(opt, o)
	}},
	{names: []string{"columns"}, of: ofJSON, set: setJSONColumns},
	{names: []string{"maximum_object_size"}, of: ofJSON, set: into(numberFrom(1), func(opt *dataset.Options) *int { return &opt.JSON.RowLimit })},
	{names: []string{"format"}, of: ofJSON, set: only("'auto'")},
	{names: []string{"records"}, of: ofJSON, set: only("true")},
	{names: []string{"names", "column_names"}, of: ofCSV, set: into(textsOf, func(opt *dataset.Options) *[]string { return &opt.CSV.Names })},
	{names: []string{"types", "dtypes", "column_types"}, of: ofCSV, set: setTypes},
	{names: []string{"all_varchar"}, of: ofCSV, set: into(truthOf, func(opt *dataset.Options) *bool { return &opt.CSV.AllText })},
	{names: []string{"nullstr", "null"}, of: ofCSV, set: into(textsOf, func(opt *dataset.Options) *[]string { return &opt.CSV.NullStrings })},
	{names: []string{"quote"}, of: ofCSV, set: func(opt *dataset.Options, o sql.Option) error {
		text, err := character(o)
		switch {
		case err != nil:
			return err
		case text == "":
			opt.CSV.NoQuote = true
		default:
			opt.CSV.Quote = text[0]
		}
		return nil
	}},
	{names: []string{"escape"}, of: ofCSV, set: into(byteOf,
		func(opt *dataset.Options) *byte { return &opt.CSV.Escape })},
	{names: []string{"skip"}, of: ofCSV, set: into(numberFrom(0), func(opt *dataset.Options) *int { return &opt.CSV.SkipLines })},
	{names: []string{"sample_size"}, of: ofCSV, set: into(sampleOf,
		func(opt *dataset.Options) *int { return &opt.CSV.SampleRows })},
	{names: []string{"sample_size"}, of: ofJSON, set: into(sampleOf,
		func(opt *dataset.Options) *int { return &opt.JSON.SampleRows })},
	{names: []string{"auto_detect"}, of: ofCSV | ofJSON, set: only("true")},
	{names: []string{"compression"}, of: ofCSV | ofJSON, set: only("'auto'")},
	{names: []string{"dateformat", "date_format"}, of: ofCSV, set: into(textOf, func(opt *dataset.Options) *string { return &opt.CSV.DateFormat })},
	{names: []string{"timestampformat", "timestamp_format"}, of: ofCSV, set: into(textOf, func(opt *dataset.Options) *string { return &opt.CSV.TimestampFormat })},
	{names: []string{"decimal_separator"}, of: ofCSV, set: into(byteOf, func(opt *dataset.Options) *byte { return &opt.CSV.DecimalSeparator })},
	{names: []string{"thousands"}, of: ofCSV, set: into(byteOf, func(opt *dataset.Options) *byte { return &opt.CSV.Thousands })},
	{names: []string{"comment"}, of: ofCSV, set: into(byteOf, func(opt *dataset.Options) *byte { return &opt.CSV.Comment })},
	{names: []string{"encoding"}, of: ofCSV, set: func(opt *dataset.Options, o sql.Option) error {
		name, err := textOf(o)
		if err == nil {
			opt.CSV.Encoding, err = csv.ParseEncoding(name)
		}
		return err
	}},
	{names: []string{"null_padding"}, of: ofCSV, set: into(truthOf, func(opt *dataset.Options) *bool { return &opt.CSV.NullPadding })},
	{names: []string{"ignore_errors"}, of: ofCSV, set: into(truthOf, func(opt *dataset.Options) *bool { return &opt.CSV.IgnoreErrors })},
	{names: []string{"filename"}, of: ofCSV | ofJSON | ofParquet, set: into(truthOf, func(opt *dataset.Options) *bool { return &opt.Filename })},
	{names: []string{"hive_partitioning"}, of: ofCSV | ofJSON | ofParquet, set: func(opt *dataset.Options, o sql.Option) error {
		truth, err := truthOf(o)
		opt.NoHive = !truth
		return err
	}},
	{names: []string{"trust_statistics"}, of: ofParquet, set: func(opt *dataset.Options, o sql.Option) error {
		truth, err := truthOf(o)
		opt.DistrustStatistics = !truth
		return err
	}},
}

// scanOptions adds the arguments of a reader to the options of the statement.
func (p *planner) scanOptions(s *sql.Select, f *sql.Files) (dataset.Options, error) {
	opt := p.opt.Scan
	switch f.Function {
	case "read_csv":
		opt.Format = dataset.FormatCSV
	case "read_json":
		opt.Format = dataset.FormatJSON
	case "read_parquet":
		opt.Format = dataset.FormatParquet
	}
	for _, o := range f.Options {
		if err := setReaderOption(&opt, f.Function, o); err != nil {
			return opt, s.ErrorAt(o.At, f.Function+": "+err.Error())
		}
	}
	return opt, nil
}

func setReaderOption(opt *dataset.Options, function string, o sql.Option) error {
	var known []string
	for _, option := range readerOptions {
		if option.of&readersByName[function] == 0 {
			continue
		}
		for i, name := range option.names {
			if name == o.Name {
				return option.set(opt, o)
			}
			if i == 0 {
				known = append(known, name)
			}
		}
	}
	return errors.New("there is no option " + o.Name + nearest.Offer(o.Name, known) + "; there is " + strings.Join(known, ", "))
}

// setTypes takes {'name': 'TYPE', ...}.
func setTypes(opt *dataset.Options, o sql.Option) (err error) {
	opt.CSV.Types, err = typesOf(o)
	return err
}

// setJSONColumns takes the columns that a table of JSON has, other keys being none.
func setJSONColumns(opt *dataset.Options, o sql.Option) (err error) {
	opt.JSON.Names = o.Names
	opt.JSON.Types, err = typesOf(o)
	return err
}

func typesOf(o sql.Option) (map[string]arrow.DataType, error) {
	types := map[string]arrow.DataType{}
	for i, name := range o.Names {
		text, _ := o.List[i].Value.(string)
		s, err := sql.ParseItems("CAST(NULL AS " + text + ")")
		if err != nil || text == "" || len(s.Items) != 1 || s.Items[0].Expr.Op != expr.OpCast {
			return nil, fmt.Errorf("%s: column %s: no type is written %s; as in 'INTEGER' or 'DECIMAL(9, 2)'", o.Name, name, o.List[i])
		}
		types[name] = s.Items[0].Expr.Type.Arrow()
	}
	if len(types) == 0 {
		return nil, wanted(o, "{'name': 'TYPE', ...}")
	}
	return types, nil
}

// wanted is the error of an argument of the wrong kind.
func wanted(o sql.Option, what string) error {
	if o.Value == nil {
		return fmt.Errorf("%s: want %s", o.Name, what)
	}
	return fmt.Errorf("%s = %s: want %s", o.Name, o.Value, what)
}

// into writes what an argument is read as to a field of the options.
func into[T any](read func(sql.Option) (T, error), field func(*dataset.Options) *T) func(*dataset.Options, sql.Option) error {
	return func(opt *dataset.Options, o sql.Option) (err error) {
		*field(opt), err = read(o)
		return err
	}
}

// only takes the one value that an option can have.
func only(value string) func(*dataset.Options, sql.Option) error {
	return func(_ *dataset.Options, o sql.Option) error {
		if o.Value == nil || !strings.EqualFold(o.Value.String(), value) {
			return wanted(o, value+", which is all that there is")
		}
		return nil
	}
}

// character takes a string of one ASCII character, or of none.
func character(o sql.Option) (string, error) {
	if o.Value != nil {
		text, ok := o.Value.Value.(string)
		if text == `\t` {
			text = "\t"
		}
		if ok && len(text) <= 1 {
			return text, nil
		}
	}
	return "", wanted(o, "one ASCII character in quotes")
}

// byteOf takes a string of one ASCII character, or of none, which is 0.
func byteOf(o sql.Option) (byte, error) {
	text, err := character(o)
	if err != nil || text == "" {
		return 0, err
	}
	return text[0], nil
}

// textOf takes a string.
func textOf(o sql.Option) (string, error) {
	if o.Value != nil {
		if text, ok := o.Value.Value.(string); ok {
			return text, nil
		}
	}
	return "", wanted(o, "text in quotes")
}

func truthOf(o sql.Option) (bool, error) {
	if o.Value != nil {
		switch v := o.Value.Value.(type) {
		case bool:
			return v, nil
		case int64:
			if v == 0 || v == 1 {
				return v == 1, nil
			}
		}
	}
	return false, wanted(o, "true or false")
}

// numberFrom returns what takes whole numbers that are not below the least.
func numberFrom(least int) func(sql.Option) (int, error) {
	return func(o sql.Option) (int, error) {
		if o.Value != nil {
			if n, ok := o.Value.Value.(int64); ok && o.Value.Type.ID != expr.Decimal && n >= int64(least) && n < 1<<31 {
				return int(n), nil
			}
		}
		return 0, wanted(o, fmt.Sprintf("a whole number from %d on", least))
	}
}

// sampleOf takes a number of rows, or -1 for all.
func sampleOf(o sql.Option) (int, error) {
	rows, err := numberFrom(-1)(o)
	if err != nil || rows == 0 {
		return 0, wanted(o, "a number of rows from 1 on, or -1 for all")
	}
	return rows, nil
}

// textsOf takes a string or a list of strings.
func textsOf(o sql.Option) ([]string, error) {
	if texts := o.Texts(); len(texts) > 0 {
		return texts, nil
	}
	return nil, wanted(o, "text in quotes, or a list of such")
}
