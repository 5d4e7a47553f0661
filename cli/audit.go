package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	return noun("audit", "Who did what", nil, a.auditList(), a.auditVerify(), a.auditExport())
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
	var file string
	var keys map[string]string
	c := &cobra.Command{
		Use: "verify", Short: "Check that nobody changed the audit log", Args: noArgs,
		Long: `Check that nobody changed the audit log: each record carries a hash over itself
and the one before, and the hub signs how far the chain goes now and then. The
first record that is not what it was is named, and the command fails.

With --file an export is checked here, without trust in the hub's database; its
checkpoints are checked by the hub's keys, or by those of --key, so that it also
works without a hub.`,
		Example: `  axle audit verify
  axle audit verify --file audit.jsonl
  axle audit verify --file audit.jsonl --key sig_x=5f1c…`,
		RunE: func(c *cobra.Command, _ []string) error {
			if file != "" {
				return a.verifyFile(c.Context(), file, keys)
			}
			return a.verifyHub(c.Context())
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "check an export, as JSON lines; - is standard input")
	c.Flags().StringToStringVar(&keys, "key", nil, "ID=HEX of a key that signs checkpoints, instead of asking the hub")
	return c
}

// verifiedView is a chain that holds; one that does not is an error.
type verifiedView struct {
	Holds   bool   `json:"holds"`
	Records int64  `json:"records,omitempty"`
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to"`
	Hash    string `json:"hash"`
}

func (a *app) printVerified(v verifiedView, sentence string) error {
	if a.output == "json" || a.output == "yaml" {
		return a.encode(v)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}

func (a *app) verifyHub(ctx context.Context) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	at := &hubv1.VerifyAuditRequest{}
	var records, from int64
	for first := true; ; first = false {
		v, err := client.Audit.Verify(ctx, connect.NewRequest(at))
		if err != nil {
			return err
		}
		records += v.Msg.GetRecords()
		if first {
			from = v.Msg.GetFrom()
		}
		if v.Msg.GetBroken() != 0 {
			return errcode.New(errcode.Conflict, "the audit log was changed at record %d: %s", v.Msg.GetBroken(), v.Msg.GetReason())
		}
		if v.Msg.GetDone() {
			return a.printVerified(verifiedView{Holds: true, Records: records, From: from, To: v.Msg.GetSeq(), Hash: v.Msg.GetHash()},
				fmt.Sprintf("the audit log holds: %d records after %d, up to %d, hash %s", records, from, v.Msg.GetSeq(), v.Msg.GetHash()))
		}
		if v.Msg.GetSeq() == at.GetSeq() {
			return errcode.New(errcode.Unavailable, "the hub came no further than record %d; try again", at.GetSeq())
		}
		at = &hubv1.VerifyAuditRequest{Seq: v.Msg.GetSeq(), Hash: v.Msg.GetHash()}
	}
}

func (a *app) verifyFile(ctx context.Context, file string, given map[string]string) (err error) {
	in := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return errcode.New(errcode.Invalid, "read the export: %w", err)
		}
		defer f.Close()
		in = f
	}
	keys, err := a.checkpointKeys(ctx, given)
	if err != nil {
		return err
	}
	result, err := hashchain.Verify(in, keys)
	var broken *hashchain.Broken
	if errors.As(err, &broken) {
		return errcode.New(errcode.Conflict, "the export was changed at record %d: %s", broken.Sequence, broken.Reason)
	}
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	for _, g := range result.Gaps {
		fmt.Fprintf(a.Err, "records %d to %d are missing: %s\n", g.From, g.To, g.Reason)
	}
	if result.Unknown > 0 {
		fmt.Fprintf(a.Err, "%d checkpoints are signed by keys that are not known here; give them with --key\n", result.Unknown)
	}
	if len(result.Gaps) > 0 {
		return errcode.New(errcode.Conflict, "the export has gaps; what there is holds: %s", result)
	}
	return a.printVerified(verifiedView{Holds: true, To: result.Last.Sequence, Hash: result.Last.Hash}, fmt.Sprintf("the export holds: %s; last hash %s", result, result.Last.Hash))
}

// checkpointKeys reads the keys that were given, or asks the hub when one is
// configured.
func (a *app) checkpointKeys(ctx context.Context, given map[string]string) (map[string]ed25519.PublicKey, error) {
	if len(given) == 0 {
		client, err := a.client()
		if err != nil {
			fmt.Fprintln(a.Err, "no hub is configured: the chain is checked, the signatures of its checkpoints are not")
			return nil, nil
		}
		all, err := client.Audit.Checkpoints(ctx, connect.NewRequest(&hubv1.ListAuditCheckpointsRequest{}))
		if err != nil {
			return nil, err
		}
		given = all.Msg.GetKeys()
	}
	keys := map[string]ed25519.PublicKey{}
	for id, text := range given {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, usagef("--key %s is not ID=HEX with %d bytes", id, ed25519.PublicKeySize)
		}
		keys[id] = key
	}
	return keys, nil
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
			out := bufio.NewWriter(a.Out)
			if err := auditfile.Write(c.Context(), client, out, after); err != nil {
				return errors.Join(err, out.Flush())
			}
			return out.Flush()
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "only records above this seq")
	return c
}
