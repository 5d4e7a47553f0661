package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

// docs writes the documentation of the commands in the formats of other programs.
func docs() *cobra.Command {
	man := &cobra.Command{
		Use: "man DIR", Short: "Write a man page for every command", Args: command.Exactly(1),
		Long: `Write a man page of section 1 for every command into a folder, which is created if
it does not exist. The pages are named after their commands: axle-services-list.1.`,
		Example: "  axle docs man ~/.local/share/man/man1",
		RunE: func(c *cobra.Command, args []string) error {
			if err := folderForPages(args[0]); err != nil {
				return err
			}
			header := &doc.GenManHeader{Section: "1", Source: "axle " + buildinfo.Version, Manual: "Axle"}
			return doc.GenManTree(c.Root(), header, args[0])
		},
	}
	markdown := &cobra.Command{
		Use: "markdown DIR", Short: "Write a Markdown page for every command", Args: command.Exactly(1),
		Long: `Write a Markdown page for every command into a folder, which is created if it does
not exist. The pages are named after their commands: axle_services_list.md.`,
		Example: "  axle docs markdown ./commands",
		RunE: func(c *cobra.Command, args []string) error {
			if err := folderForPages(args[0]); err != nil {
				return err
			}
			c.Root().DisableAutoGenTag = true // it holds the day
			return doc.GenMarkdownTree(c.Root(), args[0])
		},
	}
	return command.Noun("docs", "Write the documentation of the commands", nil, man, markdown)
}

func folderForPages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return errcode.New(errcode.Invalid, "create the folder for the pages: %w", err)
	}
	return nil
}

func completionCommand(a *command.App, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print the completion script for a shell",
		Example:   "  source <(axle completion bash)",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      command.Exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return exitcode.Usagef("no completion script for %q; use bash, zsh, fish or powershell", args[0])
		},
	}
}
