package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/unified"
	"github.com/axle-cd/axle/sdk"
)

// diffView is a diff as -o json and -o yaml show it.
type diffView struct {
	Cluster        string           `json:"cluster"`
	Name           string           `json:"name"`
	Revision       int64            `json:"revision"`
	SourceRevision string           `json:"sourceRevision"`
	MadeAt         string           `json:"madeAt"`
	Error          string           `json:"error"`
	Differences    []differenceView `json:"differences"`
	Unchanged      int32            `json:"unchanged"`
	LeftOut        int32            `json:"leftOut"`
}

type differenceView struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Action is create, update, recreate, delete, run or refuse.
	Action  string `json:"action"`
	Desired string `json:"desired"`
	Live    string `json:"live"`
	Message string `json:"message"`
}

func (a *app) servicesDiff() *cobra.Command {
	var cluster string
	var last bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "diff CLUSTER/NAME", Short: "Show what applying a service would change on its cluster, without changing it", Args: exactly(1), ValidArgsFunction: a.completeServices,
		Long: `Show what applying a service would change on its cluster, without changing it.

The agent asks its API server by dry run, so what is shown has its defaults and
what admission makes of it. Values of Secrets are shown as short hashes. It works
for paused services, in closed sync windows, and for services with dryRun.`,
		Example: `  axle services diff edge-1/web
  axle services diff edge-1/web -o json | jq '.differences[] | select(.action == "delete")'`,
		RunE: func(c *cobra.Command, args []string) error {
			client, ref, err := a.service(args[0], cluster)
			if err != nil {
				return err
			}
			d, err := awaitDiff(c.Context(), client, ref, last, timeout)
			if err != nil {
				return err
			}
			return a.printDiff(ref, d)
		},
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, when the argument is only NAME")
	c.Flags().BoolVar(&last, "last", false, "what the agent last worked out, without asking it again")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the agent")
	return c
}

// awaitDiff asks the agent and waits for its answer.
func awaitDiff(ctx context.Context, client *sdk.Client, ref *hubv1.ServiceRef, last bool, timeout time.Duration) (*hubv1.ServiceDiff, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first, err := client.Services.Diff(ctx, connect.NewRequest(&hubv1.DiffServiceRequest{Ref: ref, Fresh: !last}))
	if err != nil {
		return nil, err
	}
	d := first.Msg
	if last && d.GetMadeAt() == 0 {
		return nil, errcode.New(errcode.NotFound, "no diff of %s/%s was made yet; leave --last out to ask for one", ref.GetCluster(), ref.GetName())
	}
	wanted := d.GetRequested()
	backoff := jitter.Backoff{Min: 500 * time.Millisecond, Max: 4 * time.Second}
	for !last && d.GetAnswered() < wanted {
		if jitter.Wait(ctx, 200*time.Millisecond+backoff.Next()) != nil {
			return nil, errcode.New(errcode.Unavailable, "the agent of %s did not answer within %v: it polls every few minutes, or is away (axle clusters get %s)", ref.GetCluster(), timeout, ref.GetCluster())
		}
		again, err := client.Services.Diff(ctx, connect.NewRequest(&hubv1.DiffServiceRequest{Ref: ref}))
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			return nil, err
		}
		d = again.Msg
	}
	return d, nil
}

func (a *app) printDiff(ref *hubv1.ServiceRef, d *hubv1.ServiceDiff) error {
	view := diffView{Cluster: ref.GetCluster(), Name: ref.GetName(), Revision: d.GetRevision(), SourceRevision: d.GetSourceRevision(), MadeAt: stamp(d.GetMadeAt()),
		Error: d.GetError(), Differences: []differenceView{}, Unchanged: d.GetUnchanged(), LeftOut: d.GetLeftOut()}
	for _, one := range d.GetDifferences() {
		view.Differences = append(view.Differences, differenceView{one.GetGroup(), one.GetVersion(), one.GetKind(), one.GetNamespace(), one.GetName(),
			one.GetAction(), one.GetDesired(), one.GetLive(), one.GetMessage()})
	}
	if a.output != "table" {
		return printOne(a, view, func(v diffView) string { return v.Cluster + "/" + v.Name })
	}
	if view.Error != "" {
		return errcode.New(errcode.Unprocessable, "there is no diff of %s/%s: %s", view.Cluster, view.Name, view.Error)
	}
	writeDiff(raw(a.Out), view, colourful(a.Out, a.getenv))
	return nil
}

// writeDiff writes a diff as patch tools read it; what they do not know of
// stands in lines that begin with "#".
func writeDiff(w io.Writer, view diffView, coloured bool) {
	colour := func(code, text string) string {
		if text = plain.Text(text, 0); !coloured {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	for _, d := range view.Differences {
		name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
		note := fmt.Sprintf("# %s %s %s", d.Action, d.Kind, name)
		if d.Message != "" {
			note += ": " + strings.ReplaceAll(d.Message, "\n", " ")
		}
		fmt.Fprintln(w, colour("1", note))
		hunks := unified.Hunks(d.Live, d.Desired)
		if len(hunks) == 0 {
			continue
		}
		file := strings.TrimPrefix(d.Group+"/", "/") + d.Kind + "/" + name
		fmt.Fprintln(w, colour("1", "--- live/"+file))
		fmt.Fprintln(w, colour("1", "+++ desired/"+file))
		for _, text := range hunks {
			switch text[0] {
			case '-':
				text = colour("31", text)
			case '+':
				text = colour("32", text)
			case '@':
				text = colour("36", text)
			default:
				text = plain.Text(text, 0)
			}
			fmt.Fprintln(w, text)
		}
	}
	fmt.Fprintf(w, "# %d differ, %d are as they should be\n", len(view.Differences)+int(view.LeftOut), view.Unchanged)
	if view.LeftOut > 0 {
		fmt.Fprintf(w, "# %d differences more are not shown\n", view.LeftOut)
	}
}
