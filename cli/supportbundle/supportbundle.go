package supportbundle

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/mask"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/sdk"
)

const (
	// callTimeout bounds each call.
	callTimeout = 30 * time.Second
	// maxPart bounds one file, maxLog one log, in bytes.
	maxPart, maxLog = 64 << 20, 5 << 20
	// eventsKept is how many events of the hub are written.
	eventsKept = 1000
)

// Command returns the command.
func Command(a *command.App) *cobra.Command {
	var file, kubeconfig, kubeContext, namespace string
	c := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect diagnostics into one archive, without secrets",
		Long: `Write status, clusters, repositories, services and events of the hub into one archive.
With --kubeconfig, or --kube-context, it also has the pods, events, logs and metrics of
the namespace that the hub runs in. Specs of services, environment variables of pods
and values are left out. Look through the file before you give it away: names of
clusters, services, people and repositories are in it, and what programs log.

Sources that cannot be read are listed in errors.txt inside the archive.`,
		Example: `  axle hub support-bundle
  axle hub support-bundle --kubeconfig mgmt.yaml --namespace axle --file bundle.tar.gz`,
		Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			b := &bundle{app: a, hub: client, now: time.Now().UTC()}
			if kubeconfig != "" || kubeContext != "" {
				config, err := command.Kubeconfig(kubeconfig, kubeContext)
				if err != nil {
					return err
				}
				if b.cluster, err = newCluster(config, namespace); err != nil {
					return err
				}
			}
			if file == "" {
				file = "axle-support-" + b.now.Format("20060102-150405") + ".tar.gz"
			}
			if err := atomicfile.WriteFrom(file, 0o600, func(w io.Writer) error { return b.write(c.Context(), w) }); err != nil {
				return err
			}
			for _, e := range b.failed {
				fmt.Fprintf(a.Err, "left out: %s\n", e)
			}
			_, err := fmt.Fprintln(a.Out, file)
			return err
		}),
	}
	c.Flags().StringVar(&file, "file", "", "file to write (default: axle-support-TIME.tar.gz in this folder)")
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster that the hub runs in")
	c.Flags().StringVar(&kubeContext, "kube-context", "", "context in the kubeconfig")
	c.Flags().StringVarP(&namespace, "namespace", "n", "axle", "namespace that the hub runs in")
	return c
}

// bundle is one run.
type bundle struct {
	app *command.App
	hub *sdk.Client
	// cluster is nil without a kubeconfig.
	cluster *cluster
	now     time.Time

	tar    *tar.Writer
	failed []string
}

func (b *bundle) write(ctx context.Context, w io.Writer) error {
	packed := gzip.NewWriter(w)
	b.tar = tar.NewWriter(packed)
	progress := b.app.Begin("reading the hub")
	defer progress.End()
	b.ofHub(ctx)
	if b.cluster != nil {
		progress.Say("reading the cluster")
		b.ofCluster(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	about := fmt.Sprintf("Support bundle of an Axle hub, written %s by axle %s.\nNo part has secrets on purpose. errors.txt names what could not be read.\n", b.now.Format(time.RFC3339), buildinfo.Version)
	return errors.Join(b.put("README.txt", []byte(about)), b.put("errors.txt", []byte(strings.Join(b.failed, "\n")+"\n")), b.tar.Close(), packed.Close())
}

// part writes one file with what read returns, or notes why not.
func (b *bundle) part(ctx context.Context, name string, read func(ctx context.Context) ([]byte, error)) {
	if ctx.Err() != nil {
		return
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	text, err := read(call)
	if len(text) > maxPart {
		text, err = text[:maxPart], errors.Join(err, fmt.Errorf("cut at %d bytes", maxPart))
	}
	if len(text) > 0 {
		err = errors.Join(err, b.put(name, text))
	}
	if err != nil {
		b.failed = append(b.failed, name+": "+plain.Line(errcode.Text(err), 500))
	}
}

func (b *bundle) put(name string, text []byte) error {
	header := &tar.Header{Name: "axle-support/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: b.now, Typeflag: tar.TypeReg}
	if err := b.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := b.tar.Write(text)
	return err
}

// ofHub writes the hub's own answers.
func (b *bundle) ofHub(ctx context.Context) {
	c := b.hub
	b.part(ctx, "hub/status.json", answer(c.Hub.Status, &hubv1.HubStatusRequest{}))
	b.part(ctx, "hub/sync-windows.json", answer(c.Hub.GetSyncWindows, &hubv1.GetSyncWindowsRequest{}))
	b.part(ctx, "hub/agents.json", answer(c.Agents.UpgradeStatus, &hubv1.UpgradeStatusRequest{}))
	b.part(ctx, "hub/clusters.json", b.clusters)
	b.part(ctx, "hub/backends.json", answer(c.Backends.List, &hubv1.ListBackendsRequest{}))
	for _, k := range object.All {
		if k.Diagnostic {
			b.part(ctx, "hub/"+strings.ReplaceAll(k.Many(), "_", "-")+".json", b.list(k.Calls.Path(k.Calls.List)))
		}
	}
	b.part(ctx, "hub/events.json", answer(c.Events.List, &hubv1.ListEventsRequest{Limit: eventsKept}))
	b.part(ctx, "hub/services.json", b.services)
}

// answer is a call whose answer is written, without what is named or looks like a secret.
func answer[Q, A any](call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) func(ctx context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		r, err := call(ctx, connect.NewRequest(q))
		if err != nil {
			return nil, err
		}
		return []byte((&mask.Masker{}).Text(any(r.Msg).(proto.Message)) + "\n"), nil
	}
}

// list is the answer of a list, called by its name.
func (b *bundle) list(method string) func(ctx context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		m, err := b.hub.Call(ctx, method, sdk.NewMessage(hubv1.MethodNamed(method).Input()))
		if err != nil {
			return nil, err
		}
		return []byte((&mask.Masker{}).Text(m) + "\n"), nil
	}
}

// clusters are all clusters, in the form of an answer with all of them.
func (b *bundle) clusters(ctx context.Context) ([]byte, error) {
	all, err := b.hub.AllClusters(ctx, &hubv1.ListClustersRequest{})
	if err != nil {
		return nil, err
	}
	return []byte((&mask.Masker{}).Text(&hubv1.ListClustersResponse{Clusters: all}) + "\n"), nil
}

// services are all services without their specs, one a line.
func (b *bundle) services(ctx context.Context) ([]byte, error) {
	all, err := command.ListServices(ctx, b.hub, &hubv1.ListServicesRequest{Brief: true})
	var out []byte
	for _, s := range all {
		s.Spec = nil
		out = append(append(out, (&mask.Masker{}).Text(s)...), '\n')
	}
	return out, err
}
