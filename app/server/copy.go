package server

import (
	"errors"
	"slices"
	"strings"

	"github.com/mpga/mpga/app/copyto"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
)

// copying is a COPY, and how its files are written.
type copying struct {
	*sql.Copy
	files sink.Options
}

// Output says where the rows of a statement go in place of its client, as COPY does for a statement around it.
type Output struct {
	To      string              // the path
	Options map[string][]string // of COPY: values by names
}

// writes says whether clients write files, as a server of UserFiles lets them.
func (s *Server) writes() bool {
	_, ok := s.opt.Files.(UserFiles)
	return ok
}

// output puts the COPY together that writes the rows of a statement. Its errors do not point at the statement's text.
func (s *Session) output(parsed *sql.Select, meaning *Meaning) (*copying, error) {
	read := &sql.Copy{Query: parsed, To: meaning.Output.To}
	for name, values := range meaning.Output.Options {
		read.Options = append(read.Options, sql.CopyOption{Name: strings.ToUpper(name), Values: values})
	}
	slices.SortFunc(read.Options, func(a, b sql.CopyOption) int { return strings.Compare(a.Name, b.Name) })
	copies, err := s.copying(read, meaning)
	if text := (*sql.Error)(nil); errors.As(err, &text) {
		err = query.Errorf("%s", text.Message)
	}
	return copies, err
}

// copying reads how the files of a COPY are written. A path begins where the paths of files that are read do.
func (s *Session) copying(read *sql.Copy, meaning *Meaning) (*copying, error) {
	files, ok := s.server.opt.Files.(UserFiles)
	if !ok {
		return nil, errReadOnly
	}
	opt, err := copyto.Options(read, sink.Options{FS: files.FS, Query: strings.TrimSpace(read.Query.Text)})
	if err != nil {
		return nil, err
	}
	if s.server.opt.Suit != nil {
		s.server.opt.Suit(&opt)
	}
	to := *read
	to.To = files.in(meaning.Dir).path(read.To)
	return &copying{&to, opt}, nil
}
