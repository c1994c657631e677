package main

import (
	"errors"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/options"
)

// inputs are values of flags, by the kinds of options.
var inputs = map[options.Kind]string{options.Char: ";", options.CharOrNone: ",", options.Text: "%d", options.Mark: "7", options.Texts: "x", options.Truth: "true",
	options.Number: "3", options.Rows: "-1", options.Size: "1MiB", options.Types: "x=string", options.File: "left.csv"}

// Would catch a flag of the table of options that does not reach the readers, one whose default is not theirs, and an
// error that does not name it.
func TestInputFlags(t *testing.T) {
	given := func(args ...string) dataset.Options {
		var f inputFlags
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		f.register(cmd.Flags())
		completeInput(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		opt, err := f.options(cmd)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if err := errors.Join(f.leftOut.Close(), f.spool.Close()); err != nil {
			t.Error(err)
		}
		opt.Stdin, opt.Spool, opt.CSV.Rejects = nil, nil, nil
		return opt
	}
	plain := given()
	for _, o := range options.All() {
		if o.Flag == "" {
			for _, name := range o.Fields() {
				if got := flagName(name); options.For(name) == o && got != o.SQL()[0] {
					t.Errorf("errors name %s %s, want %s", string(name), got, o.SQL()[0])
				}
			}
			continue
		}
		value, ok := inputs[o.Kind]
		if !ok {
			value = o.Words()[len(o.Words())-1]
		}
		if reflect.DeepEqual(given("--"+o.Flag+"="+value), plain) {
			t.Errorf("--%s %s says nothing", o.Flag, value)
		}
		if o.Default != "" && !reflect.DeepEqual(given("--"+o.Flag, o.Default), plain) {
			t.Errorf("--%s %s is not the default", o.Flag, o.Default)
		}
		for _, name := range o.Fields() {
			if got := flagName(name); got != "--"+o.Flag {
				t.Errorf("errors name %s %s, want --%s", string(name), got, o.Flag)
			}
		}
	}
}

func TestColumnTypes(t *testing.T) {
	got, err := columnTypes([]string{"zip=string", "a=b=DECIMAL( 10, 2 )", "n=bigint"})
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]arrow.DataType{
		"zip": arrow.BinaryTypes.String, "a=b": &arrow.Decimal128Type{Precision: 10, Scale: 2}, "n": arrow.PrimitiveTypes.Int64,
	} {
		if !arrow.TypeEqual(got[column], want) {
			t.Errorf("%s: got %v, want %s", column, got[column], want)
		}
	}
	for _, bad := range []string{"", "zip", "=string", "a=", "a=strin", "a=decimal(39,0)", "a=decimal(5,6)", "a=decimal(5)", "a=decimal(5,2)x"} {
		if got, err := columnTypes([]string{bad}); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
