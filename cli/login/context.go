package login

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
)

// contextView is a hub that one is logged in to, without its token.
type contextView struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Current bool   `json:"current"`
	// Login says where the token comes from: session is from axle login, token
	// was given.
	Login string `json:"login"`
}

// Contexts returns the command axle context.
func Contexts(a *command.App) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the hubs that you are logged in to", Args: command.NoArgs,
		Example: "  axle context list\n  axle context list -o name",
		RunE: func(*cobra.Command, []string) error {
			s, err := a.LoadSettings()
			if err != nil {
				return err
			}
			views := []contextView{}
			for _, name := range command.SortedKeys(s.Contexts) {
				views = append(views, viewOf(s, name))
			}
			return command.PrintList(a, views, func(v contextView) string { return v.Name },
				command.Col("CURRENT", func(v contextView) string {
					if v.Current {
						return "*"
					}
					return ""
				}),
				command.Col("NAME", func(v contextView) string { return v.Name }),
				command.Col("HUB", func(v contextView) string { return v.URL }),
				command.Col("LOGIN", func(v contextView) string { return v.Login }),
			)
		},
	}
	show := &cobra.Command{
		Use: "show [NAME]", Aliases: []string{"current", "get"}, Short: "Show the current context, or the one named", Args: command.AtMost(1), ValidArgsFunction: command.CompleteHubs(a),
		Example: "  axle context show\n  axle context show -o name",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.LoadSettings()
			if err != nil {
				return err
			}
			name := s.Current
			if len(args) == 1 {
				name = args[0]
			}
			if err := known(s, name); err != nil {
				return err
			}
			return command.PrintOne(a, viewOf(s, name), func(v contextView) string { return v.Name },
				command.Col("Name", func(v contextView) string { return v.Name }),
				command.Col("Hub", func(v contextView) string { return v.URL }),
				command.Col("Login", func(v contextView) string { return v.Login }),
			)
		},
	}
	return command.Noun("context", "List and switch the hubs that you are logged in to", nil, list, show, useContext(a))
}

func useContext(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Aliases: []string{"switch"}, Short: "Make a context the current one", Args: command.Exactly(1), ValidArgsFunction: command.CompleteHubs(a),
		Long: `Make a context the current one: commands without --context and --hub go to its hub.
axle login adds a context, axle logout removes it.`,
		Example: "  axle context use hub.example.com",
		RunE: func(_ *cobra.Command, args []string) error {
			url := ""
			err := a.ChangeSettings(func(s *command.Settings) error {
				url, s.Current = s.Contexts[args[0]].URL, args[0]
				return known(*s, args[0])
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "the context is %s (%s)\n", args[0], url)
			return err
		},
	}
}

func viewOf(s command.Settings, name string) contextView {
	v := contextView{Name: name, URL: s.Contexts[name].URL, Current: name == s.Current, Login: "token"}
	if s.Contexts[name].Session {
		v.Login = "session"
	}
	return v
}

// known refuses a name that is no context.
func known(s command.Settings, name string) error {
	if _, ok := s.Contexts[name]; ok {
		return nil
	}
	if name == "" {
		return errcode.New(errcode.NotFound, "you are not logged in to a hub; use axle login URL, or choose a context with axle context use")
	}
	return errcode.New(errcode.NotFound, "there is no context %q; the contexts are: %s", name, strings.Join(command.SortedKeys(s.Contexts), ", "))
}
