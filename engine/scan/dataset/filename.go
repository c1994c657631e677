package dataset

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/knob"
)

// FilenameColumn is the name of the column that Options.Filename adds.
const FilenameColumn = "filename"

// RowNumberColumn is the name of the column that Options.RowNumber adds.
const RowNumberColumn = "file_row_number"

// rowNumber returns the column of the numbers of rows; none where it is not asked for, or is hidden and there can be
// none.
func (f *openFiles) rowNumber(opt *Options) (field arrow.Field, err error) {
	if !opt.RowNumber && !opt.RowNumberHidden {
		return field, nil
	}
	for _, in := range f.inputs {
		switch {
		case in.Schema().HasField(RowNumberColumn):
			err = knob.Errorf("%s: the file has a column named %q, which is to number its rows; read without that (%s)",
				in.Name(), RowNumberColumn, knob.Name("dataset.RowNumber"))
		case !scan.NumbersRows(in.Input):
			err = knob.Errorf("%s: its rows have no numbers before all are read (%s): write it as Parquet", in.Name(),
				knob.Name("dataset.RowNumber"))
		}
		if err != nil && opt.RowNumber {
			return field, err
		}
		if err != nil {
			return field, nil
		}
	}
	if field = (arrow.Field{Name: RowNumberColumn, Type: arrow.PrimitiveTypes.Int64}); !opt.RowNumber {
		field = scan.Hidden(field)
	}
	return field, nil
}

// ReadFor sets the options for a statement, whose text may name hidden columns.
func (o *Options) ReadFor(statement string) {
	statement = strings.ToLower(statement)
	o.FilenameHidden = strings.Contains(statement, FilenameColumn)
	o.RowNumberHidden = strings.Contains(statement, RowNumberColumn)
}

// addFilenames adds the column of the files' names, which is one of the columns of folders: it has
// one value for all rows of a file, and conditions on it leave files out. It adds none where it returns an error.
func (f *openFiles) addFilenames(isHidden bool) error {
	column := decode.Folder{Field: arrow.Field{Name: FilenameColumn, Type: arrow.BinaryTypes.String}}
	if isHidden {
		column.Field = scan.Hidden(column.Field)
	}
	for _, folder := range f.hive {
		if folder.Field.Name == FilenameColumn {
			return filenameTaken(f.inputs[0].Name(), "there is a folder key")
		}
	}
	for _, in := range f.inputs {
		if !utf8.ValidString(in.Name()) {
			return knob.Errorf("%q: the name is not valid UTF-8, and is to be the value of a column (%s)",
				in.Name(), knob.Name("dataset.Filename"))
		}
		if in.Schema().HasField(FilenameColumn) {
			return filenameTaken(in.Name(), "the file has a column")
		}
		column.Values = append(column.Values, in.Name())
	}
	f.hive = append(f.hive, column)
	return nil
}

func filenameTaken(name, by string) error {
	return knob.Errorf("%s: %s named %q, which is to be the name of the file; read without that (%s)",
		name, by, FilenameColumn, knob.Name("dataset.Filename"))
}
