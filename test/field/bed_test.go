package field_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/agenttest"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
)

// limit is how long anything may take.
const limit = 10 * time.Second

// bed is a hub, an agent, a Git server with all cases and an API server.
type bed struct {
	hub     *sdk.Client
	cluster *kube.Cluster
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newBed(t *testing.T) *bed {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	must(t, git.Create(t.Context(), "field"))
	if _, err := git.CommitFolder(t.Context(), "field", "main", "all cases", "."); err != nil {
		t.Fatal(err)
	}
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true})
	config := cluster.Config()
	config.QPS, config.Burst = 200, 400
	b := &bed{cluster: cluster}
	b.dynamic, err = dynamic.NewForConfig(config)
	must(t, err)
	typed, err := kubernetes.NewForConfig(config)
	must(t, err)
	b.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	b.define(t)
	hub := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	b.hub, err = sdk.New(sdk.Config{URL: hub.URL, Token: hub.AdminToken})
	must(t, err)
	_, err = b.hub.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "field", Url: git.URL("field")}))
	must(t, err)
	made, err := b.hub.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	must(t, err)
	agenttest.Start(t, agenttest.Config{HubURL: hub.URL, Kubeconfig: cluster.Kubeconfig(), BootstrapToken: made.Msg.GetBootstrapToken()})
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// define installs the CRDs that all cases share.
func (b *bed) define(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("crds/*.yaml")
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, o := range decode(t, text) {
			must(t, b.write(t.Context(), "", o, step{Create: file}))
			eventually.For(t, limit, o.GetName()+" is established", func() error {
				crd, err := b.get(t.Context(), "", o)
				if err == nil && !strings.Contains(fmt.Sprint(crd.Object["status"]), "type:Established") {
					err = errors.New("it is not yet")
				}
				return err
			})
		}
	}
	b.mapper.Reset()
}

// resource is where an object is, in the case's namespace unless it names one.
func (b *bed) resource(namespace string, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := b.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != "namespace" {
		return b.dynamic.Resource(mapping.Resource), nil
	}
	if o.GetNamespace() != "" {
		namespace = o.GetNamespace()
	}
	return b.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

func (b *bed) get(ctx context.Context, namespace string, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	where, err := b.resource(namespace, o)
	if err != nil {
		return nil, err
	}
	return where.Get(ctx, o.GetName(), metav1.GetOptions{})
}

// write does what a step does to an object.
func (b *bed) write(ctx context.Context, namespace string, o *unstructured.Unstructured, s step) error {
	where, err := b.resource(namespace, o)
	if err != nil {
		return err
	}
	switch {
	case s.Create != "":
		_, err = where.Create(ctx, o, metav1.CreateOptions{FieldManager: s.As})
	case s.Apply != "":
		_, err = where.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: s.As, Force: true})
	case s.Patch != "":
		var patch []byte
		if patch, err = json.Marshal(o.Object); err == nil {
			_, err = where.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: s.As})
		}
	case s.Delete != "":
		err = where.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	return err
}

// play is one case in progress.
type play struct {
	*bed
	*testing.T
	*story
	// preview is the last one, as the hub shows it.
	preview string
	// folder was synced last, and digest is that of its content.
	folder, digest string
}

// run takes one step and waits for what it wants.
func (p *play) run(s step) {
	p.Helper()
	maps.Copy(p.Service, s.Service)
	switch file := s.Create + s.Apply + s.Patch + s.Delete; {
	case s.Sync != "":
		p.sync(s.Sync)
	case s.Preview != "":
		p.ask(s.Preview)
	case file != "":
		for _, o := range p.objects(p.T, file) {
			if err := p.write(p.Context(), p.short(), o, s); err != nil {
				p.Fatalf("%s: %v", file, err)
			}
		}
	}
	if s.Want != nil {
		eventually.For(p.T, limit, "what the case wants", func() error { return p.holds(s.Want) })
	}
}

func (p *play) ref() *hubv1.ServiceRef { return &hubv1.ServiceRef{Cluster: "edge", Name: p.short()} }

// sync declares the service with a folder, and waits until the agent rests.
func (p *play) sync(folder string) {
	p.Helper()
	before := time.Now().UnixMicro()
	spec := map[string]any{"cluster": "edge", "repositoryRef": map[string]any{"name": "field"}, "namespace": p.short(),
		"git": map[string]any{"ref": "main", "folder": p.name + "/" + folder}}
	maps.Copy(spec, p.Service)
	text, err := yaml.Marshal(map[string]any{"apiVersion": "deployments.plural.sh/v1alpha1", "kind": "ServiceDeployment",
		"metadata": map[string]any{"name": p.short()}, "spec": spec})
	must(p.T, err)
	items, err := manifest.Read([]string{"-"}, func() ([]byte, error) { return text, nil })
	must(p.T, err)
	if _, err := p.hub.Services.Apply(p.Context(), connect.NewRequest(items[0].Service)); err != nil {
		p.Fatal(err)
	}
	eventually.For(p.T, limit, folder+" is delivered", func() error {
		s, err := p.service()
		if err != nil {
			return err
		}
		switch {
		case folder != p.folder && s.GetDesiredDigest() == p.digest, s.GetPolledAt() < before, s.GetReportedAt() < before,
			s.GetSync() == "Pending", s.GetSync() == "Applying":
			return fmt.Errorf("it is %s %s: %s", s.GetSync(), s.GetReason(), s.GetMessage())
		}
		p.folder, p.digest = folder, s.GetDesiredDigest()
		return nil
	})
}

func (p *play) service() (*hubv1.Service, error) {
	answer, err := p.hub.Services.Get(p.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: p.ref()}))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// ask previews a folder.
func (p *play) ask(folder string) {
	p.Helper()
	var packed bytes.Buffer
	if _, _, err := tarball.Write(&packed, tarball.Folder(p.Context(), filepath.Join(p.dir, folder)), tarball.Options{}); err != nil {
		p.Fatal(err)
	}
	asked, err := p.hub.Services.Preview(p.Context(), connect.NewRequest(&hubv1.PreviewServiceRequest{Ref: p.ref(), Files: packed.Bytes()}))
	must(p.T, err)
	request := asked.Msg.GetRequested()
	eventually.For(p.T, limit, "a preview of "+folder, func() error {
		answer, err := p.hub.Services.Preview(p.Context(), connect.NewRequest(&hubv1.PreviewServiceRequest{Ref: p.ref(), Request: request}))
		if err != nil {
			return err
		}
		if answer.Msg.GetAnswered() < request {
			return errors.New("it is not answered")
		}
		p.preview = answer.Msg.GetError()
		for _, d := range answer.Msg.GetDifferences() {
			p.preview += fmt.Sprintf("\n%s %s %s %s\n--- live\n%s\n+++ desired\n%s", d.GetAction(), d.GetKind(), d.GetName(), d.GetMessage(), d.GetLive(), d.GetDesired())
		}
		return nil
	})
}

// holds says what is not as wanted; nil if all is.
func (p *play) holds(w *want) error {
	s, err := p.service()
	if err != nil {
		return err
	}
	for what, both := range map[string][2]string{"sync": {w.Service.Sync, s.GetSync()}, "reason": {w.Service.Reason, s.GetReason()}, "health": {w.Service.Health, s.GetHealth()}} {
		if both[0] != "" && both[0] != both[1] {
			return fmt.Errorf("the service's %s is %q, not %q: %s %v", what, both[1], both[0], s.GetMessage(), s.GetErrors())
		}
	}
	if !strings.Contains(s.GetMessage(), w.Service.Message) {
		return fmt.Errorf("the service's message is %q, not %q", s.GetMessage(), w.Service.Message)
	}
	if err := said(w.Errors, s.GetErrors()); err != nil {
		return err
	}
	for _, text := range w.Preview {
		if !strings.Contains(p.preview, text) {
			return fmt.Errorf("%q is not in the preview %s", text, p.preview)
		}
	}
	for _, text := range w.Nowhere {
		if strings.Contains(p.preview+fmt.Sprint(s), text) {
			return fmt.Errorf("%q is shown: %s %v", text, p.preview, s)
		}
	}
	for _, object := range w.Objects {
		wanted := &unstructured.Unstructured{Object: object}
		have, err := p.get(p.Context(), p.short(), wanted)
		if err == nil {
			err = differs(wanted.GetKind()+" "+wanted.GetName()+" ", object, have.Object)
		}
		if err != nil {
			return err
		}
	}
	for _, object := range w.Absent {
		gone := &unstructured.Unstructured{Object: object}
		if _, err := p.get(p.Context(), p.short(), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s %s is there (%v)", gone.GetKind(), gone.GetName(), err)
		}
	}
	return nil
}

// said compares the errors of a service with those that are wanted.
func said(wanted *[]string, have []*hubv1.ServiceError) error {
	if wanted == nil {
		return nil
	}
	for _, text := range *wanted {
		if !strings.Contains(fmt.Sprint(have), text) {
			return fmt.Errorf("no error says %q: %v", text, have)
		}
	}
	if len(*wanted) == 0 && len(have) > 0 {
		return fmt.Errorf("there are errors: %v", have)
	}
	return nil
}
