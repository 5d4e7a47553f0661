package install

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/spf13/cobra"
	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/overlay"
)

// fieldManager is the one of stock Helm, so that it goes on without conflicts.
const fieldManager = "helm"

// Runner runs another command of axle, such as login, as if it were typed.
type Runner func(ctx context.Context, args ...string) error

// installer is one run.
type installer struct {
	place
	run Runner

	files, sets        []string
	url, registry      string
	print, ha, devCA   bool
	resetValues, check bool
	skipPreflight      bool
	wait               time.Duration
	email, contextName string
	withoutMgmt        bool
}

// values adds the flags that say what.
func (i *installer) values(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVarP(&i.files, "values", "f", nil, "file with values of the chart; may be repeated, later ones count")
	flags.StringArrayVar(&i.sets, "set", nil, "one value, such as hub.storage.size=50Gi; may be repeated")
	flags.StringVar(&i.url, "url", "", "address at which people and agents reach the hub, such as https://axle.example.com")
	flags.StringVar(&i.registry, "registry", "", "registry that has every image, such as registry.example.com")
	flags.BoolVar(&i.ha, "ha", false, "shape ha: several replicas on Postgres")
	flags.BoolVar(&i.devCA, "dev-ca", false, "let the hub make a certificate authority of its own (tls.mode devCA)")
}

func (i *installer) waiting(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&i.print, "print", false, "print the manifests, as helm template does, and do nothing")
	flags.BoolVar(&i.skipPreflight, "skip-preflight", false, "do not look first for what would fail")
	flags.DurationVar(&i.wait, "timeout", 5*time.Minute, "how long to wait until everything runs; 0 does not wait")
}

// Command returns the command axle install.
func Command(a *command.App, run Runner) *cobra.Command {
	i := &installer{place: place{app: a}, run: run}
	c := &cobra.Command{
		Use:   "install --url URL",
		Short: "Install the control plane into a cluster",
		Long: `Install the hub and its operator into the cluster of a kubeconfig: run the preflight
checks, apply the chart, wait until everything runs, and print the next steps.
With --email it also creates the first administrator, logs in, and connects the
cluster itself as mgmt. It leaves a release of Helm: axle upgrade and helm upgrade
go on from there. A run that was interrupted goes on when it is run again.

Values are those of the chart; see docs/install/values.md.`,
		Example: `  axle install --url https://axle.example.com --values values.yaml --email you@example.com
  axle install --url https://axle.example.com --dev-ca --set service.type=LoadBalancer
  axle install --values ha.yaml --print > axle.yaml`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return i.install(c.Context()) },
	}
	i.target(c)
	i.values(c)
	i.waiting(c)
	c.Flags().StringVar(&i.email, "email", "", "e-mail of the first administrator, as whom to log in")
	c.Flags().StringVar(&i.contextName, "name", "", "name of the context to log in to (default: the URL's host)")
	c.Flags().BoolVar(&i.withoutMgmt, "without-mgmt", false, "do not connect the cluster itself as mgmt")
	return c
}

// Upgrade returns the command axle upgrade.
func Upgrade(a *command.App) *cobra.Command {
	i := &installer{place: place{app: a}}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the control plane to the version of this command, or change its values",
		Long: `Upgrade the release of axle install, or of helm install, to the version of this
command. Its values stay; those given are laid over them. With --reset-values, only
those given count. Agents follow in waves of their own (axle agents status).

With --check it changes nothing: it lists, of the hub that axle is logged in to, what
works only because it is older than a rule that refuses it today, each with the command
that resolves it. Everything listed keeps working after an upgrade. The list of a hub
that has none yet is computed from what its API returns.`,
		Example: `  axle upgrade
  axle upgrade --check
  axle upgrade --set hub.storage.size=50Gi
  axle upgrade --values values.yaml --reset-values`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if i.check {
				return i.checked(c.Context())
			}
			return i.upgrade(c.Context())
		},
	}
	i.target(c)
	i.values(c)
	i.waiting(c)
	c.Flags().BoolVar(&i.check, "check", false, "list what the hub has at risk, and do nothing")
	c.Flags().BoolVar(&i.resetValues, "reset-values", false, "forget the values of the release before")
	return c
}

// config is the user's values, those of the flags included.
func (i *installer) config(base map[string]any) (map[string]any, error) {
	values, err := valuesOf(base, i.files, i.sets)
	if err != nil {
		return nil, err
	}
	if i.url != "" {
		values["url"] = i.url
	}
	over := map[string]any{}
	if i.registry != "" {
		over["global"] = map[string]any{"registry": i.registry}
	}
	if i.ha {
		over["shape"] = "ha"
	}
	if i.devCA {
		over["tls"] = map[string]any{"mode": "devCA"}
	}
	overlay.Merge(values, over)
	// As a release stores them, so that stored ones can be compared.
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	plain := map[string]any{}
	return plain, json.Unmarshal(text, &plain)
}

func (i *installer) request(config map[string]any) Request {
	r := Request{Release: i.release, Namespace: i.namespace, Values: config, Revision: 1}
	if i.cluster != nil {
		r.Cluster = i.cluster.Config
	}
	return r
}

func (i *installer) printed(ctx context.Context, config map[string]any) error {
	rendered, err := Render(ctx, i.request(config))
	if err == nil {
		_, err = io.WriteString(i.app.Out, rendered.Manifest)
	}
	return err
}

func (i *installer) install(ctx context.Context) error {
	config, err := i.config(nil)
	if err != nil {
		return err
	}
	if i.print {
		return i.printed(ctx, config)
	}
	if err := i.connect(); err != nil {
		return err
	}
	have, err := readHistory(ctx, i.cluster.Client, i.namespace, i.release)
	if err != nil {
		return err
	}
	if len(i.files)+len(i.sets) == 0 && i.url == "" && have.last() != nil {
		config = have.last().Config // an interrupted run goes on with its own values
	}
	deployed := have.deployed()
	if deployed == nil || have.last() != deployed {
		return i.then(ctx, have, config)
	}
	if !reflect.DeepEqual(deployed.Config, config) {
		return errcode.New(errcode.Conflict, "the release %s is installed in namespace %s with other values (revision %d): change it with axle upgrade, or choose another --release and --namespace", i.release, i.namespace, deployed.Version)
	}
	i.say("the release %s is installed (revision %d); going on from there", i.release, deployed.Version)
	if err := have.tidy(ctx, deployed); err != nil {
		return err
	}
	rendered, err := Render(ctx, i.request(config))
	if err != nil {
		return err
	}
	if err := (waiter{i.place, i.wait}).await(ctx, deployed.Manifest); err != nil {
		return err
	}
	return finisher{i}.finish(ctx, rendered)
}

// then applies the release and finishes an install.
func (i *installer) then(ctx context.Context, have *history, config map[string]any) error {
	rendered, err := i.deliver(ctx, have, config)
	if err != nil {
		return err
	}
	return finisher{i}.finish(ctx, rendered)
}

// checked lists what the running hub has at risk.
func (i *installer) checked(ctx context.Context) error {
	client, err := i.app.Client()
	if err != nil {
		return err
	}
	return command.PrintRisks(ctx, i.app, client)
}

func (i *installer) upgrade(ctx context.Context) error {
	if err := i.connect(); err != nil {
		return err
	}
	have, err := readHistory(ctx, i.cluster.Client, i.namespace, i.release)
	if err != nil {
		return err
	}
	if have.last() == nil {
		return errcode.New(errcode.NotFound, "there is no release %s in namespace %s: run axle install, or give --release and --namespace", i.release, i.namespace)
	}
	base := have.last().Config
	if deployed := have.deployed(); deployed != nil {
		base = deployed.Config
	}
	if i.resetValues {
		base = nil
	}
	config, err := i.config(base)
	if err != nil {
		return err
	}
	if i.print {
		return i.printed(ctx, config)
	}
	if _, err := i.deliver(ctx, have, config); err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.app.Out, "the release %s is at revision %d\n", i.release, have.last().Version)
	return err
}

// deliver looks first, writes everything, waits, and marks the release.
func (i *installer) deliver(ctx context.Context, have *history, config map[string]any) (*Rendered, error) {
	if last := have.last(); last != nil && last.Chart != nil && last.Chart.Name() != "axle" {
		return nil, errcode.New(errcode.Conflict, "the release %s in namespace %s is of the chart %s: choose another --release", i.release, i.namespace, last.Chart.Name())
	}
	request := i.request(config)
	request.Upgrade = have.deployed() != nil
	if have.last() != nil {
		request.Revision = have.last().Version + 1
	}
	rendered, err := Render(ctx, request)
	if err != nil {
		return nil, err
	}
	if !i.skipPreflight {
		if err := (looker{i.place}).preflight(ctx, rendered); err != nil {
			return nil, err
		}
	}
	if err := i.makeNamespace(ctx); err != nil {
		return nil, err
	}
	revision, err := have.begin(ctx, rendered, config)
	if err != nil {
		return nil, err
	}
	if err := i.write(ctx, have, revision, rendered); err != nil {
		return nil, i.failed(ctx, have, revision, err)
	}
	waits := waiter{i.place, i.wait}
	if err := waits.unstick(ctx); err != nil {
		return nil, i.failed(ctx, have, revision, err)
	}
	if err := waits.await(ctx, rendered.Manifest); err != nil {
		return nil, i.failed(ctx, have, revision, err)
	}
	return rendered, have.finish(ctx, revision)
}

// failed marks the revision, unless the run itself was interrupted: then the next one
// finds it pending, and goes on.
func (i *installer) failed(ctx context.Context, have *history, revision *release.Release, why error) error {
	if ctx.Err() != nil {
		return why
	}
	if err := have.mark(ctx, revision, "failed", why.Error()); err != nil {
		i.say("the release could not be marked as failed: %s", err)
	}
	return why
}

func (i *installer) makeNamespace(ctx context.Context) error {
	namespaces := i.cluster.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": i.namespace, "labels": map[string]any{"app.kubernetes.io/part-of": "axle", "pod-security.kubernetes.io/enforce": "restricted"},
	}}}
	_, err := namespaces.Create(ctx, object, metav1.CreateOptions{FieldManager: "axle-cli"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return errcode.New(errcode.Forbidden, "create the namespace %s: %w", i.namespace, err)
	}
	return nil
}

// write applies definitions and objects, and deletes what earlier revisions had alone.
func (i *installer) write(ctx context.Context, have *history, revision *release.Release, rendered *Rendered) error {
	progress := i.app.Begin("applying the custom resource definitions")
	defer progress.End()
	if hook, _ := nested(rendered.Values, "crds", "hook").(bool); hook {
		count, err := i.cluster.Definitions(ctx, deploy.CRDs)
		if err != nil {
			return err
		}
		i.say("%d custom resource definitions applied", count)
	}
	list, err := objects(rendered.Manifest, i.release, i.namespace)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, object := range list {
		wanted[identity(object)] = true
		if err := i.cluster.Apply(ctx, object, fieldManager); err != nil {
			return err
		}
	}
	i.say("%d objects applied", len(list))
	return i.prune(ctx, have, revision, wanted)
}

// prune deletes the objects of earlier revisions that this one does not have. Those
// that Helm is told to keep stay.
func (i *installer) prune(ctx context.Context, have *history, revision *release.Release, wanted map[string]bool) error {
	for _, old := range have.revisions {
		if old == revision {
			continue
		}
		list, err := objects(old.Manifest, i.release, i.namespace)
		if err != nil {
			return err
		}
		for _, object := range list {
			if wanted[identity(object)] || object.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
				continue
			}
			wanted[identity(object)] = true // once
			gone, err := i.remove(ctx, object)
			if err != nil {
				return err
			}
			if gone {
				i.say("%s deleted: the release no longer has it", kubeapply.Name(object))
			}
		}
	}
	return nil
}

func identity(object *unstructured.Unstructured) string {
	return object.GroupVersionKind().GroupKind().String() + " " + object.GetNamespace() + "/" + object.GetName()
}

// nested is a value below maps, nil if there is none.
func nested(values map[string]any, path ...string) any {
	var value any = values
	for _, key := range path {
		below, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = below[key]
	}
	return value
}
