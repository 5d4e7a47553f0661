package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

	"github.com/axle-cd/axle/agent/kube"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/spec/kind"
	"github.com/axle-cd/axle/api/v1alpha1"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/strictyaml"
)

// ErrArgument marks errors of RenderDir and HealthOf about a named file or folder
// that cannot be read; errors in its content are not marked.
var ErrArgument = errors.New("it cannot be read")

// argumentError is a coded error with that mark.
func argumentError(format string, args ...any) error {
	return argument{errcode.New(errcode.Invalid, format, args...)}
}

type argument struct{ error }

// Is matches ErrArgument.
func (argument) Is(target error) bool { return target == ErrArgument }

// Unwrap returns the coded error.
func (a argument) Unwrap() error { return a.error }

// RenderRequest is the input of RenderDir.
type RenderRequest struct {
	// Dir is the service's folder.
	Dir string
	// ServiceFile is a ServiceDeployment whose settings are used; empty means none.
	ServiceFile string
	// Kubeconfig names a cluster that templates can ask for its version, its APIs and
	// its objects; empty means none.
	Kubeconfig string
	// KubernetesVersion is the version that templates see; empty means the cluster's,
	// and without a cluster the newest known.
	KubernetesVersion string
	// APIVersions are served besides the cluster's, and without a cluster besides
	// Kubernetes' own.
	APIVersions []string
	// Binary is axle-render, and Tools the folder of tools, see Config.
	Binary string
	Tools  string
}

// RenderDir writes what an agent would apply for a folder as YAML documents, each
// with the file it came from, and returns the warnings. Without a kubeconfig it uses
// no cluster: lookups find nothing.
func RenderDir(ctx context.Context, out io.Writer, r RenderRequest) (warnings []string, err error) {
	info, err := os.Stat(r.Dir)
	switch {
	case err != nil:
		return nil, argumentError("%w; name the folder of a service", err)
	case !info.IsDir():
		return nil, argumentError("%s is not a folder; name the folder of a service", r.Dir)
	}
	folder, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, err
	}
	if r.Binary != "" { // the child runs elsewhere
		if r.Binary, err = filepath.Abs(r.Binary); err != nil {
			return nil, err
		}
	}
	spec, err := specOf(r)
	if err != nil {
		return nil, err
	}
	runner, err := render.New(render.Config{Binary: r.Binary, Tools: r.Tools, Pool: 1})
	if err != nil {
		return nil, argument{err}
	}
	defer runner.Close()
	p, err := render.FromSpec(spec, folder)
	if err != nil {
		return nil, err
	}
	p.Text, p.Now = true, time.Now().UTC() // no revision says when it was made
	if err := r.ask(ctx, &p); err != nil {
		return nil, err
	}
	result, err := runner.Render(ctx, p)
	if errcode.Is(err, errcode.Invalid) {
		// The hub also delivers what a folder refers to outside itself. Here that is
		// the work tree that contains the folder.
		if root, entry, eerr := render.Enclosing(folder); eerr == nil && entry != "" {
			p.Folder, p.Entry = root, entry
			result, err = runner.Render(ctx, p)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, object := range result.Objects {
		if _, err := fmt.Fprintf(out, "---\n# Source: %s\n%s", object.Source, object.YAML); err != nil {
			return result.Warnings, err
		}
	}
	return result.Warnings, nil
}

// newestKubernetes is the version that templates see if no version is given.
const newestKubernetes = "v1.36.0"

// ask sets what templates see of a cluster: the named one, or Kubernetes' own kinds.
func (r RenderRequest) ask(ctx context.Context, p *render.Pass) error {
	p.Capabilities = render.Capabilities{KubernetesVersion: newestKubernetes, AndKnown: true}
	if r.Kubeconfig != "" {
		cluster, err := kube.New(r.Kubeconfig, clock.Real{}, slog.New(slog.DiscardHandler))
		if err != nil {
			return argument{err}
		}
		served, err := cluster.Serves(ctx)
		if err != nil {
			return err
		}
		// The person's own account is used.
		permit, err := tenancy.New(cluster.REST, "").Permit(tenancy.Request{Service: p.ID, Namespace: p.Namespace})
		if err != nil {
			return err
		}
		p.Lookup, p.Capabilities = poll.Lookups{Cluster: cluster, Permit: permit}, served.Caps
	}
	p.Capabilities.APIVersions = slices.Concat(p.Capabilities.APIVersions, r.APIVersions)
	if r.KubernetesVersion != "" {
		if _, err := version.ParseGeneric(r.KubernetesVersion); err != nil {
			return argumentError("--kube-version: %q is not a version such as v1.36.0", r.KubernetesVersion)
		}
		p.Capabilities.KubernetesVersion = r.KubernetesVersion
	}
	return nil
}

// specOf makes the settings that the hub would send for a ServiceDeployment.
func specOf(r RenderRequest) (*agentv1.ServiceSpec, error) {
	spec := &agentv1.ServiceSpec{
		Id: "local", Name: filepath.Base(filepath.Clean(r.Dir)), Namespace: "default",
		Display: &agentv1.Display{CreatedAt: time.Unix(0, 0).UnixMicro()},
	}
	if r.ServiceFile == "" {
		return spec, nil
	}
	text, err := os.ReadFile(r.ServiceFile)
	if err != nil {
		return nil, argumentError("--service-file: %w", err)
	}
	var d v1alpha1.ServiceDeployment
	if err := strictyaml.Decode(text, &d); err != nil {
		return nil, errcode.New(errcode.Invalid, "--service-file %s: %w", r.ServiceFile, err)
	}
	if d.Kind != "ServiceDeployment" {
		return nil, errcode.New(errcode.Invalid, "--service-file %s holds a %q, not a ServiceDeployment", r.ServiceFile, d.Kind)
	}
	declared, err := kind.Spec(d.Spec)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--service-file %s: %w", r.ServiceFile, err)
	}
	full := agentv1.Deliver(declared)
	full.Id, full.Display, full.Configuration = spec.GetId(), spec.GetDisplay(), declared.Configuration
	full.Name, full.Namespace = cmp.Or(ptr.Deref(d.Spec.Name, ""), d.Name), cmp.Or(declared.Namespace, d.Namespace)
	return full, nil
}
