package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Would catch a flag that the help of its command leaves out or has twice, and a flag of a command
// with themes that has none.
func TestHelpFlags(t *testing.T) {
	root := newRootCommand(new(observer))
	manual := t.TempDir()
	if err := writeMarkdown(root, manual); err != nil {
		t.Fatal(err)
	}
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		var help bytes.Buffer
		c.SetOut(&help)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(manual, "mpga_"+c.Name()+".md"))
		if err != nil {
			t.Fatal(err)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			line := regexp.MustCompile(`(?m)^ +(-., )?--` + f.Name + `(\[| )`)
			if n := len(line.FindAllString(help.String(), -1)); n != 1 && f.Name != "help" {
				t.Errorf("mpga %s --help has --%s %d times", c.Name(), f.Name, n)
			}
			if n := len(line.FindAllString(string(page), -1)); n != 1 && f.Name != "help" {
				t.Errorf("the page of mpga %s has --%s %d times", c.Name(), f.Name, n)
			}
		})
		if !strings.Contains(help.String(), "\n  -h, --help, --http-timeout, --log-format, --log-level, ") {
			t.Errorf("mpga %s --help names no flags of all commands:\n%s", c.Name(), &help)
		}
		if slices.Contains([]string{"agg", "sql", "merge", "run"}, c.Name()) {
			for _, text := range []string{help.String(), string(page)} {
				if strings.Contains(text, "\nFlags:\n") || strings.Contains(text, "\nOther:\n") || !strings.Contains(text, "\n"+map[bool]string{true: "Job", false: "Output"}[c.Name() == "run"]+":\n") {
					t.Errorf("mpga %s has flags without a theme:\n%s", c.Name(), text)
				}
			}
		}
	}
}
