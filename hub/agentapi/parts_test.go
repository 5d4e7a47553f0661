package agentapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/tarball"
)

// declareParts puts a service of two folders and a chart on a cluster.
func (b *bed) declareParts(cluster, name string) {
	b.t.Helper()
	git := func(folder string) *fleet.Git { return &fleet.Git{Ref: "main", Folder: folder} }
	_, err := b.Parts().Fleet.CreateService(b.t.Context(), admin.Name, fleet.ServiceRequest{
		Ref: fleet.Ref{Cluster: cluster, Name: name},
		Spec: fleet.Spec{
			Namespace: "apps", Repository: "fleet", Git: git("web"),
			Sources: []fleet.Source{{Path: "rules", Repository: "fleet", Git: git("rules")}},
			Helm:    &fleet.Helm{Repository: "fleet", Git: git("chart"), ValuesFiles: []string{"config.yaml"}},
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// partsOf waits until the first service of the list has some parts.
func (a *agent) partsOf(n int) []*agentv1.Part {
	a.t.Helper()
	return a.waitFor(fmt.Sprintf("%d parts", n), func(list *agentv1.Desired) error {
		if len(list.GetServices()) == 0 || len(list.GetServices()[0].GetParts()) != n {
			return fmt.Errorf("list %v", list.GetServices())
		}
		return nil
	}).GetServices()[0].GetParts()
}

func TestListOfAServiceOfParts(t *testing.T) {
	b := newBed(t)
	b.commit("rules", "one")
	b.commit("chart", "one")
	a, other := b.register("edge-1"), b.register("edge-2")
	b.declareParts("edge-1", "shop")
	parts := a.partsOf(3)
	var places []string
	for _, p := range parts {
		places = append(places, p.GetName()+" "+p.GetPath())
		path := "/agent/v1/tarballs/" + p.GetDigest()
		whole := a.get(path)
		got, _, err := tarball.Unpack(t.Context(), bytes.NewReader(whole.body), filepath.Join(t.TempDir(), "out"), tarball.Limits{})
		if err != nil || got.String() != p.GetDigest() || p.GetBytes() != int64(len(whole.body)) {
			t.Errorf("part %s: %s of %d bytes, %v", p.GetName(), got, len(whole.body), err)
		}
		if got := other.get(path); got.status != http.StatusNotFound {
			t.Errorf("another cluster gets part %s: status %d", p.GetName(), got.status)
		}
	}
	if diff := cmp.Diff([]string{"git ", "sources[0] rules", "helm .helm-chart"}, places); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	// An agent without support for parts sees a service without content.
	list, _ := a.poll()
	service := list.GetServices()[0]
	if service.GetTarballDigest() != "" || service.GetTarballBytes() != 0 {
		t.Errorf("the list offers %s for the whole", service.GetTarballDigest())
	}
	answer, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{Ids: []string{service.GetId()}}))
	if err != nil {
		t.Fatal(err)
	}
	spec := answer.Msg.GetServices()[0]
	if spec.GetSpecDigest() != service.GetSpecDigest() || spec.GetRender().GetHelm().GetChartPath() != ".helm-chart" {
		t.Errorf("spec %s with chart %q, listed %s", spec.GetSpecDigest(), spec.GetRender().GetHelm().GetChartPath(), service.GetSpecDigest())
	}
	// A commit to one part changes only that part, and the spec digest with it.
	b.commit("rules", "two")
	now := a.waitFor("the part's new content", func(list *agentv1.Desired) error {
		if list.GetServices()[0].GetParts()[1].GetDigest() == parts[1].GetDigest() {
			return fmt.Errorf("still %s", parts[1].GetDigest())
		}
		return nil
	}).GetServices()[0]
	if now.GetParts()[0].GetDigest() != parts[0].GetDigest() || now.GetParts()[2].GetDigest() != parts[2].GetDigest() || now.GetSpecDigest() == service.GetSpecDigest() {
		t.Errorf("other parts changed, or the spec digest did not: %v", now)
	}
	if got := a.get("/agent/v1/tarballs/" + parts[1].GetDigest()); got.status != http.StatusOK {
		t.Errorf("the part of the list before: status %d", got.status)
	}
	// A part that another service has too is one tarball.
	b.declare("edge-1", "web", "web")
	a.waitFor("both services have one tarball in common", func(list *agentv1.Desired) error {
		for _, s := range list.GetServices() {
			if s.GetName() == "web" && s.GetTarballDigest() == parts[0].GetDigest() {
				return nil
			}
		}
		return fmt.Errorf("list %v", list.GetServices())
	})
}
