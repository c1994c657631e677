package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newDocsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Write the manual: one page a command",
		Example: `  mpga docs man share/man/man1
  mpga docs markdown manual`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usagef("docs: want man or markdown (see mpga docs --help)")
		},
	}
	cmd.AddCommand(
		newDocsFormat("man", "Write man pages", func(root *cobra.Command, dir string) error {
			return doc.GenManTree(root, &doc.GenManHeader{Title: "MPGA", Section: "1", Source: "mpga " + buildVersion()}, dir)
		}),
		newDocsFormat("markdown", "Write Markdown", writeMarkdown),
	)
	return cmd
}

// newDocsFormat returns the command that writes the pages in one format.
func newDocsFormat(name, short string, write func(root *cobra.Command, dir string) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " DIR",
		Short: short + " into a folder",
		Args:  wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // a date in every page would change them all every day
			if err := write(root, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
}
