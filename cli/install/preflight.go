package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// The results of a check.
const (
	passed = "ok"
	warned = "warning"
	failed = "failed"
)

// check is one result of the preflight.
type check struct {
	Name    string `json:"name"`
	Result  string `json:"result"`
	Message string `json:"message,omitempty"`
}

// look is one check. An error is a failure; its text says what is wrong and what to do.
type look struct {
	name string
	run  func(ctx context.Context, r *Rendered) error
}

// doubt is an error that only warns.
type doubt struct{ error }

// looker looks at a cluster and changes nothing.
type looker struct{ place }

// looks are the checks, in the order in which one repairs things.
func (i looker) looks() []look {
	return []look{
		{"nodes", i.lookNodes}, {"rights", i.lookRights}, {"other operator", i.lookOperator}, {"names", i.lookNames}, {"namespaces", i.lookNamespaces},
		{"storage", i.lookStorage}, {"secrets", i.lookSecrets}, {"database", i.lookDatabase}, {"certificate", i.lookCertificate},
		{"ingress", i.lookIngress}, {"gateway", i.lookGateway}, {"monitoring", i.lookMonitoring}, {"address", i.lookAddress},
	}
}

// Preflight returns the command axle preflight.
func Preflight(a *command.App) *cobra.Command {
	i := &installer{place: place{app: a}}
	c := &cobra.Command{
		Use:   "preflight --url URL",
		Short: "Check whether axle install would succeed, without changes",
		Long: `Look at the cluster of a kubeconfig with the values of an install: version, rights,
storage, names that are taken, Secrets, the certificate, ingress class, address. It
changes nothing, and ends with status 6 if something would fail.`,
		Example: `  axle preflight --url https://axle.example.com --values values.yaml
  axle preflight --values ha.yaml -o json`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rendered, err := i.rendered(c.Context())
			if err != nil {
				return err
			}
			checks := looker{i.place}.checks(c.Context(), rendered)
			err = command.PrintList(a, checks, func(v check) string { return v.Name },
				command.Col("CHECK", func(v check) string { return v.Name }),
				command.Col("RESULT", func(v check) string { return v.Result }),
				command.Wide("MESSAGE", func(v check) string { return v.Message }))
			i.tell(checks)
			return errors.Join(err, refused(checks))
		},
	}
	i.target(c)
	i.values(c)
	return c
}

// rendered connects to the cluster, and renders the chart with the values of the flags.
func (i *installer) rendered(ctx context.Context) (*Rendered, error) {
	config, err := i.config(nil)
	if err != nil {
		return nil, err
	}
	if err := i.connect(); err != nil {
		return nil, err
	}
	return Render(ctx, i.request(config))
}

// Look runs the checks of axle preflight for the release of a namespace, with a file of
// values, and reports what is not as it should be.
func Look(ctx context.Context, a *command.App, kubeconfig, kubeContext, release, namespace, values string) error {
	i := &installer{place: place{app: a, kubeconfig: kubeconfig, kubeContext: kubeContext, release: release, namespace: namespace}, files: []string{values}}
	rendered, err := i.rendered(ctx)
	if err != nil {
		return err
	}
	return looker{i.place}.preflight(ctx, rendered)
}

// Hub is the StatefulSet of the hub that an install with a file of values makes.
func Hub(ctx context.Context, a *command.App, kubeconfig, kubeContext, release, namespace, values string) (*unstructured.Unstructured, error) {
	i := &installer{place: place{app: a, kubeconfig: kubeconfig, kubeContext: kubeContext, release: release, namespace: namespace}, files: []string{values}}
	rendered, err := i.rendered(ctx)
	if err != nil {
		return nil, err
	}
	list, err := objects(rendered.Manifest, release, namespace)
	if err != nil {
		return nil, err
	}
	for _, object := range list {
		if object.GetKind() == "StatefulSet" && object.GetName() == release {
			return object, nil
		}
	}
	return nil, errcode.New(errcode.Internal, "the chart has no hub")
}

// checks runs every check.
func (i looker) checks(ctx context.Context, r *Rendered) []check {
	var results []check
	for _, l := range i.looks() {
		result := check{Name: l.name, Result: passed}
		err := l.run(ctx, r)
		var only doubt
		switch {
		case errors.As(err, &only):
			result.Result, result.Message = warned, err.Error()
		case err != nil:
			result.Result, result.Message = failed, err.Error()
		}
		results = append(results, result)
	}
	return results
}

// refused is the error of failed checks.
func refused(checks []check) error {
	var names []string
	for _, c := range checks {
		if c.Result == failed {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return errcode.New(errcode.Conflict, "the cluster is not ready for the install (%s): repair what is named above, or go on with --skip-preflight", strings.Join(names, ", "))
}

// preflight runs before an install and says only what is not as it should be.
func (i looker) preflight(ctx context.Context, r *Rendered) error {
	progress := i.app.Begin("looking for what would fail")
	defer progress.End()
	results := i.checks(ctx, r)
	i.tell(results)
	if err := refused(results); err != nil {
		return err
	}
	i.say("%d checks passed", len(results))
	return nil
}

// tell says in full what is not as it should be; a table would cut it.
func (p *place) tell(checks []check) {
	for _, c := range checks {
		if c.Result != passed {
			p.say("%s: %s: %s", c.Result, c.Name, c.Message)
		}
	}
}

// lookOperator refuses the cluster of another product.
func (i looker) lookOperator(ctx context.Context, r *Rendered) error {
	if nested(r.Values, "operator", "enabled") != true {
		return nil
	}
	return i.cluster.ForeignOperator(ctx)
}

// lookNames refuses objects that exist and belong to somebody else.
func (i looker) lookNames(ctx context.Context, r *Rendered) error {
	list, err := objects(r.Manifest, i.release, i.namespace)
	if err != nil {
		return err
	}
	var taken []string
	for _, object := range list {
		resource, err := i.cluster.Resource(object)
		if err != nil {
			continue // the kind is missing, which another check says better
		}
		have, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return errcode.New(errcode.Unavailable, "read %s: %w", kubeapply.Name(object), err)
		}
		if !i.owns(have) {
			owner := "nobody's release"
			if a := have.GetAnnotations(); a[releaseAnnotation] != "" {
				owner = "release " + a[releaseAnnotation] + " in namespace " + a[releaseNSOfRelease]
			}
			taken = append(taken, kubeapply.Name(object)+" ("+owner+")")
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("exists and is not of this release: %s: delete it if nobody needs it, or choose another --release", strings.Join(taken, ", "))
	}
	return nil
}

// lookNamespaces wants the namespaces of the release's objects.
func (i looker) lookNamespaces(ctx context.Context, r *Rendered) error {
	list, err := objects(r.Manifest, i.release, i.namespace)
	if err != nil {
		return err
	}
	seen := []string{"", i.namespace} // the release's own is created
	for _, object := range list {
		name := object.GetNamespace()
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		var found metav1.PartialObjectMetadata
		if there, err := i.read(ctx, core("namespaces"), "", name, &found); err != nil || !there {
			return errors.Join(err, fmt.Errorf("operator.adminNamespaces has %s, which is not there: %s create namespace %s", name, i.kubectl(), name))
		}
	}
	return nil
}
