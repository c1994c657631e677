package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// theme is a heading of flags in the help of a command.
type theme string

const (
	themeQuery     theme = "Query"
	themeJob       theme = "Job"
	themeBackfill  theme = "Backfill"
	themePlan      theme = "Plan"
	themeTasks     theme = "Tasks"
	themeCluster   theme = "Cluster"
	themeState     theme = "State"
	themeInput     theme = "Input"
	themeOutput    theme = "Output"
	themeServer    theme = "Server"
	themeLimits    theme = "Limits of clients"
	themeSecurity  theme = "Security"
	themeResources theme = "Resources"
	themeDevice    theme = "Device"
	themeInsight   theme = "Insight"
	themeWatching  theme = "Watching"
	themeLogging   theme = "Logging"
	themeOther     theme = "Other"
)

// themes are the headings in the order of the help.
var themes = []theme{themePlan, themeTasks, themeCluster, themeQuery, themeJob, themeBackfill, themeState,
	themeServer, themeLimits, themeSecurity, themeInput, themeOutput, themeResources, themeDevice,
	themeInsight,
	themeWatching, themeLogging, themeOther}

// themeAnnotation is the annotation of a flag with its theme.
const themeAnnotation = "mpga-theme"

// themed gives the flags that register adds a theme, but for flags that have one.
func themed(flags *pflag.FlagSet, t theme, register func()) {
	before := make(map[string]bool)
	flags.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	register()
	flags.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && f.Annotations[themeAnnotation] == nil {
			setTheme(f, t)
		}
	})
}

// isThemed says whether a flag has a theme.
func isThemed(f *pflag.Flag, t theme) bool {
	return slices.Equal(f.Annotations[themeAnnotation], []string{string(t)})
}

func setTheme(f *pflag.Flag, t theme) {
	if f.Annotations == nil {
		f.Annotations = make(map[string][]string)
	}
	f.Annotations[themeAnnotation] = []string{string(t)}
}

// flagsText describes the flags of a command: by theme where they have themes.
func flagsText(flags *pflag.FlagSet) string {
	groups := make(map[theme]*pflag.FlagSet)
	flags.VisitAll(func(f *pflag.Flag) {
		t := themeOther
		if f.Name == "help" { // which is named beside the flags of all commands
			return
		}
		if name := f.Annotations[themeAnnotation]; name != nil {
			t = theme(name[0])
		}
		if groups[t] == nil {
			groups[t] = pflag.NewFlagSet("", pflag.ContinueOnError)
			groups[t].SortFlags = false
		}
		groups[t].AddFlag(f)
	})
	if len(groups) == 1 && groups[themeOther] != nil {
		return "Flags:\n" + groups[themeOther].FlagUsages()
	}
	var parts []string
	for _, t := range themes {
		if group := groups[t]; group != nil && group.HasAvailableFlags() {
			parts = append(parts, string(t)+":\n"+group.FlagUsages())
		}
	}
	return strings.Join(parts, "\n")
}

// printUsage is cobra's own usage, with flags by theme and the flags of all commands by their names.
// Cobra's way to change it is a template, with which the linker keeps all exported methods.
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	b.WriteString("\n")
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + c.Example + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if text := flagsText(c.LocalFlags()); text != "" {
		b.WriteString("\n" + text)
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nFlags of all commands, which %s --help describes:\n  -h, --help, %s\n",
			c.Root().Name(), strings.Join(flagNamesOf(c.InheritedFlags()), ", "))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s [command] --help tells more of a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// flagNamesOf lists flags as they are written.
func flagNamesOf(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Shorthand != "" {
			names = append(names, "-"+f.Shorthand)
		}
		names = append(names, "--"+f.Name)
	})
	slices.SortStableFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, "-"), strings.TrimLeft(b, "-"))
	})
	return names
}

// writeMarkdown writes a page for a command, and for each below it, with flags by theme.
func writeMarkdown(c *cobra.Command, dir string) error {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeMarkdown(sub, dir); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := doc.GenMarkdown(c, &page); err != nil {
		return err
	}
	text := page.String()
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
		text = strings.Replace(text, "```\n"+flags.FlagUsages()+"```",
			"```\n"+strings.TrimPrefix(flagsText(flags), "Flags:\n")+"```", 1)
	}
	return os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"), []byte(text), 0o666)
}
