package up

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/kubehealth"
)

// row is one object of the cluster, as its API server has it.
type row struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Health    string `json:"health"`
	Message   string `json:"message,omitempty"`
}

// agents is the namespace of the agent.
const agents = "axle-system"

// workloads are what the table shows of a namespace.
var workloads = []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"}}

// verify waits until all that the repository declares is in the cluster and works.
func (b *builder) verify(ctx context.Context) error {
	progress := b.app.Begin("waiting until everything in the repository runs")
	defer progress.End()
	var missing string
	done, err := b.app.PollUntil(ctx, b.wait, func(ctx context.Context) (bool, error) {
		rows, err := b.look(ctx)
		if err != nil { // an API server may be away for a moment
			missing = err.Error()
			return false, nil
		}
		b.rows, missing = rows, unhealthy(rows)
		if missing != "" {
			progress.Say("waiting: %s", missing)
		}
		return missing == "", nil
	})
	if err != nil || done {
		return err
	}
	return errcode.New(errcode.Unavailable, "not everything runs within %s: %s; axle services list has more; run the same command again to go on waiting", b.wait, missing)
}

func unhealthy(rows []row) string {
	var waits []string
	for _, r := range rows {
		if r.Health != string(kubehealth.Healthy) {
			waits = append(waits, strings.TrimSuffix(fmt.Sprintf("%s %s is %s: %s", r.Kind, r.Name, r.Health, r.Message), ": "))
		}
	}
	return strings.Join(waits, "; ")
}

// look reads what bootstrap/ declares, and the workloads of its services and of the
// control plane, at the API server.
func (b *builder) look(ctx context.Context) ([]row, error) {
	declared, err := b.declared()
	if err != nil {
		return nil, err
	}
	var rows []row
	namespaces := []string{namespace, agents}
	for _, object := range declared {
		found, err := b.read(ctx, object)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found)
		if target, _, _ := unstructured.NestedString(object.Object, "spec", "namespace"); object.GetKind() == "ServiceDeployment" && target != "" && !slices.Contains(namespaces, target) {
			namespaces = append(namespaces, target)
		}
	}
	for _, in := range namespaces {
		more, err := b.running(ctx, in)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// declared are the objects below bootstrap/.
func (b *builder) declared() (all []*unstructured.Unstructured, err error) {
	err = b.eachDeclared(func(_ string, object *unstructured.Unstructured) { all = append(all, object) })
	return all, err
}

// declaredIn are the files of the objects below bootstrap/, each under what the operator
// calls itself for it: KIND.GROUP/NAMESPACE/NAME.
func (b *builder) declaredIn() (map[string]string, error) {
	files := map[string]string{}
	err := b.eachDeclared(func(file string, object *unstructured.Unstructured) {
		files[fmt.Sprintf("%s.%s/%s/%s", object.GetKind(), object.GroupVersionKind().Group, object.GetNamespace(), object.GetName())] = file
	})
	return files, err
}

func (b *builder) eachDeclared(found func(file string, object *unstructured.Unstructured)) error {
	root := filepath.Join(b.dir, "bootstrap")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := kubeapply.Documents(text)
		for _, object := range objects {
			name, _ := filepath.Rel(b.dir, path)
			found(filepath.ToSlash(name), object)
		}
		return err
	})
	if err != nil {
		return errcode.New(errcode.Invalid, "read the folder bootstrap: %w", err)
	}
	return nil
}

// read judges one declared object: a custom resource by its condition Ready.
func (b *builder) read(ctx context.Context, declared *unstructured.Unstructured) (row, error) {
	r := row{Kind: declared.GetKind(), Namespace: declared.GetNamespace(), Name: declared.GetName(), Health: string(kubehealth.Missing)}
	resource, err := b.kube.Resource(declared)
	if err != nil {
		return r, err
	}
	have, err := resource.Get(ctx, declared.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.Message = "the root service has not applied it yet"
		return r, nil
	}
	if err != nil {
		return r, errcode.New(errcode.Unavailable, "read %s: %w", kubeapply.Name(declared), err)
	}
	ready, _, message := kubehealth.Condition(have, "Ready")
	switch {
	case ready == "" && kubehealth.HasRule(have.GroupVersionKind().GroupKind()):
		judged := kubehealth.Of(have)
		r.Health, r.Message = string(judged.Status), judged.Message
	case ready == "True":
		health, message := connected(have)
		r.Health, r.Message = string(health), message
	default:
		r.Health, r.Message = string(kubehealth.Progressing), message
	}
	return r, nil
}

// running are the workloads of a namespace.
func (b *builder) running(ctx context.Context, in string) ([]row, error) {
	var rows []row
	for _, kind := range workloads {
		list := &unstructured.Unstructured{}
		list.SetGroupVersionKind(kind)
		list.SetNamespace(in)
		resource, err := b.kube.Resource(list)
		if err != nil {
			return nil, err
		}
		found, err := resource.List(ctx, metav1.ListOptions{Limit: 500})
		if err != nil {
			return nil, errcode.New(errcode.Unavailable, "list the workloads of %s: %w", in, err)
		}
		for _, item := range found.Items {
			item.SetGroupVersionKind(kind)
			judged := kubehealth.Of(&item)
			rows = append(rows, row{kind.Kind, in, item.GetName(), string(judged.Status), judged.Message})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	return rows, nil
}

// finish prints what runs, and what is next.
func (b *builder) finish(ctx context.Context) error {
	err := command.PrintList(b.app, b.rows, func(r row) string { return r.Kind + "/" + r.Name },
		command.Col("KIND", func(r row) string { return r.Kind }),
		command.Col("NAMESPACE", func(r row) string { return r.Namespace }),
		command.Col("NAME", func(r row) string { return r.Name }),
		command.Col("HEALTH", func(r row) string { return r.Health }))
	if err != nil {
		return err
	}
	authority := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": authorityName, "namespace": namespace}}}
	own, err := b.live(ctx, authority)
	if err != nil {
		return err
	}
	b.say("\n%s", b.next(own != nil))
	return nil
}

// next is how to log in, and how to change the fleet. A hub with an authority of its own is
// trusted by nobody else.
func (b *builder) next(ownAuthority bool) string {
	in := b.kubectl() + " -n " + namespace
	lines := []string{
		fmt.Sprintf("Axle is at %s, and you are logged in as %s.", b.answers.URL, b.answers.Email),
		fmt.Sprintf("The console: open %s; this prints a link to set your password:", b.answers.URL),
		fmt.Sprintf("  %s exec %s-0 -- axle-hub admin reset %s", in, release, b.answers.Email),
	}
	if ownAuthority {
		lines = append(lines,
			"The hub has an authority of its own, so a browser warns until it knows ca.pem. Elsewhere:",
			fmt.Sprintf(`  %s get configmap %s -o jsonpath='{.data.ca\.pem}' > ca.pem`, in, authorityName),
			fmt.Sprintf("  axle login %s --ca ca.pem", b.answers.URL))
	} else {
		lines = append(lines, "Elsewhere: axle login "+b.answers.URL)
	}
	if b.answers.Git == inCluster {
		lines = append(lines,
			"From now on, commits in this folder change the fleet, once they are pushed. git push works while this runs in another terminal:",
			fmt.Sprintf("  %s port-forward service/%s %s:%s", in, gitServer, b.answers.Port(), b.answers.Port()),
			"README.md there has the recipes.")
	} else {
		lines = append(lines, fmt.Sprintf("From now on, commits to %s change the fleet: README.md there has the recipes.", b.answers.Repository))
	}
	return strings.Join(lines, "\n")
}
