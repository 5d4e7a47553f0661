package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/auditfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/sdk"
)

// auditView is a record as JSON and YAML have it: its place, then what was
// recorded.
type auditView struct {
	Seq    int64           `json:"seq"`
	Time   string          `json:"time"`
	Hash   string          `json:"hash"`
	Record json.RawMessage `json:"record"`
	// Cluster is the name that the record's cluster has now, for kubernetes
	// calls and others about one.
	Cluster string `json:"cluster,omitempty"`
	fields  auditFields
}

type auditFields struct {
	At        int64  `json:"at"`
	Actor     string `json:"actor"`
	AsUser    string `json:"as_user"`
	Source    string `json:"source"`
	Action    string `json:"action"`
	Verb      string `json:"verb"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	ClusterID string `json:"cluster_id"`
	Result    string `json:"result"`
}

func newAuditView(r *hubv1.AuditRecord) (auditView, error) {
	v := auditView{Seq: r.GetSeq(), Hash: r.GetHash(), Record: json.RawMessage(r.GetRecord())}
	if err := json.Unmarshal(v.Record, &v.fields); err != nil {
		return v, errcode.New(errcode.Internal, "audit record %d is no JSON; run axle audit verify", v.Seq)
	}
	v.Time = stamp(v.fields.At)
	return v, nil
}

func (a *app) audit() *cobra.Command {
	return noun("audit", "Who did what", nil, a.auditList(), a.auditVerify(), auditCheckpoint(a), a.auditExport())
}

func (a *app) auditList() *cobra.Command {
	request := &hubv1.ListAuditRequest{}
	var since string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what was done, newest first", Args: noArgs,
		Example: `  axle audit list --since 24h --actor ann@example.com
  axle audit list --object service/edge-1/web -o json
  axle audit list --cluster edge-1 --action kubernetes --result forbidden
  axle audit list --object pods/exec --since 24h`,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			if request.Since, err = a.moment(since); err != nil {
				return err
			}
			all, err := client.Audit.List(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			views := []auditView{}
			for _, r := range all.Msg.GetRecords() {
				v, err := newAuditView(r)
				if err != nil {
					return err
				}
				views = append(views, v)
			}
			nameClusters(c.Context(), client, views)
			return printList(a, views, func(v auditView) string { return strconv.FormatInt(v.Seq, 10) },
				column[auditView]{"SEQ", func(v auditView) string { return strconv.FormatInt(v.Seq, 10) }},
				column[auditView]{"TIME", func(v auditView) string { return v.Time }},
				column[auditView]{"ACTOR", func(v auditView) string { return v.fields.Actor }},
				column[auditView]{"ACTION", func(v auditView) string {
					return strings.TrimSpace(shortCall(v.fields.Action) + " " + v.verb())
				}},
				column[auditView]{"CLUSTER", func(v auditView) string { return v.Cluster }},
				column[auditView]{"OBJECT", func(v auditView) string { return v.object() }},
				column[auditView]{"RESULT", func(v auditView) string { return v.fields.Result }},
				column[auditView]{"SOURCE", func(v auditView) string { return v.fields.Source }},
			)
		},
	}
	flags := c.Flags()
	flags.StringVar(&since, "since", "", "only from then on: a duration such as 24h, or a time such as 2026-01-31T15:04:05Z")
	flags.StringVar(&request.Actor, "actor", "", "only by this e-mail, service account or agent")
	flags.StringVar(&request.Cluster, "cluster", "", "only about this cluster, by name or, once it is gone, by id")
	flags.StringVar(&request.Action, "action", "", "only this call, such as Services/Update, or kubernetes")
	flags.StringVar(&request.Object, "object", "", "only this kind, this name, or kind/name")
	flags.StringVar(&request.Result, "result", "", "only with this result: ok, or an error's code such as forbidden")
	flags.Int32Var(&request.Limit, "limit", 0, "at most so many (default 100, at most 1000)")
	flags.Int64Var(&request.Before, "before", 0, "only those below this seq, for the next page")
	return c
}

// nameClusters puts names in place of ids. One that was deleted is known by its
// id alone, and without the list so are all.
func nameClusters(ctx context.Context, client *sdk.Client, views []auditView) {
	about := slices.ContainsFunc(views, func(v auditView) bool { return v.fields.ClusterID != "" })
	if !about {
		return
	}
	names := map[string]string{}
	if all, err := client.Clusters.List(ctx, connect.NewRequest(&hubv1.ListClustersRequest{})); err == nil {
		for _, c := range all.Msg.GetClusters() {
			names[c.GetId()] = c.GetName()
		}
	}
	for i := range views {
		views[i].Cluster = first(names[views[i].fields.ClusterID], views[i].fields.ClusterID)
	}
}

// shortCall leaves the package of a call away: Services/Update.
func shortCall(action string) string {
	if path, ok := strings.CutPrefix(action, "/axle."); ok {
		if _, call, ok := strings.Cut(path, ".v1."); ok {
			return call
		}
	}
	return action
}

// verb is a Kubernetes verb; that of a hub's call is in its name.
func (v auditView) verb() string {
	if strings.HasPrefix(v.fields.Action, "/") {
		return ""
	}
	return v.fields.Verb
}

func (v auditView) object() string {
	var parts []string
	for _, p := range []string{v.fields.Kind, v.fields.Namespace, v.fields.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// moment reads a time, or how long ago it was; empty is 0.
func (a *app) moment(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return a.now().Add(-d).UnixMicro(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, usagef("--since %q is neither a duration such as 24h nor a time such as 2026-01-31T15:04:05Z", text)
	}
	return t.UnixMicro(), nil
}

func (a *app) auditVerify() *cobra.Command {
	var file, checkpoint string
	var keys map[string]string
	c := &cobra.Command{
		Use: "verify", Short: "Check that nobody changed the audit log", Args: noArgs,
		Long: `Check that nobody changed the audit log: each record carries a hash over itself
and the one before, and the hub signs how far the chain goes now and then. The
first record that is not what it was is named, and the command fails.

With --checkpoint the chain must also go through the checkpoints in a file that
axle audit checkpoint wrote, and that nobody who can write to the hub's database
could reach. With --file an export is checked here, without trust in that
database; checkpoints are checked by the hub's keys, or by those of --key, so
that it also works without a hub.`,
		Example: `  axle audit verify
  axle audit verify --checkpoint /safe/axle-checkpoints.jsonl
  axle audit verify --file audit.jsonl --key sig_x=5f1c…`,
		RunE: func(c *cobra.Command, _ []string) error {
			kept, err := auditfile.Read(checkpoint)
			if err != nil {
				return err
			}
			if file != "" {
				return a.verifyFile(c.Context(), file, keys, kept)
			}
			return a.verifyHub(c.Context(), kept)
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "check an export, as JSON lines; - is standard input")
	c.Flags().StringVar(&checkpoint, "checkpoint", "", "file with checkpoints that were kept elsewhere")
	c.Flags().StringToStringVar(&keys, "key", nil, "ID=HEX of a key that signs checkpoints, instead of asking the hub")
	return c
}

func auditCheckpoint(a *app) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "checkpoint", Short: "Sign how far the audit log goes, for keeping elsewhere", Args: noArgs,
		Long: `Sign how far the audit log goes now, and write that as one line of JSON to
standard output, or to the end of a file. Keep it where nobody can write who can
write to the hub's database: axle audit verify --checkpoint then tells when the
log was cut short, written anew, or replaced by an older copy.`,
		Example: `  axle audit checkpoint >>/safe/axle-checkpoints.jsonl
  axle audit checkpoint --file /safe/axle-checkpoints.jsonl`,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			made, err := client.Audit.Checkpoint(c.Context(), connect.NewRequest(&hubv1.MakeAuditCheckpointRequest{}))
			if err != nil {
				return err
			}
			if err := auditfile.Append(file, a.Out, made.Msg.GetCheckpoint()); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "the audit log goes up to record %d, signed by %s\n", made.Msg.GetCheckpoint().GetSeq(), made.Msg.GetCheckpoint().GetKeyId())
			return nil
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "write to the end of this file")
	return c
}

// verifiedView is a chain that holds; one that does not is an error.
type verifiedView struct {
	Holds   bool   `json:"holds"`
	Records int64  `json:"records,omitempty"`
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to"`
	Hash    string `json:"hash"`
	// Checkpoints that were kept elsewhere were compared.
	Checkpoints int `json:"checkpoints,omitempty"`
}

func (a *app) printVerified(v verifiedView, sentence string) error {
	if a.output == "json" || a.output == "yaml" {
		return a.encode(v)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}

func (a *app) verifyHub(ctx context.Context, kept []hashchain.Checkpoint) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	v, err := auditfile.VerifyHub(ctx, client, kept)
	if err != nil {
		return err
	}
	return a.printVerified(verifiedView{Holds: true, Records: v.Records, From: v.From, To: v.To, Hash: v.Hash, Checkpoints: len(kept)},
		fmt.Sprintf("the audit log holds: %d records after %d, up to %d, hash %s%s", v.Records, v.From, v.To, v.Hash, through(kept)))
}

// through says that kept checkpoints were looked at.
func through(kept []hashchain.Checkpoint) string {
	if len(kept) == 0 {
		return ""
	}
	return fmt.Sprintf("; it goes through the %d checkpoints that were kept", len(kept))
}

func (a *app) verifyFile(ctx context.Context, file string, given map[string]string, kept []hashchain.Checkpoint) error {
	if len(given) == 0 {
		client, err := a.client()
		if err != nil {
			fmt.Fprintln(a.Err, "no hub is configured: the chain is checked, the signatures of its checkpoints are not")
		} else if given, err = auditfile.Keys(ctx, client); err != nil {
			return err
		}
	}
	keys, err := auditfile.ParseKeys(given)
	if err != nil {
		return usagef("--key %v", err)
	}
	result, err := auditfile.Verify(file, auditfile.Terms{Keys: keys, Kept: kept, In: a.In, Warn: a.Err})
	if err != nil {
		return err
	}
	return a.printVerified(verifiedView{Holds: true, To: result.Last.Sequence, Hash: result.Last.Hash, Checkpoints: len(kept)},
		fmt.Sprintf("the export holds: %s; last hash %s%s", result, result.Last.Hash, through(kept)))
}

func (a *app) auditExport() *cobra.Command {
	var after int64
	c := &cobra.Command{
		Use: "export", Short: "Write the whole audit log as JSON lines to standard output", Args: noArgs,
		Example: `  axle audit export >audit.jsonl
  axle audit export --after 12000 >>audit.jsonl`,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			to := a.Out
			if !isTerminal(to) {
				to = raw(to) // every byte counts for verify
			}
			out := bufio.NewWriter(to)
			if err := auditfile.Write(c.Context(), client, out, after); err != nil {
				return errors.Join(err, out.Flush())
			}
			return out.Flush()
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "only records above this seq")
	return c
}
