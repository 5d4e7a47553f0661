package notifications

import (
	"cmp"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// sinkView is a sink as -o json and -o yaml show it. Its URL is a secret.
type sinkView struct {
	Name       string              `json:"name"`
	Type       string              `json:"type"`
	Project    string              `json:"project"`
	Host       string              `json:"host"`
	Signed     bool                `json:"signed"`
	Priority   string              `json:"priority"`
	Users      []string            `json:"users"`
	Groups     []string            `json:"groups"`
	Waiting    int64               `json:"waiting"`
	OldestAge  string              `json:"oldestAge"`
	Sent       int64               `json:"sent"`
	SentAt     string              `json:"sentAt"`
	SentAge    string              `json:"sentAge"`
	Failed     int64               `json:"failed"`
	Dropped    int64               `json:"dropped"`
	Error      string              `json:"error"`
	ErrorAt    string              `json:"errorAt"`
	ErrorAge   string              `json:"errorAge"`
	ManagedBy  command.ManagerView `json:"managedBy"`
	DeclaredBy string              `json:"declaredBy"`
	UpdatedAt  string              `json:"updatedAt"`
	UpdatedAge string              `json:"updatedAge"`
	ID         string              `json:"id"`
}

func newSinkView(a *command.App, s *hubv1.NotificationSink) sinkView {
	in, state := s.GetSettings(), s.GetState()
	return sinkView{
		Name: s.GetName(), Type: in.GetType(), Project: in.GetProject(), Host: s.GetHost(), Signed: s.GetSigned(), Priority: in.GetPriority(),
		Users: append([]string{}, in.GetUsers()...), Groups: append([]string{}, in.GetGroups()...),
		Waiting: state.GetWaiting(), OldestAge: a.Age(state.GetOldestAt()), Sent: state.GetSent(), SentAt: fields.Stamp(state.GetSentAt()), SentAge: a.Age(state.GetSentAt()),
		Failed: state.GetFailed(), Dropped: state.GetDropped(), Error: state.GetError(), ErrorAt: fields.Stamp(state.GetErrorAt()), ErrorAge: a.Age(state.GetErrorAt()),
		ManagedBy: command.NewManagerView(s.GetManagedBy()), DeclaredBy: s.GetDeclaredBy(), UpdatedAt: fields.Stamp(s.GetUpdatedAt()), UpdatedAge: a.Age(s.GetUpdatedAt()), ID: s.GetId(),
	}
}

// to is where the sink delivers to.
func (v sinkView) to() string {
	if v.Type != "PLURAL" {
		return v.Host
	}
	return strings.Join(append(append([]string{}, v.Users...), v.Groups...), ", ")
}

// trouble is the last error, empty when the last delivery went well.
func (v sinkView) trouble() string {
	if v.Error == "" {
		return ""
	}
	return v.Error + " (" + command.Ago(v.ErrorAge) + ")"
}

// count is a number, with an age if there is one.
func count(n int64, which, age string) string {
	if n == 0 || age == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d, %s %s", n, which, command.Ago(age))
}

func printSinks(a *command.App, all []*hubv1.NotificationSink) error {
	views := []sinkView{}
	for _, s := range all {
		views = append(views, newSinkView(a, s))
	}
	return command.PrintList(a, views, func(v sinkView) string { return v.Name },
		command.Col("NAME", func(v sinkView) string { return v.Name }),
		command.Col("TYPE", func(v sinkView) string { return v.Type }),
		command.Col("PROJECT", func(v sinkView) string { return cmp.Or(v.Project, "(hub)") }),
		command.Col("TO", sinkView.to),
		command.Ages("LAST SENT", func(v sinkView) string { return command.Ago(v.SentAge) }),
		command.Col("SENT", func(v sinkView) string { return fmt.Sprint(v.Sent) }),
		command.Col("WAITING", func(v sinkView) string { return fmt.Sprint(v.Waiting) }),
		command.Col("FAILED", func(v sinkView) string { return fmt.Sprint(v.Failed) }),
		command.Col("DROPPED", func(v sinkView) string { return fmt.Sprint(v.Dropped) }),
		command.Col("ERROR", sinkView.trouble),
		command.Wide("MANAGED BY", func(v sinkView) string { return v.ManagedBy.String() }),
	)
}

func printSink(a *command.App, s *hubv1.NotificationSink) error {
	return command.PrintOne(a, newSinkView(a, s), func(v sinkView) string { return v.Name },
		command.Col("Name", func(v sinkView) string { return v.Name }),
		command.Col("Type", func(v sinkView) string { return v.Type }),
		command.Col("Project", func(v sinkView) string { return cmp.Or(v.Project, "(hub)") }),
		command.Col("To", sinkView.to),
		command.Col("Signed", func(v sinkView) string { return map[bool]string{true: "yes", false: ""}[v.Signed] }),
		command.Col("Priority", func(v sinkView) string { return v.Priority }),
		command.Col("Sent", func(v sinkView) string {
			return count(v.Sent, "last", v.SentAge)
		}),
		command.Col("Waiting", func(v sinkView) string {
			return count(v.Waiting, "oldest", v.OldestAge)
		}),
		command.Col("Failed", func(v sinkView) string { return fmt.Sprint(v.Failed) }),
		command.Col("Dropped", func(v sinkView) string { return fmt.Sprint(v.Dropped) }),
		command.Col("Error", sinkView.trouble),
		command.Col("Managed by", func(v sinkView) string { return v.ManagedBy.String() }),
		command.Col("Updated", func(v sinkView) string { return fmt.Sprintf("by %s %s", v.DeclaredBy, command.Ago(v.UpdatedAge)) }),
	)
}

func sinks(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "NotificationSink", "List sinks, with their last delivery", "  axle notifications sinks list", printSinks)
	get := command.Gets(a, "NotificationSink", "Show sinks", "  axle notifications sinks get ops", printSink, printSinks)
	test := &cobra.Command{
		Use: "test NAME", Short: "Send a test message at once, and print what the destination answers", Args: command.Exactly(1),
		Example: "  axle notifications sinks test ops",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			answer, err := client.NotificationSinks.Test(c.Context(), connect.NewRequest(&hubv1.TestNotificationSinkRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, answer.Msg.GetAnswer())
			return err
		}),
	}
	remove := command.Deletes(a, "NotificationSink", "notification sink", "deleted", "Delete sinks and their queued messages", "  axle notifications sinks delete ops")
	return command.Noun("sinks", "Manage where notifications go: chats, a URL that accepts JSON, or Axle itself", []string{"sink"},
		list, get, sinkCreate(a), sinkUpdate(a), test, remove)
}

// sinkFlags are the flags that create and update share.
type sinkFlags struct {
	request             hubv1.ApplyNotificationSinkRequest
	settings            hubv1.NotificationSinkSettings
	urlFile, secretFile string
}

func (s *sinkFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.urlFile, "url-file", "", "file with the URL of the destination, - for standard input, or env:NAME; it is a secret, and is never shown again")
	f.StringVar(&s.secretFile, "secret-file", "", "WEBHOOK: file with the key that signs deliveries, at least 16 bytes; or - or env:NAME")
	f.StringVar(&s.settings.Priority, "priority", "", "PLURAL: "+rule.Or(rule.Priorities))
	flagvalue.List(f, &s.settings.Users, "user", "PLURAL: e-mail of a user who sees the notifications; may be repeated")
	flagvalue.List(f, &s.settings.Groups, "group", "PLURAL: group whose members see the notifications; may be repeated")
	f.BoolVar(&s.request.DryRun, "dry-run", false, "check everything, store nothing")
	command.Complete(c, "priority", rule.Priorities...)
}

func (s *sinkFlags) send(c *cobra.Command, a *command.App, client *sdk.Client, name string) (err error) {
	r := &s.request
	r.Name, r.Settings = name, &s.settings
	r.Settings.Type, r.Settings.Priority = strings.ToUpper(r.GetSettings().GetType()), strings.ToUpper(r.GetSettings().GetPriority())
	for flag, into := range map[string]*string{"url-file": &r.Url, "secret-file": &r.Secret} {
		if path := c.Flag(flag).Value.String(); path != "" {
			if *into, err = a.ReadSecret(flag, path, false); err != nil {
				return err
			}
		}
	}
	done, err := client.NotificationSinks.Apply(c.Context(), connect.NewRequest(r))
	if err != nil {
		return err
	}
	a.Wrote("notification sink", name, done.Msg.GetResult(), r.GetDryRun())
	return printSink(a, done.Msg.GetSink())
}

func sinkCreate(a *command.App) *cobra.Command {
	var s sinkFlags
	c := &cobra.Command{
		Use: "create NAME --type TYPE", Short: "Create a sink", Args: command.Exactly(1),
		Long: `Create a sink. The URL of a chat's webhook is a credential: it is read from a
file, kept sealed, and never shown again. A sink of a project belongs to those who may
write that project; without --project, it needs rights on the whole hub.`,
		Example: `  axle notifications sinks create ops --type slack --url-file slack.url
  axle notifications sinks create ci --type webhook --project shop --url-file - --secret-file ci.key < ci.url
  axle notifications sinks create console --type plural --group oncall --priority HIGH`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if err := command.Absent(c.Context(), client, "NotificationSink", "notification sink", args[0], "axle notifications sinks update changes"); err != nil {
				return err
			}
			s.request.Management = command.Management()
			return s.send(c, a, client, args[0])
		}),
	}
	s.flags(c)
	c.Flags().StringVar(&s.settings.Type, "type", "", rule.Or(rule.SinkTypes)+"; WEBHOOK is any URL that accepts JSON, PLURAL is Axle itself")
	c.Flags().StringVar(&s.settings.Project, "project", "", "project of the sink (default: the hub as a whole)")
	command.Complete(c, "type", rule.SinkTypes...)
	_ = c.MarkFlagRequired("type")
	return c
}

func sinkUpdate(a *command.App) *cobra.Command {
	var s sinkFlags
	management := command.Management()
	c := &cobra.Command{
		Use: "update NAME", Short: "Change a sink", Args: command.Exactly(1),
		Long: `Change a sink. Fields without a flag are unchanged. A new URL for a sink that signs its
deliveries needs the key again: the key is never sent to another address.`,
		Example: "  axle notifications sinks update ops --url-file new.url\n  axle notifications sinks update console --group oncall --group platform",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			have, err := client.NotificationSinks.Get(c.Context(), connect.NewRequest(&hubv1.GetNotificationSinkRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			command.Keep(c, &s.settings, have.Msg.GetSettings())
			s.request.Management = management
			return s.send(c, a, client, args[0])
		}),
	}
	s.flags(c)
	c.Flags().BoolVar(&s.request.Unsigned, "unsigned", false, "WEBHOOK: no longer sign deliveries")
	command.TakeOverFlag(c, management)
	return c
}
