package audit

import (
	"bufio"
	"cmp"
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
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/sdk"
)

// auditView is a record as JSON and YAML show it: its position in the chain,
// then its fields.
type auditView struct {
	Seq    int64           `json:"seq"`
	Time   string          `json:"time"`
	Hash   string          `json:"hash"`
	Record json.RawMessage `json:"record"`
	// Cluster is the current name of the record's cluster. It is set for
	// Kubernetes calls and other calls about one cluster.
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
		return v, errcode.New(errcode.Internal, "audit record %d is not JSON; run axle audit verify", v.Seq)
	}
	v.Time = fields.Stamp(v.fields.At)
	return v, nil
}

// Command returns the command axle audit.
func Command(a *command.App) *cobra.Command {
	return command.Noun("audit", "List, verify and export the audit log", nil, listCommand(a), verifyCommand(a), checkpointCommand(a), exportCommand(a))
}

func listCommand(a *command.App) *cobra.Command {
	request := &hubv1.ListAuditRequest{}
	var since string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List audit records, newest first", Args: command.NoArgs,
		Example: `  axle audit list --since 24h --actor ann@example.com
  axle audit list --object service/edge-1/web -o json
  axle audit list --cluster edge-1 --action kubernetes --result forbidden
  axle audit list --object pods/exec --since 24h`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			from, err := moment(a, since)
			if err != nil {
				return err
			}
			request.Since = from
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
			return command.PrintList(a, views, func(v auditView) string { return strconv.FormatInt(v.Seq, 10) },
				command.Col("SEQ", func(v auditView) string { return strconv.FormatInt(v.Seq, 10) }),
				command.Col("TIME", func(v auditView) string { return v.Time }),
				command.Col("ACTOR", func(v auditView) string { return v.fields.Actor }),
				command.Col("ACTION", func(v auditView) string {
					return strings.TrimSpace(shortCall(v.fields.Action) + " " + v.verb())
				}),
				command.Col("CLUSTER", func(v auditView) string { return v.Cluster }),
				command.Col("OBJECT", func(v auditView) string { return v.object() }),
				command.Col("RESULT", func(v auditView) string { return v.fields.Result }),
				command.Col("SOURCE", func(v auditView) string { return v.fields.Source }),
			)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&since, "since", "", "only records since a duration ago such as 24h, or a time such as 2026-01-31T15:04:05Z")
	flags.StringVar(&request.Actor, "actor", "", "only records of this user (e-mail), service account or agent")
	flags.StringVar(&request.Cluster, "cluster", "", "only records about this cluster: its name, or its id after it was deleted")
	flags.StringVar(&request.Action, "action", "", "only records of this call, such as Services/Update, or kubernetes")
	flags.StringVar(&request.Object, "object", "", "only records about this object: KIND, NAME or KIND/NAME")
	flags.StringVar(&request.Result, "result", "", "only records with this result: ok, or an error code such as forbidden")
	flags.Int32Var(&request.Limit, "limit", 0, "maximum number of records (default: 100, at most 1000)")
	flags.Int64Var(&request.Before, "before", 0, "only records below this seq, for the next page")
	return c
}

// nameClusters replaces cluster ids by names. A deleted cluster keeps its id,
// and all keep theirs if the list of clusters cannot be read.
func nameClusters(ctx context.Context, client *sdk.Client, views []auditView) {
	about := slices.ContainsFunc(views, func(v auditView) bool { return v.fields.ClusterID != "" })
	if !about {
		return
	}
	names := map[string]string{}
	if all, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{}); err == nil {
		for _, c := range all {
			names[c.GetId()] = c.GetName()
		}
	}
	for i := range views {
		views[i].Cluster = cmp.Or(names[views[i].fields.ClusterID], views[i].fields.ClusterID)
	}
}

// shortCall removes the package from the name of a call: Services/Update.
func shortCall(action string) string {
	if path, ok := strings.CutPrefix(action, "/axle."); ok {
		if _, call, ok := strings.Cut(path, ".v1."); ok {
			return call
		}
	}
	return action
}

// verb is a Kubernetes verb; the name of a hub call holds its own verb.
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

// moment parses a time, or a duration before now. An empty text is 0.
func moment(a *command.App, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return a.Now().Add(-d).UnixMicro(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, exitcode.Usagef("--since %q is neither a duration such as 24h nor a time such as 2026-01-31T15:04:05Z", text)
	}
	return t.UnixMicro(), nil
}

func verifyCommand(a *command.App) *cobra.Command {
	var file, checkpoint string
	var keys map[string]string
	c := &cobra.Command{
		Use: "verify", Short: "Check that the audit log was not changed", Args: command.NoArgs,
		Long: `Check that the audit log was not changed. Each record carries a hash over itself
and the record before it, and the hub regularly signs the end of the chain. The
command fails at the first record that does not match, and names it.

With --checkpoint, the chain must also contain the checkpoints in a file written
by axle audit checkpoint. Keep that file where people with write access to the
hub's database cannot reach it. With --file, an export is checked locally without
trusting that database. Checkpoints are verified with the hub's keys, or with the
keys given by --key, which also works without a hub.`,
		Example: `  axle audit verify
  axle audit verify --checkpoint /safe/axle-checkpoints.jsonl
  axle audit verify --file audit.jsonl --key sig_x=5f1c…`,
		RunE: func(c *cobra.Command, _ []string) error {
			kept, err := auditfile.Read(checkpoint, a.Err)
			if err != nil {
				return err
			}
			if file != "" {
				err = verifyFile(c.Context(), a, file, keys, kept)
			} else {
				err = verifyHub(c.Context(), a, kept)
			}
			if errcode.Is(err, errcode.Conflict) {
				return exitcode.With(err, exitcode.Failed) // the log does not hold
			}
			return err
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "check an export in JSON lines; - reads standard input")
	c.Flags().StringVar(&checkpoint, "checkpoint", "", "file with checkpoints that were stored outside the hub")
	flagvalue.Labels(c.Flags(), &keys, "key", "ID=HEX of a public key that verifies checkpoints (default: the hub's keys)")
	return c
}

func checkpointCommand(a *command.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "checkpoint", Short: "Sign the end of the audit log, to store it outside the hub", Args: command.NoArgs,
		Long: `Sign the present end of the audit log and write it as one line of JSON to
standard output, or append it to a file. Store it where people with write access
to the hub's database cannot write: axle audit verify --checkpoint then detects a
log that was truncated, rewritten, or replaced by an older copy.`,
		Example: `  axle audit checkpoint >>/safe/axle-checkpoints.jsonl
  axle audit checkpoint --file /safe/axle-checkpoints.jsonl`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			made, err := client.Audit.Checkpoint(c.Context(), connect.NewRequest(&hubv1.MakeAuditCheckpointRequest{}))
			if err != nil {
				return err
			}
			if err := auditfile.Append(file, a.Out, a.Err, made.Msg.GetCheckpoint()); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "the audit log ends at record %d; signed with key %s\n", made.Msg.GetCheckpoint().GetSeq(), made.Msg.GetCheckpoint().GetKeyId())
			return nil
		}),
	}
	c.Flags().StringVarP(&file, "file", "f", "", "append to this file")
	return c
}

// verifiedView is the result for a chain that is valid; an invalid one is an
// error.
type verifiedView struct {
	Holds   bool   `json:"holds"`
	Records int64  `json:"records,omitempty"`
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to"`
	Hash    string `json:"hash"`
	// Checkpoints is how many stored checkpoints were compared.
	Checkpoints int `json:"checkpoints,omitempty"`
}

func printVerified(a *command.App, v verifiedView, sentence string) error {
	if output.Data(a.Output) {
		return a.Encode(v)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}

func verifyHub(ctx context.Context, a *command.App, kept []hashchain.Checkpoint) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	v, err := auditfile.VerifyHub(ctx, client, kept)
	if err != nil {
		return err
	}
	return printVerified(a, verifiedView{Holds: true, Records: v.Records, From: v.From, To: v.To, Hash: v.Hash, Checkpoints: len(kept)},
		fmt.Sprintf("the audit log is valid: %s after %d, up to %d, hash %s%s", output.Count(v.Records, "record"), v.From, v.To, v.Hash, through(kept)))
}

// through says how many stored checkpoints the chain contains.
func through(kept []hashchain.Checkpoint) string {
	if len(kept) == 0 {
		return ""
	}
	return fmt.Sprintf("; it contains the %s", output.Count(len(kept), "stored checkpoint"))
}

func verifyFile(ctx context.Context, a *command.App, file string, given map[string]string, kept []hashchain.Checkpoint) error {
	if len(given) == 0 {
		client, err := a.Client()
		if err != nil {
			fmt.Fprintln(a.Err, "no hub is configured and no --key is given: the chain is checked, but not the signatures of its checkpoints")
		} else if given, err = auditfile.Keys(ctx, client); err != nil {
			return err
		}
	}
	keys, err := auditfile.ParseKeys(given)
	if err != nil {
		return exitcode.Usagef("--key %v", err)
	}
	result, err := auditfile.Verify(file, auditfile.Terms{Keys: keys, Kept: kept, In: a.In, Warn: a.Err})
	if err != nil {
		return err
	}
	return printVerified(a, verifiedView{Holds: true, To: result.Last.Sequence, Hash: result.Last.Hash, Checkpoints: len(kept)},
		fmt.Sprintf("the export is valid: %s; last hash %s%s", result, result.Last.Hash, through(kept)))
}

func exportCommand(a *command.App) *cobra.Command {
	var after int64
	c := &cobra.Command{
		Use: "export", Short: "Write the whole audit log as JSON lines to standard output", Args: command.NoArgs,
		Example: `  axle audit export >audit.jsonl
  axle audit export --after 12000 >>audit.jsonl`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			to := a.Out
			if !output.IsTerminal(to) {
				to = output.Raw(to) // every byte counts for verify
			}
			out := bufio.NewWriter(to)
			if err := auditfile.Write(c.Context(), client, out, after); err != nil {
				return errors.Join(err, out.Flush())
			}
			return out.Flush()
		}),
	}
	c.Flags().Int64Var(&after, "after", 0, "only records above this seq")
	return c
}
