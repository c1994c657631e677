package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
)

// version is set when a release is linked: -ldflags "-X main.version=v1.2.3".
var version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of mpga and of what it is built with",
		Args:  wantArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd) },
	}
}

func printVersion(cmd *cobra.Command) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "mpga %s\ngo %s\narrow %s\nplatform %s/%s\n",
		buildVersion(), runtime.Version(), arrow.PkgVersion, runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion is the linked version, or the version that the go command has found, by a tag or a
// commit.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return "unknown"
	case info.Main.Version == "" || info.Main.Version == "(devel)": // built without version control
		return "devel"
	}
	return info.Main.Version
}
