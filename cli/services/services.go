package services

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/sdk"
)

// Command returns the command axle services.
func Command(a *command.App) *cobra.Command {
	return command.Noun("services", "Manage services, each a deployment to one cluster", []string{"service", "svc"},
		listCommand(a), getCommand(a), createCommand(a), updateCommand(a),
		syncCommand(a),
		pauseCommand(a),
		verbCommand(a, "resume", "Resume paused services, or unpin them after a rollback", "resumed",
			func(ctx context.Context, c *sdk.Client, ref *hubv1.ServiceRef) (*connect.Response[hubv1.Service], error) {
				return c.Services.Resume(ctx, connect.NewRequest(&hubv1.ResumeServiceRequest{Ref: ref}))
			}),
		verbCommand(a, "approve-prune", "Approve a held prune, so that it deletes the objects it named", "prune approved",
			func(ctx context.Context, c *sdk.Client, ref *hubv1.ServiceRef) (*connect.Response[hubv1.Service], error) {
				return c.Services.ApprovePrune(ctx, connect.NewRequest(&hubv1.ApprovePruneRequest{Ref: ref}))
			}),
		configCommand(a), diffCommand(a), rollbackCommand(a), revisionsCommand(a), testsCommand(a), treeCommand(a), waitCommand(a), deleteCommand(a))
}

const reasonHelp = "why, for the events and the audit log; at most 500 characters"

func pauseCommand(a *command.App) *cobra.Command {
	var reason string
	c := verbCommand(a, "pause", "Pause services: stop applying, healing and deleting", "paused",
		func(ctx context.Context, c *sdk.Client, ref *hubv1.ServiceRef) (*connect.Response[hubv1.Service], error) {
			return c.Services.Pause(ctx, connect.NewRequest(&hubv1.PauseServiceRequest{Ref: ref, Reason: reason}))
		})
	c.Flags().StringVar(&reason, "reason", "", reasonHelp)
	c.Example = `  axle services pause edge-1/web --wait
  axle services pause edge-1/web edge-2/web --reason "the database moves"`
	return c
}

func syncCommand(a *command.App) *cobra.Command {
	var resources []string
	c := verbCommand(a, "sync", "Fetch and apply now instead of at the next poll", "sync requested",
		func(ctx context.Context, c *sdk.Client, ref *hubv1.ServiceRef) (*connect.Response[hubv1.Service], error) {
			return c.Services.Sync(ctx, connect.NewRequest(&hubv1.SyncServiceRequest{Ref: ref, Resources: resources}))
		})
	c.Example = `  axle services sync edge-1/web --wait
  axle services sync edge-1/web --resource apps:Deployment:web --resource :ConfigMap:web`
	c.Flags().StringArrayVar(&resources, "resource", nil, "sync only this object, even if the service is paused: GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME; may be repeated")
	return c
}

// serviceView is a service as -o json and -o yaml show it.
type serviceView struct {
	Cluster         string             `json:"cluster"`
	Name            string             `json:"name"`
	Namespace       string             `json:"namespace"`
	DesiredRevision string             `json:"desiredRevision"`
	AppliedRevision string             `json:"appliedRevision"`
	Sync            string             `json:"sync"`
	Reason          string             `json:"reason"`
	Health          string             `json:"health"`
	Freshness       string             `json:"freshness"`
	PolledAt        string             `json:"polledAt"`
	PolledAge       string             `json:"polledAge"`
	ReportedAt      string             `json:"reportedAt"`
	ReportedAge     string             `json:"reportedAge"`
	Message         string             `json:"message"`
	Errors          []serviceErrorView `json:"errors"`
	Project         string             `json:"project"`
	Repository      string             `json:"repository"`
	Ref             string             `json:"ref"`
	Folder          string             `json:"folder"`
	Revision        int64              `json:"revision"`
	PinnedRevision  int64              `json:"pinnedRevision"`
	Paused          bool               `json:"paused"`
	Deleting        bool               `json:"deleting"`
	DesiredDigest   string             `json:"desiredDigest"`
	AppliedDigest   string             `json:"appliedDigest"`
	CommitMessage   string             `json:"commitMessage"`
	CommitAuthor    string             `json:"commitAuthor"`
	CommittedAt     string             `json:"committedAt"`
	NotActing       []string           `json:"notActing"`
	Sources         []sourceView       `json:"sources"`
	Objects         objectCounts       `json:"objects"`
	Components      []componentView    `json:"components,omitempty"`
	UpdatedAt       string             `json:"updatedAt"`

	ManagedBy command.ManagerView `json:"managedBy"`

	ID string `json:"id"`
}

type serviceErrorView struct {
	Source  string `json:"source"`
	Message string `json:"message"`
	Since   string `json:"since"`
	Age     string `json:"age"`
	Warning bool   `json:"warning"`
}

// sourceView is one source of a service.
type sourceView struct {
	Field       string `json:"field"`
	Path        string `json:"path"`
	Repository  string `json:"repository"`
	Type        string `json:"type"`
	Ref         string `json:"ref"`
	Folder      string `json:"folder"`
	Chart       string `json:"chart"`
	Version     string `json:"version"`
	Revision    string `json:"revision"`
	Digest      string `json:"digest"`
	Message     string `json:"message"`
	CommittedAt string `json:"committedAt"`
	FetchedAt   string `json:"fetchedAt"`
	Age         string `json:"age"`
	Error       string `json:"error"`
	ErrorSince  string `json:"errorSince"`
	ErrorAge    string `json:"errorAge"`
}

func newSourceView(a *command.App, s *hubv1.ServiceSource) sourceView {
	return sourceView{
		Field: s.GetField(), Path: s.GetPath(), Repository: s.GetRepository(), Type: s.GetType(), Ref: s.GetRef(), Folder: s.GetFolder(), Chart: s.GetChart(), Version: s.GetVersion(),
		Revision: s.GetRevision(), Digest: s.GetDigest(), Message: s.GetMessage(), CommittedAt: fields.Stamp(s.GetCommittedAt()), FetchedAt: fields.Stamp(s.GetFetchedAt()), Age: a.Age(s.GetFetchedAt()),
		Error: s.GetError(), ErrorSince: fields.Stamp(s.GetErrorSince()), ErrorAge: a.Age(s.GetErrorSince()),
	}
}

// what names what is followed: ref and folder, or chart and version.
func (v sourceView) what() string {
	if v.Chart != "" {
		return v.Chart + " " + cmp.Or(v.Version, "newest")
	}
	return strings.TrimSpace(v.Ref + " " + cmp.Or(v.Folder, "."))
}

// line is the source on one line, with its error on the next.
func (v sourceView) line() string {
	at := ""
	if v.Path != "" {
		at = v.Path + " <- "
	}
	digest := strings.TrimPrefix(v.Digest, "axle1:")
	line := fmt.Sprintf("%s%s %s, revision %s, content %s, fetched %s", at, v.Repository, v.what(), cmp.Or(command.Short(v.Revision), "none yet"), cmp.Or(digest[:min(len(digest), 12)], "none yet"), command.Ago(v.Age))
	if v.Error != "" {
		line += fmt.Sprintf("\n  since %s: %s", cmp.Or(v.ErrorAge, "?"), v.Error)
	}
	return line
}

type objectCounts struct {
	Total       int32 `json:"total"`
	Healthy     int32 `json:"healthy"`
	Progressing int32 `json:"progressing"`
	Degraded    int32 `json:"degraded"`
}

type componentView struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Synced    bool   `json:"synced"`
	Health    string `json:"health"`
	Message   string `json:"message"`
	// Drift is the fields that differ from what was applied.
	Drift []diffview.Drift `json:"drift,omitempty"`
}

func newServiceView(a *command.App, s *hubv1.Service) serviceView {
	v := serviceView{
		Cluster: s.GetCluster(), Name: s.GetName(), Namespace: s.GetNamespace(), DesiredRevision: s.GetDesiredRevision(), AppliedRevision: s.GetAppliedRevision(),
		Sync: s.GetSync(), Reason: s.GetReason(), Health: s.GetHealth(), Freshness: s.GetFreshness(),
		PolledAt: fields.Stamp(s.GetPolledAt()), PolledAge: a.Age(s.GetPolledAt()), ReportedAt: fields.Stamp(s.GetReportedAt()), ReportedAge: a.Age(s.GetReportedAt()),
		Message: s.GetMessage(), Errors: []serviceErrorView{}, Project: s.GetProject(),
		Repository: s.GetSpec().GetRepository(), Ref: s.GetSpec().GetGit().GetRef(), Folder: s.GetSpec().GetGit().GetFolder(),
		Revision: s.GetRevision(), PinnedRevision: s.GetPinnedRevision(), Paused: s.GetPaused(), Deleting: s.GetDeleting(),
		DesiredDigest: s.GetDesiredDigest(), AppliedDigest: s.GetAppliedDigest(), CommitMessage: s.GetCommitMessage(), CommitAuthor: s.GetCommitAuthor(),
		CommittedAt: fields.Stamp(s.GetCommittedAt()), NotActing: append([]string{}, s.GetNotActing()...), UpdatedAt: fields.Stamp(s.GetUpdatedAt()), ID: s.GetId(), ManagedBy: command.NewManagerView(s.GetManagedBy()),
		Objects: objectCounts{s.GetCounts().GetTotal(), s.GetCounts().GetHealthy(), s.GetCounts().GetProgressing(), s.GetCounts().GetDegraded()},
	}
	v.Sources = []sourceView{}
	for _, source := range s.GetSources() {
		v.Sources = append(v.Sources, newSourceView(a, source))
	}
	for _, e := range s.GetErrors() {
		v.Errors = append(v.Errors, serviceErrorView{e.GetSource(), e.GetMessage(), fields.Stamp(e.GetSince()), a.Age(e.GetSince()), e.GetWarning()})
	}
	for _, c := range s.GetComponents() {
		v.Components = append(v.Components, componentView{c.GetGroup(), c.GetVersion(), c.GetKind(), c.GetNamespace(), c.GetName(), c.GetSynced(), c.GetHealth(), c.GetMessage(), diffview.DriftOf(c.GetDrift())})
	}
	return v
}

// syncText is the sync state with its reason, as one word for a table.
func (v serviceView) syncText() string {
	if v.Deleting {
		return "Deleting"
	}
	if v.Reason != "" && (v.Sync == "Held" || v.Sync == "Paused") {
		return v.Sync + "/" + v.Reason
	}
	return v.Sync
}

// problem is the most important problem, in one sentence.
func (v serviceView) problem() string {
	if v.Message == "" && len(v.Errors) > 0 {
		return v.Errors[0].Source + ": " + v.Errors[0].Message
	}
	return v.Message
}

func serviceName(v serviceView) string { return v.Cluster + "/" + v.Name }

func serviceViews(a *command.App, all []*hubv1.Service) []serviceView {
	views := []serviceView{}
	for _, s := range all {
		views = append(views, newServiceView(a, s))
	}
	return views
}

func serviceColumns() []command.Column[serviceView] {
	return []command.Column[serviceView]{
		command.Col("CLUSTER", func(v serviceView) string { return v.Cluster }),
		command.Col("SERVICE", func(v serviceView) string { return v.Name }),
		command.Col("SYNC", serviceView.syncText),
		command.Col("HEALTH", func(v serviceView) string { return v.Health }),
		command.Col("APPLIED", func(v serviceView) string { return command.Short(v.AppliedRevision) }),
		command.Col("DESIRED", func(v serviceView) string {
			if v.PinnedRevision > 0 {
				return command.Short(v.DesiredRevision) + " (pinned)"
			}
			return command.Short(v.DesiredRevision)
		}),
		command.Col("FRESHNESS", func(v serviceView) string { return v.Freshness }),
		command.Ages("POLLED", func(v serviceView) string { return v.PolledAge }),
		command.Wide("NAMESPACE", func(v serviceView) string { return v.Namespace }),
		command.Wide("PROJECT", func(v serviceView) string { return v.Project }),
		command.Wide("REPOSITORY", func(v serviceView) string { return v.Repository }),
		command.Wide("REF", func(v serviceView) string { return v.Ref }),
		command.Wide("FOLDER", func(v serviceView) string { return v.Folder }),
		command.Wide("MANAGED BY", func(v serviceView) string { return v.ManagedBy.String() }),
		command.Wide("OBJECTS", func(v serviceView) string { return fmt.Sprintf("%d/%d", v.Objects.Healthy, v.Objects.Total) }),
		command.Col("MESSAGE", serviceView.problem),
	}
}

func printService(a *command.App, s *hubv1.Service) error {
	return command.PrintOne(a, newServiceView(a, s), serviceName,
		command.Col("Service", serviceName),
		command.Col("Namespace", func(v serviceView) string { return v.Namespace }),
		command.Col("Sources", func(v serviceView) string {
			lines := make([]string, len(v.Sources))
			for i, s := range v.Sources {
				lines[i] = s.line()
			}
			return strings.Join(lines, "\n")
		}),
		command.Col("Sync", serviceView.syncText),
		command.Col("Health", func(v serviceView) string { return v.Health }),
		command.Col("Freshness", func(v serviceView) string { return v.Freshness + ", polled " + command.Ago(v.PolledAge) }),
		command.Col("Reported", func(v serviceView) string { return command.Ago(v.ReportedAge) }),
		command.Col("Desired", func(v serviceView) string { return v.DesiredRevision }),
		command.Col("Applied", func(v serviceView) string { return v.AppliedRevision }),
		command.Col("Commit", func(v serviceView) string { return strings.SplitN(v.CommitMessage, "\n", 2)[0] }),
		command.Col("Author", func(v serviceView) string { return v.CommitAuthor }),
		command.Col("Revision", func(v serviceView) string {
			if v.PinnedRevision > 0 {
				return fmt.Sprintf("%d, pinned to %d (axle services resume unpins)", v.Revision, v.PinnedRevision)
			}
			return strconv.FormatInt(v.Revision, 10)
		}),
		command.Col("Managed by", func(v serviceView) string { return v.ManagedBy.String() }),
		command.Col("Message", func(v serviceView) string { return v.Message }),
		command.Col("Errors", func(v serviceView) string {
			var lines []string
			for _, e := range v.Errors {
				lines = append(lines, fmt.Sprintf("%s: %s (since %s)", e.Source, e.Message, cmp.Or(e.Age, "?")))
			}
			return strings.Join(lines, "\n")
		}),
		command.Col("Not acting yet", func(v serviceView) string { return strings.Join(v.NotActing, ", ") }),
		command.Col("Objects", func(v serviceView) string {
			lines := []string{fmt.Sprintf("%d, %d healthy, %d progressing, %d degraded", v.Objects.Total, v.Objects.Healthy, v.Objects.Progressing, v.Objects.Degraded)}
			for _, c := range v.Components {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%-12s %s %s  %s", c.Health, c.Kind, strings.TrimPrefix(c.Namespace+"/"+c.Name, "/"), c.Message)))
				for _, f := range c.Drift {
					lines = append(lines, strings.TrimSpace(fmt.Sprintf("%-12s   %s  %s", f.Action, f.Path, f.Manager)))
				}
			}
			return strings.Join(lines, "\n")
		}),
	)
}

// serviceArgs accepts arguments that each name a service. A mistake there is
// found without a hub.
func serviceArgs(cluster *string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := command.AtLeast(1)(c, args); err != nil {
			return err
		}
		return command.Each(args, func(name string) error {
			_, err := command.ServiceRef(name, *cluster)
			return err
		})
	}
}

func getCommand(a *command.App) *cobra.Command {
	var cluster string
	c := &cobra.Command{
		Use: "get CLUSTER/NAME…", Short: "Show services and their objects", Args: serviceArgs(&cluster),
		RunE: command.Shows(a, func(ctx context.Context, client *sdk.Client, name string) (*connect.Response[hubv1.Service], error) {
			ref, err := command.ServiceRef(name, cluster)
			if err != nil {
				return nil, err
			}
			return client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		}, printService, func(a *command.App, all []*hubv1.Service) error {
			return command.PrintList(a, serviceViews(a, all), serviceName, serviceColumns()...)
		}),
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the arguments are only NAMEs")
	return c
}

// verbCommand is a command that does one thing to each named service.
func verbCommand(a *command.App, verb, about, done string, call func(context.Context, *sdk.Client, *hubv1.ServiceRef) (*connect.Response[hubv1.Service], error)) *cobra.Command {
	// Whoever approves a prune has looked at it.
	selected := &selector{verb: verb, done: done, single: verb == "approve-prune"}
	var wait waiting
	c := &cobra.Command{
		Use: verb + " CLUSTER/NAME…", Short: about, Args: selected.args(command.AtLeast(1)),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) (err error) {
			one := func(ctx context.Context, ref *hubv1.ServiceRef) error {
				_, err := call(ctx, client, ref)
				return err
			}
			var refs []*hubv1.ServiceRef
			if selected.selects(args) {
				refs, err = selected.run(c.Context(), a, client, args, one)
			} else {
				refs, err = selected.each(c.Context(), a, args, one)
			}
			if err == nil && wait.wanted && len(refs) > 0 {
				return waitFor(c.Context(), a, client, refs, wait)
			}
			return err
		}),
	}
	selected.flags(c)
	switch verb {
	case "sync", "resume":
		wait.flags(c)
	case "pause":
		wait.stopped = true
		wait.flags(c)
		c.Flags().Lookup("wait").Usage = "wait until the agents report that they stopped"
	}
	return c
}
