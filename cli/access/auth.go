package access

import (
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// placeOf describes the place of a binding for people.
func placeOf(b *hubv1.Binding) string {
	if b.GetLevel() == "hub" {
		return "everything"
	}
	return b.GetLevel() + " " + b.GetObject()
}

func printBindings(a *command.App, all []*hubv1.Binding) error {
	return command.PrintList(a, all, (*hubv1.Binding).GetId,
		command.Col("SUBJECT", (*hubv1.Binding).GetSubject),
		command.Col("KIND", (*hubv1.Binding).GetSubjectKind),
		command.Col("ACTION", (*hubv1.Binding).GetAction),
		command.Col("WHERE", placeOf),
		command.Col("BY", (*hubv1.Binding).GetCreatedBy),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Binding]),
		command.Col("ID", (*hubv1.Binding).GetId),
	)
}

// placeFlags are the flags that name a place.
type placeFlags struct {
	project, cluster, service string
	global                    bool
}

func (p *placeFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.project, "project", "", "project, with everything in it")
	f.StringVar(&p.cluster, "cluster", "", "cluster, with its services")
	f.StringVar(&p.service, "service", "", "service: CLUSTER/NAME, or NAME with --cluster")
	f.BoolVar(&p.global, "global", false, "everything on the hub")
}

// place reads the flags. If needed is set, one of them must be given.
func (p *placeFlags) place(needed bool) (*hubv1.Place, error) {
	out := &hubv1.Place{Project: p.project, Cluster: p.cluster, Service: p.service}
	if cluster, name, ok := strings.Cut(p.service, "/"); ok {
		if p.cluster != "" && p.cluster != cluster {
			return nil, exitcode.Usagef("--service %s is not on --cluster %s", p.service, p.cluster)
		}
		out.Cluster, out.Service = cluster, name
	} else if p.service != "" && p.cluster == "" {
		return nil, exitcode.Usagef("name the service's cluster too: --service CLUSTER/%s", p.service)
	}
	named := out.GetProject() != "" || out.GetCluster() != ""
	switch {
	case out.GetProject() != "" && out.GetCluster() != "":
		return nil, exitcode.Usagef("give only one of --project, --cluster and --service")
	case named && p.global:
		return nil, exitcode.Usagef("--global covers everything; remove the other flags")
	case needed && !named && !p.global:
		return nil, exitcode.Usagef("name a place: --project NAME, --cluster NAME, --service CLUSTER/NAME, or --global for everything")
	}
	return out, nil
}

// subjectFlags are the flags that name a subject.
type subjectFlags struct{ user, group, account string }

func (s *subjectFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.user, "user", "", "user, by e-mail")
	f.StringVar(&s.group, "group", "", "group, for all its members")
	f.StringVar(&s.account, "service-account", "", "service account")
}

func (s *subjectFlags) subject() (kind, name string, err error) {
	for k, n := range map[string]string{"user": s.user, "group": s.group, "service_account": s.account} {
		if n == "" {
			continue
		}
		if kind != "" {
			return "", "", exitcode.Usagef("name one of --user, --group and --service-account")
		}
		kind, name = k, n
	}
	if kind == "" {
		return "", "", exitcode.Usagef("name a subject: --user EMAIL, --group NAME or --service-account NAME")
	}
	return kind, name, nil
}

const bindLong = `Actions are read, write, create and git. write implies read and create. git
allows managing repositories and their webhooks. A binding on a project covers its
clusters and services. A binding on a cluster covers its services.`

// Auth returns the command axle auth.
func Auth(a *command.App) *cobra.Command {
	var managedBy string
	list := &cobra.Command{
		Use: "bindings", Short: "List role bindings: your own and your groups', or all as an administrator", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Bindings.List(c.Context(), connect.NewRequest(&hubv1.ListBindingsRequest{}))
			if err != nil {
				return err
			}
			return printBindings(a, command.Managed(all.Msg.GetBindings(), managedBy))
		}),
	}
	command.ManagedByFlag(list, &managedBy)
	return command.Noun("auth", "Check and manage access", nil, canI(a), bind(a), unbind(a), list)
}

func canI(a *command.App) *cobra.Command {
	var where placeFlags
	var as string
	c := &cobra.Command{
		Use: "can-i ACTION", Short: "Check whether you or another user may do something, and why", Args: command.Exactly(1),
		Long: `Check whether you may read, write, create, git or admin at a place. The exit code
is 1 if you may not. An administrator can check another user with --as.`,
		Example: `  axle auth can-i write --cluster edge-1
  axle auth can-i read --service edge-1/web --as ann@example.com -o json`,
		ValidArgs: append(slices.Clone(rule.Actions), "admin"),
		RunE: func(c *cobra.Command, args []string) error {
			place, err := where.place(false)
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			answer, err := client.Access.CanI(c.Context(), connect.NewRequest(&hubv1.CanIRequest{Action: args[0], Place: place, As: as}))
			if err != nil {
				return err
			}
			view := struct {
				Allowed bool          `json:"allowed"`
				Reason  string        `json:"reason"`
				Binding fields.Object `json:"binding,omitempty"`
			}{Allowed: answer.Msg.GetAllowed(), Reason: answer.Msg.GetReason()}
			if b := answer.Msg.GetBinding(); b != nil {
				view.Binding = fields.Of(b, a.Age)
			}
			switch {
			case output.Data(a.Output):
				if err := a.Encode(view); err != nil {
					return err
				}
			case view.Allowed:
				fmt.Fprintf(a.Out, "yes: %s\n", view.Reason)
			default:
				fmt.Fprintln(a.Out, "no")
			}
			if !view.Allowed {
				return exitcode.With(errcode.New(errcode.Forbidden, "%s", view.Reason), exitcode.Failed)
			}
			return nil
		},
	}
	where.add(c)
	c.Flags().StringVar(&as, "as", "", "check this user or service account (administrators only)")
	return c
}

func bind(a *command.App) *cobra.Command {
	management := command.Management()
	var where placeFlags
	var who subjectFlags
	var actions []string
	c := &cobra.Command{
		Use: "bind", Short: "Give a user, a group or a service account access", Args: command.NoArgs, Long: "Give a user, a group or a service account access.\n\n" + bindLong,
		Example: `  axle auth bind --user ann@example.com --action read --project shop
  axle auth bind --group "web team" --action write,git --project shop
  axle auth bind --service-account ci --action write --service edge-1/web`,
		RunE: func(c *cobra.Command, _ []string) error {
			place, kind, name, err := bindArguments(&where, &who, actions)
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			made, err := client.Bindings.Create(c.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{SubjectKind: kind, Subject: name, Actions: actions, Place: place, Management: management}))
			if err != nil {
				return err
			}
			if len(made.Msg.GetBindings()) == 0 {
				if !a.Quiet {
					fmt.Fprintf(a.Err, "%s already has this access\n", name)
				}
				if output.Human(a.Output) {
					return nil
				}
			}
			return printBindings(a, made.Msg.GetBindings())
		},
	}
	where.add(c)
	who.add(c)
	command.TakeOverFlag(c, management)
	flagvalue.List(c.Flags(), &actions, "action", "read, write, create or git; separate several with commas")
	return c
}

// bindArguments reads the flags that bind and unbind share.
func bindArguments(where *placeFlags, who *subjectFlags, actions []string) (place *hubv1.Place, kind, name string, err error) {
	if kind, name, err = who.subject(); err != nil {
		return nil, "", "", err
	}
	if len(actions) == 0 {
		return nil, "", "", exitcode.Usagef("name an action: --action read, write, create or git")
	}
	place, err = where.place(true)
	return place, kind, name, err
}

func unbind(a *command.App) *cobra.Command {
	management := command.Management()
	var where placeFlags
	var who subjectFlags
	var actions []string
	c := &cobra.Command{
		Use: "unbind", Short: "Remove access; it ends within 5 s everywhere", Args: command.NoArgs,
		Long:    "Remove what axle auth bind gave. Use the same flags; axle auth bindings lists\nthe bindings.",
		Example: "  axle auth unbind --user ann@example.com --action read --project shop",
		RunE: func(c *cobra.Command, _ []string) error {
			place, kind, name, err := bindArguments(&where, &who, actions)
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			gone, err := client.Bindings.Delete(c.Context(), connect.NewRequest(&hubv1.DeleteBindingRequest{SubjectKind: kind, Subject: name, Actions: actions, Place: place, Management: management}))
			if err != nil {
				return err
			}
			return printBindings(a, gone.Msg.GetBindings())
		},
	}
	where.add(c)
	who.add(c)
	command.TakeOverFlag(c, management)
	flagvalue.List(c.Flags(), &actions, "action", "read, write, create or git; separate several with commas")
	return c
}
