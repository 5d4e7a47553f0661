package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/manifest"
)

type hubView struct {
	Version      string        `json:"version"`
	Database     string        `json:"database"`
	Position     string        `json:"position"`
	DeletesHeld  bool          `json:"deletesHeld"`
	RestoredFrom string        `json:"restoredFrom"`
	StartedAt    string        `json:"startedAt"`
	Age          string        `json:"age"`
	Replicas     []replicaView `json:"replicas"`
}

type replicaView struct {
	Name         string `json:"name"`
	URL          string `json:"url"`
	Version      string `json:"version"`
	State        string `json:"state"`
	SeenAge      string `json:"seenAge"`
	Repositories int32  `json:"repositories"`
	Draining     bool   `json:"draining"`
	// FeedBehind is how many commits the replica has not read yet. FeedAge is
	// how long ago it had read all of them.
	FeedBehind int64  `json:"feedBehind"`
	FeedAge    string `json:"feedAge"`
	DiskFree   int64  `json:"diskFree"`
	DiskTotal  int64  `json:"diskTotal"`
}

func (a *app) replica(r *hubv1.Replica, s *hubv1.HubStatus) replicaView {
	v := replicaView{
		Name: r.GetName(), URL: r.GetUrl(), Version: r.GetVersion(), State: "alive", SeenAge: a.age(r.GetSeenAt()),
		Repositories: r.GetRepositories(), Draining: r.GetDraining(), DiskFree: r.GetDiskFree(), DiskTotal: r.GetDiskTotal(),
		FeedAge: (time.Duration(r.GetFeedAgeMicros()) * time.Microsecond).Round(100 * time.Millisecond).String(),
	}
	if r.GetIncarnation() == s.GetIncarnation() {
		v.FeedBehind = max(0, s.GetFeedSequence()-r.GetSequence())
	}
	switch {
	case r.GetLeaving() && r.GetRepositories() == 0:
		v.State = "drained"
	case r.GetLeaving():
		v.State = "draining"
	case r.GetDrainingUntil() != 0:
		v.State = "stopped"
	case !r.GetAlive():
		v.State = "away"
	}
	return v
}

// line is a replica as the human-readable status shows it.
func (v replicaView) line() string {
	line := fmt.Sprintf("%s  %s  %s, seen %s, %d repositories", v.Name, v.URL, v.State, ago(v.SeenAge), v.Repositories)
	if v.State != "away" && v.State != "stopped" {
		line += fmt.Sprintf(", feed %d behind (%s)", v.FeedBehind, v.FeedAge)
	}
	if v.DiskTotal > 0 {
		line += fmt.Sprintf(", disk %d%% free of %.1f GiB", v.DiskFree*100/v.DiskTotal, float64(v.DiskTotal)/(1<<30))
	}
	return line
}

func (a *app) hubStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the hub's version, database and replicas", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			s, err := client.Hub.Status(c.Context(), connect.NewRequest(&hubv1.HubStatusRequest{}))
			if err != nil {
				return err
			}
			m := s.Msg
			view := hubView{m.GetVersion(), m.GetDatabase(), fmt.Sprintf("%s.%d", m.GetIncarnation(), m.GetSequence()), m.GetDeletesHeld(), m.GetRestoredFrom(), stamp(m.GetStartedAt()), a.age(m.GetStartedAt()), []replicaView{}}
			for _, r := range m.GetReplicas() {
				view.Replicas = append(view.Replicas, a.replica(r, m))
			}
			return printOne(a, view, func(v hubView) string { return v.Version },
				column[hubView]{"Version", func(v hubView) string { return v.Version }},
				column[hubView]{"Running for", func(v hubView) string { return v.Age }},
				column[hubView]{"Database", func(v hubView) string { return v.Database }},
				column[hubView]{"Position", func(v hubView) string { return v.Position }},
				column[hubView]{"Deletes", func(v hubView) string {
					if v.DeletesHeld {
						return "deletes are held since the restore; axle hub confirm-restore releases them"
					}
					return ""
				}},
				column[hubView]{"Replicas", func(v hubView) string {
					var lines []string
					for _, r := range v.Replicas {
						lines = append(lines, r.line())
					}
					return strings.Join(lines, "\n")
				}},
			)
		},
	}
}

func (a *app) hubDrain() *cobra.Command {
	var undo bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "drain REPLICA", Short: "Move the repositories of a replica to the others, before removing the replica",
		Long: `Move every repository that a replica of the hub owns to the other replicas, and wait
until it owns none. The others copy the repositories from the replica; no upstream is
contacted. A replica that only restarts needs no drain: its repositories wait two
minutes for it. A drained replica takes part again after a restart, or with --undo.`,
		Example: "  axle hub drain hub-2\n  axle hub drain hub-2 --undo",
		Args:    exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			if _, err := client.Hub.Drain(c.Context(), connect.NewRequest(&hubv1.DrainRequest{Replica: args[0], Undo: undo})); err != nil || undo {
				return err
			}
			left := int32(-1)
			done, err := a.pollUntil(c.Context(), timeout, func(ctx context.Context) (bool, error) {
				s, err := client.Hub.Status(ctx, connect.NewRequest(&hubv1.HubStatusRequest{}))
				if err != nil {
					return false, err
				}
				for _, r := range s.Msg.GetReplicas() {
					if r.GetName() == args[0] {
						left = r.GetRepositories()
					}
				}
				return left == 0, nil
			})
			if err == nil && !done {
				err = errcode.New(errcode.Unavailable, "replica %s still owns %d repositories; the drain continues", args[0], left)
			}
			if err == nil {
				_, err = fmt.Fprintf(a.Err, "replica %s owns no repositories now\n", args[0])
			}
			return err
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "let the replica own repositories again")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait until the replica owns none")
	return c
}

func (a *app) hubRotateSigningKey() *cobra.Command {
	return &cobra.Command{
		Use: "rotate-signing-key", Short: "Create a new key that signs the data for agents",
		Long: `Create a new key that signs the lists and specs for agents. Agents receive it,
signed with the present key, when they renew their tokens every 16 hours. The new
key takes over after 48 hours. The hub rotates the key by itself every 90 days.`,
		Example: "  axle hub rotate-signing-key",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			r, err := client.Hub.RotateSigningKey(c.Context(), connect.NewRequest(&hubv1.RotateSigningKeyRequest{}))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "signing key %s is announced and takes over at %s\n", r.Msg.GetKeyId(), stamp(r.Msg.GetSignsFrom()))
			return err
		},
	}
}

func (a *app) hub() *cobra.Command {
	confirm := &cobra.Command{
		Use: "confirm-restore", Short: "Let agents delete again after a restore from backup",
		Long: `After a restore from backup, agents follow the hub again by themselves, but they hold
every delete: objects that the backup does not know may have been created since.
Check the services that are Held, then confirm once.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			r, err := client.Hub.ConfirmRestore(c.Context(), connect.NewRequest(&hubv1.ConfirmRestoreRequest{}))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "restore confirmed; agents follow incarnation %s\n", r.Msg.GetIncarnation())
			return err
		},
	}
	return noun("hub", "Operate the hub", nil, a.hubStatus(), a.hubDrain(), a.hubRotateSigningKey(), a.hubSyncWindows(), confirm)
}

type eventView struct {
	ID      int64  `json:"id"`
	At      string `json:"at"`
	Age     string `json:"age"`
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	By      string `json:"by"`
	Message string `json:"message"`
}

func (a *app) events() *cobra.Command {
	request := &hubv1.ListEventsRequest{}
	var follow bool
	c := &cobra.Command{
		Use: "events", Short: "List events, newest first", Args: noArgs,
		Example: "  axle events --cluster edge-1 --follow",
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			if request.GetService() != "" {
				ref, err := serviceRef(request.GetService(), request.GetCluster())
				if err != nil {
					return err
				}
				request.Cluster, request.Service = ref.GetCluster(), ref.GetName()
			}
			for {
				list, err := client.Events.List(c.Context(), connect.NewRequest(request))
				if err != nil {
					return err
				}
				views := []eventView{}
				for _, e := range list.Msg.GetEvents() {
					views = append(views, eventView{e.GetId(), stamp(e.GetAt()), a.age(e.GetAt()), e.GetKind(), e.GetObject(), e.GetBy(), e.GetMessage()})
					request.After = max(request.After, e.GetId())
				}
				if !follow || len(views) > 0 {
					if err := a.printEvents(views); err != nil {
						return err
					}
				}
				if !follow {
					return nil
				}
				if _, err := a.pollUntil(c.Context(), 1500*time.Millisecond, func(context.Context) (bool, error) { return false, nil }); err != nil {
					return nil
				}
			}
		},
	}
	c.Flags().StringVar(&request.Cluster, "cluster", "", "only events of this cluster")
	c.Flags().StringVar(&request.Service, "service", "", "only events of this service: CLUSTER/NAME, or NAME with --cluster")
	c.Flags().Int32Var(&request.Limit, "limit", 0, "maximum number of events (default: 100, at most 1000)")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new events")
	return c
}

func (a *app) printEvents(views []eventView) error {
	return printList(a, views, func(v eventView) string { return fmt.Sprint(v.ID) },
		column[eventView]{"AGE", func(v eventView) string { return v.Age }},
		column[eventView]{"EVENT", func(v eventView) string { return v.Kind }},
		column[eventView]{"OBJECT", func(v eventView) string { return v.Object }},
		column[eventView]{"BY", func(v eventView) string { return v.By }},
		column[eventView]{"MESSAGE", func(v eventView) string { return v.Message }},
	)
}

type appliedView struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	Result    string   `json:"result"`
	Where     string   `json:"where"`
	NotActing []string `json:"notActing"`
}

func (a *app) apply() *cobra.Command {
	var files []string
	var dryRun bool
	c := &cobra.Command{
		Use: "apply -f FILE|DIR", Short: "Create or update what manifests declare",
		Long: `Read GitRepository, Cluster and ServiceDeployment objects of
deployments.plural.sh/v1alpha1 and create or update what they declare on the hub.
Secrets that they refer to are read from Secret objects in the same files. Objects
that are not in the files stay; nothing is deleted.`,
		Example: "  axle apply -f fleet/ --dry-run\n  axle apply -f fleet/",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usagef("name what to apply with -f FILE|DIR|-")
			}
			items, err := manifest.Read(files, a.readIn)
			if err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			views := []appliedView{}
			failed := 0
			added := map[string]bool{}
			for _, item := range items {
				view := appliedView{Kind: item.Kind, Name: item.Name, Where: item.Where, NotActing: append([]string{}, item.NotActing...)}
				if dryRun && item.Service != nil && added[item.Service.GetSpec().GetRepository()] {
					// The hub cannot check sources of a repository that this
					// dry run did not add.
					view.Result = "not checked, its repository is new"
					views = append(views, view)
					continue
				}
				if err := applyItem(c.Context(), client, item, dryRun, &view); err != nil {
					failed++
					view.Result = "failed: " + err.Error()
				}
				if item.Repository != nil && view.Result == "created" {
					added[item.Name] = true
				}
				views = append(views, view)
			}
			err = printList(a, views, func(v appliedView) string { return v.Kind + "/" + v.Name },
				column[appliedView]{"KIND", func(v appliedView) string { return v.Kind }},
				column[appliedView]{"NAME", func(v appliedView) string { return v.Name }},
				column[appliedView]{"RESULT", func(v appliedView) string { return v.Result }},
				column[appliedView]{"NOT ACTING YET", func(v appliedView) string { return strings.Join(v.NotActing, ", ") }},
			)
			if err == nil && failed > 0 {
				err = errcode.New(errcode.Invalid, "%d of %d objects were not applied", failed, len(items))
			}
			return err
		},
	}
	c.Flags().StringSliceVarP(&files, "filename", "f", nil, "files, folders, or - for standard input")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	return c
}
