package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sink/text"
)

// W5: of a page of a result. A cell has its share of the bytes of a page, and no more than cellBytesMax.
const (
	pageRowsMax  = 1000
	pageBytesMax = 8 << 20
	cellBytesMax = 2000
	cellBytesMin = 16
)

// number returns a whole number of the query of a request; otherwise where there is none.
func (r *request) number(name string, otherwise int64) (int64, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: want a whole number, not %q", name, value)
	}
	return n, nil
}

// kept returns the result that a request names, in the order that the request asks for.
func (r *request) kept() (k *server.Kept, release func() error, err error) {
	if r.session == nil {
		return nil, nil, errNoSession
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: there is no run %q", server.ErrUnknown, r.PathValue("id"))
	}
	k, release, err = r.session.Kept(id)
	if err != nil || !r.URL.Query().Has("sort") {
		return k, release, err
	}
	ordered, releaseOrdered, err := r.ordered(k)
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	asTheyCame := release
	return ordered, func() error { return errors.Join(releaseOrdered(), asTheyCame()) }, nil
}

// ordered returns rows in the order that a request asks for.
func (r *request) ordered(k *server.Kept) (ordered *server.Kept, release func() error, err error) {
	column, err := r.number("sort", 0)
	if err != nil {
		return nil, nil, err
	}
	return k.Ordered(r.Context(), server.Order{Column: int(column), Descending: r.URL.Query().Get("descending") == "true"})
}

// rows answers with a page of a result. A cell is text, or null.
func (s *Service) rows(r *request) (err error) {
	offset, err := r.number("offset", 0)
	if err != nil {
		return err
	}
	limit, err := r.number("limit", 100)
	if err != nil {
		return err
	}
	k, release, err := r.kept()
	if err != nil {
		return err
	}
	cells := [][]any{}
	limit = min(max(limit, 0), pageRowsMax)
	err = k.Page(offset, limit, func(batch arrow.RecordBatch) error {
		cells = append(cells, cellsOf(batch, cellBytes(limit*batch.NumCols()))...)
		return nil
	})
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	answer(r.w, http.StatusOK, map[string]any{"offset": offset, "rows": k.Rows, "whole": k.Whole, "cells": cells})
	return nil
}

// dropRows drops a result that the page does not look at any more.
func (s *Service) dropRows(r *request) error {
	if r.session == nil {
		return errNoSession
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: there is no run %q", server.ErrUnknown, r.PathValue("id"))
	}
	if err := r.session.Discard(id); err != nil {
		return err
	}
	answer(r.w, http.StatusOK, struct{}{})
	return nil
}

// cellBytes returns how many bytes a cell may have in a page of `cells` cells.
func cellBytes(cells int64) int {
	return int(min(max(pageBytesMax/max(cells, 1), cellBytesMin), cellBytesMax))
}

// cellsOf returns the values of a batch as text of at most limit bytes each; nil is NULL.
func cellsOf(batch arrow.RecordBatch, limit int) [][]any {
	rows := make([][]any, batch.NumRows())
	for i := range rows {
		rows[i] = make([]any, batch.NumCols())
	}
	var buffer []byte
	for c, column := range batch.Columns() {
		appendTo := text.Appender(column)
		for i := range rows {
			value, valid := appendTo(buffer[:0], i)
			if valid {
				rows[i][c] = cellText(value, limit)
				buffer = value
			}
		}
	}
	return rows
}

// cellText returns a value as text that JSON can hold, cut where it is longer than limit bytes.
func cellText(value []byte, limit int) string {
	if len(value) <= limit {
		return strings.ToValidUTF8(string(value), "\uFFFD")
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return strings.ToValidUTF8(string(value[:end]), "\uFFFD") + "…"
}

// fileFormats are the formats of files of results: their types for browsers, and endings of names. What
// is sent as it is made cannot be an Arrow file, whose footer comes last, and is an Arrow stream.
var fileFormats = map[string]struct {
	format sink.Format
	kind   string
}{
	"csv":     {sink.CSV, "text/csv; charset=utf-8"},
	"parquet": {sink.Parquet, "application/vnd.apache.parquet"},
	"arrows":  {sink.ArrowStream, "application/vnd.apache.arrow.stream"},
}

// file answers with a result as a file.
func (s *Service) file(r *request) error {
	ending := r.URL.Query().Get("format")
	f, ok := fileFormats[ending]
	if !ok {
		return fmt.Errorf("format %q: want one of csv, parquet, arrows", ending)
	}
	k, release, err := r.kept()
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="result-%s.%s"`, r.PathValue("id"), ending))
	out := &counting{w: r.w}
	err = errors.Join(k.Write(r.Context(), out, f.format), release())
	switch {
	case err == nil:
		return nil
	case out.bytes == 0:
		h.Del("Content-Disposition")
		return err
	}
	s.opt.Logger.Info("a file of a result", "run", k.RunID, "error", err)
	return errCutShort
}

// errCutShort is the error of an answer of which the client has a part.
var errCutShort = errors.New("an answer is cut short")

// counting counts what is written.
type counting struct {
	w     http.ResponseWriter
	bytes int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	return n, err
}
