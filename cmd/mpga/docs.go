package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newDocsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "docs DIR",
		Short:   "Write the manual as Markdown, one file a command",
		Example: `  mpga docs manual`,
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			return writeDocs(cmd.Root(), args[0])
		},
	}
}

// writeDocs writes the page of a command and those of its subcommands.
func writeDocs(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".md"
	if err := os.WriteFile(filepath.Join(dir, name), docsPage(cmd), 0o666); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeDocs(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// docsPage writes a command's help as Markdown.
func docsPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", cmd.CommandPath(), cmd.Short)
	block := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, "%s```\n%s\n```\n\n", title, text)
		}
	}
	block("", cmd.UseLine())
	block("", cmd.Long)
	block("## Examples\n\n", cmd.Example)
	block("## Flags\n\n", cmd.NonInheritedFlags().FlagUsages())
	block("## Flags of every command\n\n", cmd.InheritedFlags().FlagUsages())
	if cmd.HasAvailableSubCommands() {
		b.WriteString("## Commands\n\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", sub.CommandPath(), strings.ReplaceAll(sub.CommandPath(), " ", "-"), sub.Short)
			}
		}
	}
	return b.Bytes()
}
