package main

import (
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/knob"
)

// tableFlags are the flags of the tables that statements make.
type tableFlags struct{ memory string }

func (f *tableFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.memory, "table-memory", "",
		"keep tables of CREATE TABLE in memory up to a `SIZE` together, and further ones in --temp-dir "+
			"(default an eighth of --memory-limit)")
}

// store returns the store of the tables, within the budgets of an engine.
func (f *tableFlags) store(eng *engine.Engine, budget *budgetFlags) (*temporary.Store, error) {
	var within engine.Options
	if err := budget.apply(&within); err != nil {
		return nil, err
	}
	memory, err := parseSize("--table-memory", f.memory)
	if err != nil {
		return nil, err
	}
	return temporary.NewStore(temporary.Options{
		Engine: eng, Dir: within.TempDir, Name: "mpga-tables", MemoryBytes: memory,
		DiskBytes: within.TempLimit, DiskKnob: knob.Name("engine.TempLimit"),
	}), nil
}
