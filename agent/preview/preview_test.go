package preview_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/preview"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/tarball"
)

// nobody fails the test on any call.
type nobody struct{ t *testing.T }

func (n nobody) Lookup(context.Context, tenancy.Permit, render.LookupKey) ([]byte, error) {
	n.t.Error("something is looked up")
	return nil, nil
}

func (n nobody) Capabilities(context.Context) (render.Capabilities, string, error) {
	n.t.Error("the cluster is asked")
	return render.Capabilities{}, "", nil
}

func (n nobody) Render(context.Context, render.Pass) (render.Result, error) {
	n.t.Error("it is rendered")
	return render.Result{}, nil
}

func (n nobody) Diff(context.Context, tenancy.Permit, apply.Service, []*unstructured.Unstructured) (difference.Comparison, error) {
	n.t.Error("it is compared")
	return difference.Comparison{}, nil
}

func maker(t *testing.T) *preview.Maker {
	t.Helper()
	sealer, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	store, err := cache.New(cache.Config{Dir: t.TempDir(), Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	return &preview.Maker{Gate: tenancy.New(&rest.Config{Host: "http://127.0.0.1:1"}, "axle-system"), Cache: store, Render: nobody{t}, Cluster: nobody{t}, Differ: nobody{t}, Clock: clock.Real{},
		Tarball: func(context.Context, tarball.Request) (*tarball.Download, error) {
			t.Error("files are fetched")
			return nil, errors.New("none")
		}}
}

// What a project may not do is refused before anything is fetched, rendered, looked
// up or compared.
func TestPreviewIsRefusedBeforeAnythingIsDone(t *testing.T) {
	part := []*agentv1.Part{{Digest: string(digest.Digest("axle1:0"))}}
	for name, test := range map[string]struct {
		spec *agentv1.ServiceSpec
		want string
	}{
		"no account":            {&agentv1.ServiceSpec{Id: "s", Namespace: "shop", Project: "shop"}, "may not act as the agent"},
		"an account of others":  {&agentv1.ServiceSpec{Id: "s", Namespace: "shop", Project: "shop", ServiceAccount: "kube-system/admin"}, "may not use accounts of namespace kube-system"},
		"the agent's namespace": {&agentv1.ServiceSpec{Id: "s", Namespace: "axle-system", Project: "shop", ServiceAccount: "x"}, "axle-system"},
		"another service":       {&agentv1.ServiceSpec{Id: "t", Namespace: "shop"}, "another service"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := maker(t).Make(t.Context(), "s", &agentv1.Preview{Request: 3, Spec: test.spec, Parts: part})
			if err != nil || !strings.Contains(report.GetError(), test.want) || report.GetRequest() != 3 || !report.GetPreview() || len(report.GetDifferences()) != 0 {
				t.Errorf("%+v %v", report, err)
			}
		})
	}
}

func TestAnswersGoOnWhereTheyEnded(t *testing.T) {
	m := maker(t)
	spec := &agentv1.ServiceSpec{Id: "other"}
	all := []*agentv1.Preview{{Request: 4, Spec: spec}, {Request: 6, Spec: spec}, {Request: 7, Spec: spec}}
	var sent []int64
	send := func(_ context.Context, r *agentv1.ReportDiffRequest) error {
		if sent = append(sent, r.GetRequest()); len(sent) == 2 {
			return errors.New("the hub is away")
		}
		return nil
	}
	last, err := m.Answer(t.Context(), "s", all, 4, send)
	if err == nil || last != 6 {
		t.Errorf("%d %v", last, err)
	}
	if last, err = m.Answer(t.Context(), "s", all, last, send); err != nil || last != 7 || len(sent) != 3 {
		t.Errorf("%d %v %v", last, err, sent)
	}
	asked := &agentv1.ServiceSpec{DiffRequest: 7, Previews: all}
	if preview.Only(asked, 4) || !preview.Only(asked, 5) {
		t.Error("5 is a diff, 6 and 7 are previews")
	}
}
