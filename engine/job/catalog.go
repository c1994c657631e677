package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/mpga/mpga/engine/scan/dataset"
)

// Catalog is the tables of a server, as its YAML file lists them.
type Catalog struct {
	Tables []CatalogTable `yaml:"tables,required" doc:"The tables."`
}

// CatalogTable is a name for files.
type CatalogTable struct {
	Name   string   `yaml:"name,required" doc:"What FROM names, unlike all other names whatever their case."`
	Files  []string `yaml:"files" doc:"Files, folders or patterns to read. Relative paths begin at the catalog's file."`
	Rollup string   `yaml:"rollup" doc:"In place of files, the folder of a roll-up's state, or a URL."`
	Input  Input    `yaml:"input" doc:"How the files are read."`

	Scan dataset.Options // what Input says
}

// LoadCatalog reads a catalog's file, and checks it, but for the tables' files. Errors of the file are
// of type Errors.
func LoadCatalog(path string) (*Catalog, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	d := newDecoder(path, text)
	c := &Catalog{}
	if root := d.tree(text); len(d.errs) == 0 {
		d.mapping("", root, reflect.ValueOf(c).Elem())
	}
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	for i := range c.Tables {
		for k := range c.Tables[i].Files {
			resolve(&c.Tables[i].Files[k], filepath.Dir(path))
		}
		resolve(&c.Tables[i].Rollup, filepath.Dir(path))
	}
	if err := c.validate(); err != nil {
		return nil, d.located(err)
	}
	return c, nil
}

// validate reports everything that is wrong, as far as it shows without the tables' files, and
// completes the tables.
func (c *Catalog) validate() error {
	v := validation{}
	if len(c.Tables) == 0 {
		v.add("tables", errors.New("a catalog has one table at least"))
	}
	taken := make(map[string]bool)
	for i := range c.Tables {
		t, at := &c.Tables[i], fmt.Sprintf("tables[%d]", i)
		folded := strings.ToLower(t.Name)
		switch {
		case t.Name == "":
			v.add(at+".name", errors.New("a table needs a name"))
		case taken[folded]:
			v.add(at+".name", fmt.Errorf("two tables are named %s", t.Name))
		}
		taken[folded] = true
		switch {
		case len(t.Files) == 0 && t.Rollup == "":
			v.add(at+".files", errors.New("name the files to read, or a roll-up"))
		case len(t.Files) > 0 && t.Rollup != "":
			v.add(at+".rollup", errors.New("a table has files, or is a roll-up"))
		case t.Rollup != "" && !reflect.DeepEqual(t.Input, Input{}):
			v.add(at+".input", errors.New("a roll-up has no files to read"))
		}
		v.add(at+".input", t.Input.refuse("not supported: a table is read by many statements"))
		var err error
		t.Scan, err = t.Input.options()
		v.add(at+".input", err)
	}
	return v.err()
}
